"""Compares the image part of fdconvert-loader with torchvision on Pillow images.

Not run by `cargo test`: it needs Python with torch, torchvision and Pillow, and was last run with
torch 2.15.0, torchvision 0.29.2 and Pillow 13.0.0. It prints one line per comparison and ends with
status 1 when one that should be exact is not.

    cargo build --release -p fdconvert-loader --example image_ops
    python crates/loader/tests/torchvision.py target/release/examples/image_ops
    python crates/loader/tests/torchvision.py --tables      # geometry/pinned.rs, on stdout

What is compared:
  levels   every strength of RandAugment and TrivialAugmentWide, for 2 to 64 levels: equal.
  ops      every change at every default strength and sign, photographs, a gray one, noise and tiny
           images: equal.
  center   Resize + CenterCrop + ToTensor + Normalize in f32: within one level of the 8-bit image
           (the resize), the share of equal numbers is printed.
  squeeze  Resize((h, w)): within one level.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

# The folder of this file, where `import torchvision` would find this file.
sys.path.pop(0)

import numpy
import torch
from PIL import Image
from torchvision import transforms
from torchvision.transforms import autoaugment, functional

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
KODAK = sorted((REPOSITORY / "tests/fixtures/kodak").glob("*.png"))
FAILURES = []


def run(program, jobs):
    """Sends all jobs to one process and returns what it prints."""
    text = "\n".join(jobs) + "\n"
    return subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout


def report(name, is_good, detail):
    print(f"{'ok    ' if is_good else 'FAILED'} {name}: {detail}")
    if not is_good:
        FAILURES.append(name)


def space(kind, n_bins, width, height):
    if kind == "wide":
        return autoaugment.TrivialAugmentWide(n_bins)._augmentation_space(n_bins)
    return autoaugment.RandAugment(2, 0, n_bins)._augmentation_space(n_bins, (height, width))


def compare_levels(program):
    n_levels, wrong = 0, []
    for kind in ("narrow", "wide"):
        for n_bins in range(2, 65):
            for width, height in ((224, 224), (97, 331), (32, 32), (600, 401)):
                expected = space(kind, n_bins, width, height)
                printed = run(program, [f"levels {kind} {n_bins} {width} {height}"])
                for line in printed.splitlines():
                    name, step, value = line.split()
                    if name == "Invert":
                        continue
                    levels = expected[name][0]
                    level = float(levels[int(step)]) if levels.ndim else 0.0
                    n_levels += 1
                    if level != float(value):
                        wrong.append((kind, n_bins, name, step, level, value))
    report("levels", not wrong, f"{n_levels} strengths, {len(wrong)} differ {wrong[:3]}")


def images():
    """Name, image: photographs at usual sizes, a gray one, noise, flat and tiny ones."""
    generator = numpy.random.default_rng(1)
    for path, size in zip(KODAK, [(224, 224), (224, 224), (333, 177), (96, 200), (768, 512)]):
        yield path.stem, Image.open(path).convert("RGB").resize(size, Image.BILINEAR)
    yield "gray", Image.open(KODAK[0]).convert("L").resize((160, 160)).convert("RGB")
    dull = numpy.asarray(Image.open(KODAK[1]).convert("RGB").resize((128, 128))) // 3 + 60
    yield "dull", Image.fromarray(dull.astype(numpy.uint8))
    for width, height in ((1, 1), (2, 3), (3, 3), (1, 40), (40, 1), (5, 4), (32, 32), (17, 16)):
        noise = generator.integers(0, 256, (height, width, 3), dtype=numpy.uint8)
        yield f"noise {width}x{height}", Image.fromarray(noise)
    yield "flat", Image.new("RGB", (20, 20), (9, 200, 77))


def compare_ops(program):
    count, wrong = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        jobs, expected = [], []
        for number, (name, image) in enumerate(images()):
            (folder / f"{number}").write_bytes(image.tobytes())
            width, height = image.size
            for kind in ("narrow", "wide"):
                spaces = dict(space(kind, 31, width, height))
                spaces["Invert"] = (torch.tensor(0.0), False)
                for op, (levels, signed) in spaces.items():
                    values = [float(v) for v in levels] if levels.ndim else [0.0]
                    for value in sorted({*values, *(-v for v in values if signed)}):
                        result = autoaugment._apply_op(
                            image, op, value, transforms.InterpolationMode.NEAREST, None
                        )
                        out = folder / f"{len(jobs)}.out"
                        jobs.append(f"op {op} {value!r} {width} {height} {folder / str(number)} {out}")
                        expected.append((op, name, value, out, numpy.asarray(result)))
        run(program, jobs)
        for op, name, value, out, result in expected:
            ours = numpy.frombuffer(out.read_bytes(), numpy.uint8).reshape(result.shape)
            count[op] = count.get(op, 0) + 1
            if not numpy.array_equal(ours, result):
                n_pixels = int((ours != result).any(axis=2).sum())
                most = int(numpy.abs(ours.astype(int) - result).max())
                wrong.setdefault(op, []).append((name, value, n_pixels, most))
    for op in count:
        differ = wrong.get(op, [])
        report(op, not differ, f"{count[op]} images, {len(differ)} differ {differ[:3]}")


def compare_resizes(program):
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    with tempfile.TemporaryDirectory() as folder:
        source, out = f"{folder}/in", f"{folder}/out"
        for path in KODAK[:6]:
            image = Image.open(path).convert("RGB")
            for turned in (image, image.rotate(90, expand=True), image.resize((301, 233))):
                width, height = turned.size
                pathlib.Path(source).write_bytes(turned.tobytes())
                for resize, crop in ((256, (224, 224)), (232, (224, 224)), (97, (64, 80)), (400, (384, 384))):
                    transform = transforms.Compose(
                        [
                            transforms.Resize(resize),
                            transforms.CenterCrop((crop[1], crop[0])),
                            transforms.ToTensor(),
                            transforms.Normalize(mean, std),
                        ]
                    )
                    expected = transform(turned).numpy()
                    run(program, [f"center {resize} {crop[0]} {crop[1]} {width} {height} {source} {out}"])
                    ours = numpy.fromfile(out, numpy.float32).reshape(expected.shape)
                    scale = 255 * numpy.array(std).reshape(3, 1, 1)
                    most = numpy.abs((ours - expected) * scale).max()
                    equal = (ours == expected).mean()
                    name = f"center {path.stem[-2:]} {width}x{height} {resize} {crop}"
                    report(name, most < 1.01, f"at most {most:.2f} levels, {equal:.4%} equal bits")
                for size in ((224, 224), (40, 300)):
                    expected = numpy.asarray(functional.resize(turned, (size[1], size[0])))
                    run(program, [f"squeeze {size[0]} {size[1]} {width} {height} {source} {out}"])
                    ours = numpy.fromfile(out, numpy.uint8).reshape(expected.shape)
                    most = numpy.abs(ours.astype(int) - expected).max()
                    name = f"squeeze {path.stem[-2:]} {width}x{height} {size}"
                    report(name, most <= 1, f"at most {most} levels, {(ours == expected).mean():.4%} equal")


def tables():
    """Prints the rows that the tests of geometry.rs pin."""
    from torchvision.transforms import RandomResizedCrop
    from unittest import mock

    generator = random.Random(3)
    print("//! Printed by `tests/torchvision.py --tables`.\n")
    print("type Center = (u32, [u32; 2], [u32; 2], [u32; 2], [u32; 2]);")
    print("type Random = ([u32; 2], [f64; 2], [f64; 2], &'static [f64], [u32; 4]);\n")
    print("/// Short side, output size, source size, then size after the resize, and left and top.")
    print("pub(super) const CENTER: &[Center] = &[")
    n_rows = 0
    while n_rows < 60:
        resize = generator.choice((32, 97, 224, 232, 256, 384, 513))
        crop = generator.choice(((224, 224), (32, 32), (200, 97), (96, 160), (31, 30)))
        source = (generator.randint(1, 900), generator.randint(1, 900))
        height, width = functional._compute_resized_output_size((source[1], source[0]), [resize])
        if width < crop[0] or height < crop[1]:
            continue
        image = torch.empty(1, height, width)
        with mock.patch.object(functional, "crop", lambda image, top, left, *_: (left, top)):
            left, top = functional.center_crop(image, [crop[1], crop[0]])
        print(f"    ({resize}, {list(crop)}, {list(source)}, {[width, height]}, {[left, top]}),")
        n_rows += 1
    print("];\n")
    print("/// Source size, scale, ratio, the draws (of an integer below n: the integer), then left,")
    print("/// top, width and height.")
    print("pub(super) const RANDOM: &[Random] = &[")
    for _ in range(60):
        source = (generator.randint(1, 900), generator.randint(1, 900))
        scale = generator.choice(((0.08, 1.0), (0.08, 1.0), (0.9, 1.0), (0.001, 0.01)))
        ratio = generator.choice(((3 / 4, 4 / 3), (3 / 4, 4 / 3), (0.5, 0.5), (2.0, 3.0), (0.1, 9.0)))
        draws = []

        def uniform(tensor, low, high):
            unit = generator.randrange(1 << 20) / (1 << 20)
            draws.append(unit)
            return tensor.fill_(float(low) + (float(high) - float(low)) * unit)

        def integer(low, high, size):
            draws.append(generator.randrange(low, high))
            return torch.tensor([draws[-1]])

        image = torch.empty(1, source[1], source[0])
        with mock.patch.object(torch.Tensor, "uniform_", uniform), mock.patch.object(torch, "randint", integer):
            top, left, height, width = RandomResizedCrop.get_params(image, list(scale), list(ratio))
        if width == 0 or height == 0:
            continue
        numbers = ", ".join(repr(float(draw)) for draw in draws)
        print(f"    ({list(source)}, {list(scale)}, {list(ratio)}, &[{numbers}], {[left, top, width, height]}),")
    print("];")


if __name__ == "__main__":
    if sys.argv[1] == "--tables":
        tables()
    else:
        compare_levels(sys.argv[1])
        compare_ops(sys.argv[1])
        compare_resizes(sys.argv[1])
        print(f"{len(FAILURES)} failed")
        sys.exit(bool(FAILURES))
