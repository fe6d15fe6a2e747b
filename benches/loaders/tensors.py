"""What users of loaders that hand over bytes write: torchcodec or torchvision, then torchvision's v2."""

import torch
from common import SIZE
from torchvision.transforms import v2

torch.set_num_threads(1)


class Decode:
    def __init__(self, crop, decoder="torchvision"):
        if crop == "center":
            self.transform = v2.Compose([v2.Resize(256, antialias=True), v2.CenterCrop(SIZE)])
        else:
            self.transform = v2.RandomResizedCrop(SIZE, antialias=True)
        self.decoder = decoder

    def __call__(self, data):
        if self.decoder == "torchcodec":
            from torchcodec.decoders import decode_image

            return self.transform(decode_image(data, mode="RGB"))
        from torchvision.io import ImageReadMode, decode_jpeg

        encoded = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        return self.transform(decode_jpeg(encoded, mode=ImageReadMode.RGB))
