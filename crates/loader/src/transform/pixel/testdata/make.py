"""Writes golden.json and golden.bin: what torchvision makes of small images.

Made with torch 2.15.0 and torchvision 0.29.2 on a processor with AVX-512:
    python make.py
Each case has an operation with its arguments, the number and size of its image, and either the
result in golden.bin or its hash. Points are where the operation moves three points.
"""

import json
import pathlib

import numpy as np
import torch
import torchvision
import torchvision.transforms.v2.functional as F

VERSIONS = ("2.15.0", "0.29.2")
SIZES = [(1, 1), (1, 7), (7, 5), (33, 20), (64, 48)]
# Operations of which results are within one level.
WITHIN_ONE = {"blur"}


def splitmix(numbers):
    """The numbers that the test computes, too."""
    bits = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return bits ^ bits >> np.uint64(31)


def make_image(number, size):
    """Noise, ramps with a little noise, or few levels."""
    width, height = size
    at = np.arange(width * height * 3, dtype=np.uint64) + np.uint64(number << 32)
    noise = (splitmix(at) >> np.uint64(56)).astype(np.int64).reshape(height, width, 3)
    y, x, channel = np.mgrid[0:height, 0:width, 0:3]
    kinds = [noise, x * 5 + y * 3 + channel * 40 + noise // 16, 60 + noise % 50 + 20 * channel]
    return torch.from_numpy((kinds[number % 3] & 255).astype(np.uint8)).permute(2, 0, 1).contiguous()


def warp(name):
    """The functions for images and for keypoints."""
    return getattr(F, f"{name}_image"), getattr(F, f"{name}_keypoints")


def run(operation, image, arguments):
    """Returns the image, and where three points go."""
    height, width = image.shape[1:]
    points = torch.tensor([[0, 0], [width / 3, height / 2], [width, height]], dtype=torch.float64)
    a = arguments
    if operation in ("rotate", "affine", "perspective"):
        of_image, of_points = warp(operation)
        filled = {"fill": a["fill"], "interpolation": torchvision.transforms.InterpolationMode(a["mode"])}
        rest = {key: value for key, value in a.items() if key not in ("fill", "mode")}
        result = of_image(image, **rest, **filled)
        points = of_points(points, canvas_size=(height, width), **rest)
        points = points[0] if isinstance(points, tuple) else points
        return result, points.tolist()
    if operation == "augmix":
        chains = [image, image.flip(-1), image.flip(-2), 255 - image]
        weights = torch.tensor(a["weights"])
        mix = weights[0] * image
        for weight, chain in zip(weights[1:], chains[1:]):
            mix.add_(weight * chain)
        return mix.to(torch.uint8), None
    if operation == "erase":
        value = torch.tensor(a["value"], dtype=torch.uint8).view(3, 1, 1)
        return F.erase_image(image, a["i"], a["j"], a["h"], a["w"], value), None
    functions = {
        "brightness": lambda: F.adjust_brightness_image(image, a["factor"]),
        "contrast": lambda: F.adjust_contrast_image(image, a["factor"]),
        "saturation": lambda: F.adjust_saturation_image(image, a["factor"]),
        "hue": lambda: F.adjust_hue_image(image, a["factor"]),
        "grayscale": lambda: F.rgb_to_grayscale_image(image, 3),
        "solarize": lambda: F.solarize_image(image, a["threshold"]),
        "posterize": lambda: F.posterize_image(image, a["bits"]),
        "invert": lambda: F.invert_image(image),
        "equalize": lambda: F.equalize_image(image),
        "autocontrast": lambda: F.autocontrast_image(image),
        "sharpness": lambda: F.adjust_sharpness_image(image, a["factor"]),
        "blur": lambda: F.gaussian_blur_image(image, a["size"], a["sigma"]),
        "horizontal_flip": lambda: F.horizontal_flip_image(image),
        "vertical_flip": lambda: F.vertical_flip_image(image),
        "crop": lambda: F.crop_image(image, a["top"], a["left"], a["height"], a["width"]),
        "pad": lambda: F.pad_image(image, a["padding"], a["fill"], a["mode"]),
    }
    return functions[operation](), None


def cases(size):
    """The arguments of each operation for images of a size."""
    width, height = size
    corners = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
    moved = [[1, 2], [width - 2, 1], [width, height - 3], [-2, height + 1]]
    for factor in (0.0, 0.37, 1.0, 1.83):
        yield "brightness", {"factor": factor}
        yield "contrast", {"factor": factor}
        yield "saturation", {"factor": factor}
        yield "sharpness", {"factor": factor}
    for factor in (-0.5, -0.13, 0.0, 0.21):
        yield "hue", {"factor": factor}
    for operation in ("grayscale", "invert", "equalize", "autocontrast"):
        yield operation, {}
    for threshold in (0.0, 127.5, 128.0, 255.0):
        yield "solarize", {"threshold": threshold}
    for bits in (0, 3, 8):
        yield "posterize", {"bits": bits}
    for kernel, sigma in (([3, 3], [0.1, 0.1]), ([9, 5], [1.7, 0.8]), ([23, 23], [1.1, 1.1])):
        if kernel[0] // 2 < width and kernel[1] // 2 < height:
            yield "blur", {"size": kernel, "sigma": sigma}
    yield "horizontal_flip", {}
    yield "vertical_flip", {}
    for top, left, new_height, new_width in ((-2, 1, 6, 9), (0, -3, height + 1, 4), (90, 90, 2, 2)):
        yield "crop", {"top": top, "left": left, "height": new_height, "width": new_width}
    yield "pad", {"padding": [1, 2, 3, 4], "fill": [9.0, 200.0, 30.0], "mode": "constant"}
    yield "pad", {"padding": [2, 1, 4, 3], "fill": None, "mode": "edge"}
    if min(size) > 4:
        yield "pad", {"padding": [4, 2, 3, 1], "fill": None, "mode": "reflect"}
        yield "pad", {"padding": [4, 2, 3, 1], "fill": None, "mode": "symmetric"}
    for mode in ("nearest", "bilinear"):
        for fill in (None, [0.0, 0.0, 0.0], [10.0, 180.0, 77.0]):
            kept = {"fill": fill, "mode": mode}
            yield "rotate", {"angle": 17.3, "expand": False, "center": None, **kept}
            yield "affine", {
                "angle": -31.0,
                "translate": [3, -1],
                "scale": 0.8,
                "shear": [11.0, -7.0],
                "center": None,
                **kept,
            }
            if min(size) > 4:
                yield "perspective", {"startpoints": corners, "endpoints": moved, **kept}
        kept = {"fill": None, "mode": mode}
        yield "rotate", {"angle": 200.5, "expand": True, "center": None, **kept}
        yield "rotate", {"angle": -40.0, "expand": False, "center": [1.5, 0.0], **kept}
        yield "affine", {
            "angle": 0.0,
            "translate": [2, 0],
            "scale": 1.0,
            "shear": [16.7, 0.0],
            "center": [0.0, 0.0],
            **kept,
        }
    # Halves of pixels: many sums are halves of levels.
    for scale, shift in ((1.0, [0.5, 0.5]), (0.5, [0, 0])):
        kept = {"center": None, "fill": None, "mode": "bilinear"}
        halves = {"angle": 0.0, "translate": shift, "scale": scale, "shear": [0.0, 0.0]}
        yield "affine", {**halves, **kept}
    for angle in (0.0, 90.0, 180.0, -90.0):
        kept = {"center": None, "fill": None, "mode": "nearest"}
        yield "rotate", {"angle": angle, "expand": False, **kept}
        yield "rotate", {"angle": angle, "expand": True, **kept}
    yield "erase", {"i": 0, "j": 0, "h": 1, "w": 1, "value": [1, 2, 3]}
    yield "erase", {"i": height // 3, "j": width // 3, "h": 99, "w": 4, "value": [0, 128, 255]}
    yield "augmix", {"weights": [0.30000001192092896, 0.12, 0.18, 0.4]}


def fnv(data):
    """The hash that the test computes, too."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def write(folder, all_cases, hash_from):
    """Writes cases of (operation, arguments, number of the image, size)."""
    pixels, lines = bytearray(), []
    for operation, arguments, number, size in all_cases:
        result, points = run(operation, make_image(number, size), arguments)
        data = result.permute(1, 2, 0).contiguous().numpy().tobytes()
        case = {"op": operation, "args": arguments, "image": number, "size": size}
        case["out"] = [result.shape[2], result.shape[1]]
        if points is not None:
            case["points"] = [[float(f"{value:.7g}") for value in point] for point in points]
        if operation not in WITHIN_ONE and len(data) > hash_from:
            case["hash"] = fnv(data)
        else:
            case["at"] = len(pixels)
            pixels += data
        lines.append(json.dumps(case, separators=(",", ":")))
    (folder / "golden.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    (folder / "golden.bin").write_bytes(pixels)


if __name__ == "__main__":
    versions = tuple(version.split("+")[0] for version in (torch.__version__, torchvision.__version__))
    assert versions == VERSIONS, versions
    torch.set_num_threads(1)
    numbers = iter(range(1_000_000))
    everything = [
        (operation, arguments, next(numbers), size)
        for size in SIZES
        for operation, arguments in cases(size)
    ]
    write(pathlib.Path(__file__).parent, everything, 300)
