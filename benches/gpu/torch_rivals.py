"""What PyTorch's ways to decode JPEGs do on this GPU, and what decoding costs a training step.

    python3 benches/gpu/torch_rivals.py [--folder JPEGS] [--seconds 200]

The second half of the record that `benches/gpu/record.sh` makes; Markdown on standard output. Needs
torch and torchvision; the rows of fdconvert need its Python package. Without a GPU it says so, and
that is not a failure.
"""

import argparse
import io
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KODAK = Path(__file__).parents[2] / "tests" / "fixtures" / "kodak"
N_IMAGES = 1024
ROUNDS = 7


def not_run(why: object) -> None:
    print(f"\n## PyTorch\n\nnot run on a GPU: {why}")
    sys.exit(0)


def jpegs(folder: Path | None, side: int, quality: int) -> list[bytes]:
    """Images of a folder as they are, or windows of photographs, each another one."""
    if folder is not None:
        files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
        return [path.read_bytes() for path in files[:N_IMAGES]]
    from PIL import Image

    photos = [Image.open(path).convert("RGB") for path in sorted(KODAK.glob("*.png"))]
    made = []
    for number in range(N_IMAGES // 4):
        photo = photos[number % len(photos)]
        left, top = number * 13 % 97, number * 5 % 89
        window = photo.crop((left, top, left + photo.width - 97, top + photo.height - 89))
        window = window.resize((side, side if side <= 256 else side * 3 // 4))
        buffer = io.BytesIO()
        window.save(buffer, "JPEG", quality=quality)
        made.append(buffer.getvalue())
    return made


def rounds(cases: dict[str, Callable[[], int]], seconds: float) -> dict[str, list[float]]:
    """Images per second of each case, in rounds that go through all cases in turn."""
    import torch

    rates: dict[str, list[float]] = {name: [] for name in cases}
    deadline = time.monotonic() + seconds
    for number in range(ROUNDS + 1):
        for name, case in cases.items():
            if number > 1 and time.monotonic() > deadline:
                return rates
            # On some GPUs the hardware decoder does not wait for the stream of its caller.
            torch.cuda.synchronize()
            began = time.perf_counter()
            n_images = case()
            torch.cuda.synchronize()
            if number > 0:
                rates[name].append(n_images / (time.perf_counter() - began))
    return rates


def row(name: str, rates: list[float]) -> str:
    if not rates:
        return f"| {name} | not measured | |"
    return f"| {name} | {statistics.median(rates):,.0f} | {min(rates):,.0f}-{max(rates):,.0f} |"


def decoders(files: list[bytes]) -> dict[str, Callable[[], int]]:
    import torch
    from PIL import Image
    from torchvision.io import ImageReadMode, decode_jpeg

    tensors = [torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in files]
    pool = ThreadPoolExecutor()

    def on_gpu(batch: int) -> Callable[[], int]:
        def run() -> int:
            for start in range(0, len(tensors), batch):
                decode_jpeg(tensors[start : start + batch], ImageReadMode.RGB, device="cuda")
            return len(tensors)

        return run

    def on_cpu() -> int:
        list(pool.map(lambda tensor: decode_jpeg(tensor, ImageReadMode.RGB), tensors))
        return len(tensors)

    def by_pillow() -> int:
        list(pool.map(lambda data: Image.open(io.BytesIO(data)).convert("RGB"), files))
        return len(files)

    cases: dict[str, Callable[[], int]] = {
        f"torchvision, GPU, batches of {batch}": on_gpu(batch) for batch in (64, 256)
    }
    return cases | {"torchvision, all cores": on_cpu, "Pillow, all cores": by_pillow}


def step() -> Callable[[], None]:
    """One step of training ResNet-50 in bf16, 256 images."""
    import torch
    import torchvision

    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    images = torch.randn(256, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(1000, (256,), device="cuda")

    def run() -> None:
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return run


def step_ms(run: Callable[[], None], n_steps: int = 20) -> float:
    import torch

    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(n_steps):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / n_steps * 1e3


def contention(beside: dict[str, Callable[[], int]], seconds: float) -> None:
    """How much longer a step takes while images are decoded beside it, as fast as that goes."""
    run = step()
    step_ms(run, 10)
    alone: list[float] = []
    times: dict[str, list[float]] = {name: [] for name in beside}
    decoded: dict[str, list[float]] = {name: [] for name in beside}
    deadline = time.monotonic() + seconds
    while len(alone) < ROUNDS and time.monotonic() < deadline:
        alone.append(step_ms(run))
        for name, decode in beside.items():
            stop, count = threading.Event(), [0]

            def loop(
                stop: threading.Event = stop,
                count: list[int] = count,
                decode: Callable[[], int] = decode,
            ) -> None:
                while not stop.is_set():
                    count[0] += decode()

            thread = threading.Thread(target=loop)
            thread.start()
            time.sleep(0.2)
            began, before = time.perf_counter(), count[0]
            times[name].append(step_ms(run))
            decoded[name].append((count[0] - before) / (time.perf_counter() - began))
            stop.set()
            thread.join()
    print("\n### ResNet-50, bf16, 256 images a step, beside decoding\n")
    print("| beside | ms a step | longer by | images/s decoded |\n|---|---|---|---|")
    base = statistics.median(alone)
    print(f"| nothing | {base:.1f} | | |")
    for name, values in times.items():
        if values:
            ms, rate = statistics.median(values), statistics.median(decoded[name])
            print(f"| {name} | {ms:.1f} | {ms / base - 1:+.1%} | {rate:,.0f} |")


def ours(files: list[bytes], folder: Path) -> dict[str, Callable[[], int]]:
    """Our loader, from the page cache and from the GPU's memory."""
    import fdconvert
    from fdconvert import transforms as T

    (folder / "images").mkdir()
    for number, data in enumerate(files):
        (folder / "images" / f"{number}.jpg").write_bytes(data)
    packed = folder / "images.beton"
    fdconvert.pack(folder / "images", packed)
    crops = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToDtype("f16"), T.ToLayout("nchw")]
    cases = {}
    for name, kept in [("from main memory", 0), ("kept on the GPU", 8 << 30)]:
        loader = fdconvert.Loader(
            packed, 256, transform=crops, output="torch", device=fdconvert.Cuda(cache_bytes=kept)
        )

        def run(loader: fdconvert.Loader = loader) -> int:
            return sum(len(labels) for _, labels in loader)

        cases[f"fdconvert.Loader, {name}, crops to f16"] = run
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seconds", type=float, default=200)
    options = parser.parse_args()
    try:
        import torch
        import torchvision
    except ImportError as error:
        not_run(error)
    if not torch.cuda.is_available():
        not_run("torch finds none")
    print(f"\n## PyTorch {torch.__version__}, torchvision {torchvision.__version__}")
    sets = [(None, 224, 50), (None, 224, 90), (None, 500, 90)]
    if options.folder is not None:
        sets = [(options.folder, 0, 0)]
    for folder, side, quality in sets:
        files = jpegs(folder, side, quality)
        n_bytes = sum(map(len, files)) / len(files)
        name = str(folder) if folder else f"{side} pixels, quality {quality}"
        print(f"\n### {name}: {len(files)} images of {n_bytes:,.0f} bytes, images/s\n")
        print("| decoder | median | range |\n|---|---|---|")
        with tempfile.TemporaryDirectory() as temporary:
            cases = decoders(files)
            try:
                cases |= ours(files, Path(temporary))
            except Exception as error:
                print(f"| fdconvert.Loader | not measured: {error} | |")
            for case, rates in rounds(cases, options.seconds * 0.6 / len(sets)).items():
                print(row(case, rates))
            if (folder, side, quality) == sets[-1]:
                beside = {name: case for name, case in cases.items() if "GPU" in name}
                contention(beside, options.seconds * 0.4)


if __name__ == "__main__":
    main()
