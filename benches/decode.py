"""JPEGs to RGB in Python: `fdconvert.decode` against other decoders, in one thread, by turns.

    python benches/decode.py FOLDER [--rounds 7] [--limit 200]

Decoders that are not installed are named, and left out. Prints CPU milliseconds an image: the
median of the rounds, with their range, and whether the pixels are those of libjpeg-turbo as
Pillow calls it. The recorded result is in benches/README.md.
"""

import argparse
import io
import statistics
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np


def of_fdconvert() -> Callable[[bytes], Any]:
    import fdconvert

    return lambda data: np.asarray(fdconvert.decode(data))


def of_simplejpeg() -> Callable[[bytes], Any]:
    import simplejpeg

    return lambda data: simplejpeg.decode_jpeg(data, fastdct=False, fastupsample=False)


def of_turbojpeg() -> Callable[[bytes], Any]:
    from turbojpeg import TJPF_RGB, TurboJPEG

    turbo = TurboJPEG()
    return lambda data: turbo.decode(data, pixel_format=TJPF_RGB)


def of_cv2() -> Callable[[bytes], Any]:
    import cv2

    cv2.setNumThreads(1)
    return lambda data: cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)


def of_pillow() -> Callable[[bytes], Any]:
    from PIL import Image

    return lambda data: np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def of_torchvision() -> Callable[[bytes], Any]:
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg

    torch.set_num_threads(1)

    def decode(data: bytes) -> Any:
        tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        return decode_jpeg(tensor, mode=ImageReadMode.RGB).permute(1, 2, 0).numpy()

    return decode


DECODERS = {
    "fdconvert": of_fdconvert,
    "simplejpeg": of_simplejpeg,
    "PyTurboJPEG": of_turbojpeg,
    "opencv-python-headless": of_cv2,
    "Pillow": of_pillow,
    "torchvision": of_torchvision,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    files = sorted(p for p in options.folder.rglob("*") if p.suffix.lower() in {".jpg", ".jpeg"})
    images = [file.read_bytes() for file in files[: options.limit]]
    decoders: dict[str, Callable[[bytes], Any]] = {}
    for name, make in DECODERS.items():
        try:
            decoders[name] = make()
        except (ImportError, RuntimeError, OSError) as error:
            print(f"left out: {name}: {error}")
    judge = decoders.get("Pillow")
    same = {
        name: judge and all(np.array_equal(decode(image), judge(image)) for image in images)
        for name, decode in decoders.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in decoders}
    for _ in range(options.rounds):
        for name, decode in decoders.items():
            began = time.process_time()
            for image in images:
                decode(image)
            seconds[name].append(time.process_time() - began)
    n_bytes = sum(map(len, images))
    print(f"\n{len(images)} images, {n_bytes / len(images) / 1000:.1f} kB\n")
    print("| decoder | CPU-ms an image | range | of fdconvert's | the same pixels |")
    print("|---|---|---|---|---|")
    ours = statistics.median(seconds["fdconvert"]) if "fdconvert" in seconds else None
    for name, times in sorted(seconds.items(), key=lambda item: statistics.median(item[1])):
        low, middle, high = (
            1000 * time / len(images) for time in (min(times), statistics.median(times), max(times))
        )
        ratio = f"{statistics.median(times) / ours:.2f}" if ours else ""
        title = f"{name} {metadata.version(name)}"
        print(f"| {title} | {middle:.2f} | {low:.2f}-{high:.2f} | {ratio} | {'yes' if same[name] else 'no'} |")


if __name__ == "__main__":
    main()
