"""What needs torch, and that nothing else asks for it."""

import gc
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import transforms as T
from loading import SMALL, small


def test_torch_is_asked_for_only_when_needed(beton: Path) -> None:
    script = """
        import sys
        import fdconvert
        assert "torch" not in sys.modules and "numpy" not in sys.modules
        try:
            fdconvert.TorchIterable
        except ImportError as error:
            assert "torch" in str(error)
        else:
            assert "torch" in sys.modules
    """
    subprocess.run([sys.executable, "-P", "-c", textwrap.dedent(script)], check=True)
    with pytest.raises(AttributeError):
        getattr(fdconvert, "Nothing")


class TestTorch:
    """Tensors, and torch's own data loader."""

    @pytest.fixture(autouse=True)
    def torch(self) -> Any:
        return pytest.importorskip("torch", reason="torch is not installed")

    @pytest.mark.parametrize("layout", ["nhwc", "nchw"])
    def test_tensors(self, torch: Any, beton: Path, layout: Any) -> None:
        for dtype, kind in [("u8", torch.uint8), ("f16", torch.float16), ("f32", torch.float32)]:
            form = [*SMALL, T.ToDtype(dtype), T.ToLayout(layout)]
            (images, labels), *_ = small(beton, output="torch", transform=form)
            (expected, classes), *_ = small(beton, transform=form)
            assert images.dtype == kind and labels.dtype == torch.int64
            np.testing.assert_array_equal(images.numpy(), expected)
            np.testing.assert_array_equal(labels.numpy(), classes)
        batch = next(small(beton, output="torch").batches())
        assert batch.valid.dtype == torch.bool and batch.samples.dtype == torch.int64

    def test_tensors_hold_their_memory(self, torch: Any, beton: Path) -> None:
        loader = small(beton, 1, output="torch", prefetch=1)
        first, second = (images for images, _ in [next(it) for it in [iter(loader)] * 2])
        assert loader.stats()["batches_kept"] == 2
        part = first[:, :4]
        del first, second
        gc.collect()
        assert loader.stats()["batches_kept"] == 1
        assert part.shape == (1, 4, 32, 3)
        del part
        gc.collect()
        assert loader.stats()["batches_kept"] == 0

    def test_out_and_pinned(self, torch: Any, beton: Path) -> None:
        out = torch.zeros(4, 32, 32, 3, dtype=torch.float16)
        for images, _ in small(beton, transform=[*SMALL, T.ToDtype("f16")], output=fdconvert.Output("torch", out=out)):
            assert images.data_ptr() == out.data_ptr()
        if torch.cuda.is_available():
            for images, labels in small(beton, output=fdconvert.Output("torch", pin_memory=True)):
                assert images.is_pinned() and labels.is_pinned()
            return
        loader = small(beton, output=fdconvert.Output("torch", pin_memory=True))
        with pytest.warns(RuntimeWarning, match="pin_memory"):
            assert len(list(loader)) == 3
        assert len(list(loader)) == 3

    def test_data_loader(self, torch: Any, beton: Path) -> None:
        def samples(loader: Any) -> list[bytes]:
            return [images.numpy().tobytes() for images, _ in loader]

        def make() -> fdconvert.TorchIterable:
            return fdconvert.TorchIterable(beton, 4, seed=7, threads=2, transform=SMALL)

        dataset = make()
        loader = torch.utils.data.DataLoader(dataset, batch_size=None)
        assert isinstance(dataset, torch.utils.data.IterableDataset)
        assert len(loader) == len(dataset) == 3
        first, second = samples(loader), samples(loader)
        assert first == [images.tobytes() for images, _ in small(beton)]
        assert first != second
        dataset.set_epoch(0)
        batches = iter(loader)
        next(batches)
        again = make()
        again.load_state_dict(dataset.state_dict())
        assert samples(again) == first[1:]
        assert samples(pickle.loads(pickle.dumps(dataset))) == first[1:]
        with pytest.raises(fdconvert.UsageError, match="num_workers"):
            list(torch.utils.data.DataLoader(make(), batch_size=None, num_workers=1))
        with pytest.raises(fdconvert.UsageError, match="output"):
            fdconvert.TorchIterable(beton, output="numpy")
