"""Views: each is what its list makes of the image, whatever makes the batches; and what follows it."""

import json
import pickle
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from by_torchvision import through
from fdconvert import Loader
from fdconvert import transforms as T
from loading import SMALL, small

# Less than half as large as the images: no JPEG is decoded at a smaller size.
CROPS = [T.RandomResizedCrop(48), T.RandomHorizontalFlip()]
COLOURS = [
    *CROPS,
    T.ColorJitter(0.4, 0.4, 0.4, 0.1),
    T.RandomApply([T.GaussianBlur(5)], 0.5),
    T.RandomRotation(20),
    T.Normalize(T.IMAGENET_MEAN, T.IMAGENET_STD),
    T.ToLayout("nchw"),
]
GROUPS: dict[str, tuple[int, list[T.Transform]]] = {
    "global": (2, COLOURS),
    "plain": (1, SMALL),
    "local": (3, [T.RandomResizedCrop(32, (0.05, 0.3)), T.RandomSolarize(128), T.ToDtype("f16")]),
}


def views_of(batch: fdconvert.Batch, view_layout: str) -> list[Any]:
    """The images of each view, counted through the groups."""
    views = []
    for images in batch.views.values():
        if images.ndim == 4:
            views.append(images)
        else:
            views += [*images] if view_layout == "views" else [*images.swapaxes(0, 1)]
    return views


@pytest.mark.parametrize("view_layout", ["views", "rows"])
@pytest.mark.parametrize("views", [2, GROUPS], ids=["two", "groups"])
def test_each_view_is_what_its_list_makes(beton: Path, views: Any, view_layout: Any) -> None:
    groups = GROUPS if views is GROUPS else {"images": (2, COLOURS)}
    transform = None if views is GROUPS else COLOURS
    lists = [listed for n_views, listed in groups.values() for _ in range(n_views)]
    dataset = fdconvert.Dataset(beton)
    options: dict[str, Any] = {"views": views, "view_layout": view_layout}
    options |= {} if transform is None else {"transform": transform}
    loader = small(beton, 5, **options)
    n_rows = 0
    for epoch in range(2):
        for batch in loader.batches():
            assert list(batch.views) == list(groups)
            for name, (n_views, listed) in groups.items():
                one = np.asarray(T.apply(listed, dataset[0]["image"]))
                n = [n_views, len(batch)] if view_layout == "views" else [len(batch), n_views]
                expected = (*(n if n_views > 1 else [len(batch)]), *one.shape)
                assert (batch.views[name].shape, batch.views[name].dtype) == (expected, one.dtype)
            found = views_of(batch, view_layout)
            assert len(found) == len(lists)
            for view, (images, listed) in enumerate(zip(found, lists, strict=True)):
                for image, sample in zip(images, batch.samples.tolist(), strict=True):
                    key = {"seed": 7, "epoch": epoch, "sample": sample, "view": view}
                    expected = T.apply(listed, dataset[sample]["image"], **key)
                    np.testing.assert_array_equal(image, expected)
                    n_rows += 1
    assert n_rows == 2 * 12 * len(lists)


def test_views_of_one_number_or_one_group_have_their_shape(beton: Path) -> None:
    plain = next(iter(small(beton)))[0]
    same: list[dict[str, Any]] = [{"views": 1}, {"transform": SMALL, "views": None}]
    for options in same:
        np.testing.assert_array_equal(next(iter(small(beton, **options)))[0], plain)
    (named, _), *_ = small(beton, views={"one": (1, SMALL)})
    assert list(named) == ["one"]
    np.testing.assert_array_equal(named["one"], plain)
    (default, _), *_ = Loader(beton, 4, seed=7, output="numpy")
    (again, _), *_ = Loader(beton, 4, seed=7, output="numpy", transform=T.default())
    assert default.shape == (4, 224, 224, 3)
    np.testing.assert_array_equal(default, again)


TWO: dict[str, tuple[int, list[T.Transform]]] = {"a": (2, CROPS), "b": (1, SMALL)}
Row = tuple[int, tuple[bytes, ...]]


def rows_of(batch: fdconvert.Batch) -> list[Row]:
    views = views_of(batch, "views")
    return [
        (int(sample), tuple(images[row].tobytes() for images in views))
        for row, sample in enumerate(batch.samples)
    ]


def rows(loaders: list[Loader]) -> list[Row]:
    """An epoch of all ranks together."""
    steps = zip(*(loader.batches() for loader in loaders), strict=True)
    return [row for step in steps for batch in step for row in rows_of(batch)]


SAMPLINGS = [
    fdconvert.Shuffle(),
    fdconvert.Sequential(),
    fdconvert.Windowed(2, 4),
    fdconvert.Balanced("label", per_class=7),
    fdconvert.Weighted([0.0, 1.0, 2.0, 3.0] * 3),
    fdconvert.Repeated(2),
    fdconvert.Order([11, 0, 0, 7, 3, 11, 2, 0]),
]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
def test_batches_do_not_depend_on_who_makes_them(beton: Path, sampling: fdconvert.Sampling) -> None:
    def of_ranks(world_size: int, batch_size: int, **options: Any) -> list[Loader]:
        options |= {"views": TWO, "sampling": sampling}
        ranks = [fdconvert.Ranks(rank, world_size) for rank in range(world_size)]
        return [small(beton, batch_size, ranks=of_rank, **options) for of_rank in ranks]

    alone = of_ranks(1, 4, threads=1)
    epochs = [rows(alone) for _ in range(2)]
    # What comes again is drawn again.
    assert len({row[1][0] for row in epochs[0]}) == len(epochs[0])
    for threads in range(2, 9):
        assert rows(of_ranks(1, 4, threads=threads)) == epochs[0]
    direct = of_ranks(2, 2, storage=fdconvert.Storage("direct", fetch_threads=2))
    assert [rows(direct) for _ in range(2)] == epochs
    for world_size in range(2, 8):
        found = rows(of_ranks(world_size, 2))
        assert found == rows(of_ranks(1, 2 * world_size)), world_size
        # A batch of another size has other rows beside each other.
        assert sorted(found) == sorted(epochs[0])
    for step in range(len(alone[0])):
        for world_size in (1, 2, 4):
            alone[0].set_epoch(1)
            batches = alone[0].batches()
            head = [row for _ in range(step) for row in rows_of(next(batches))]
            resumed = of_ranks(world_size, 4 // world_size)
            for loader in resumed:
                loader.set_epoch(1)
                loader.load_state_dict(json.loads(json.dumps(alone[0].state_dict())))
            assert head + rows(resumed) == epochs[1], (step, world_size)


def test_a_loader_with_views_is_sent_to_another_process(beton: Path) -> None:
    # Lists may come from iterators.
    lists = {name: (n_views, iter(listed)) for name, (n_views, listed) in TWO.items()}
    loader = small(beton, views=lists)
    first = rows_of(next(loader.batches()))
    again = pickle.loads(pickle.dumps(loader))
    assert first + rows([again]) == rows([small(beton, views=TWO)])


MASK = [[2, 2, 2], [3, 4, 4], [5, 4, 7]]


@pytest.fixture(scope="module")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images with a mask of blocks, boxes and keypoints."""
    random = np.random.default_rng(3)
    samples = []
    for _ in range(8):
        height, width = (int(side) * 3 for side in random.integers(14, 30, 2))
        corners = random.uniform(0, 0.7, (3, 2)) * (width, height)
        sides = random.uniform(0.05, 0.3, (3, 2)) * (width, height)
        keypoints = np.full((3, 2, 3), 2.0)
        keypoints[..., :2] = random.uniform(0, 1, (3, 2, 2)) * (width, height)
        blocks = np.array(MASK, np.uint8).repeat(height // 3, 0).repeat(width // 3, 1)
        samples.append(
            {
                "image": random.integers(0, 256, (height, width, 3), dtype=np.uint8),
                "mask": blocks,
                "objects": {
                    "bbox": np.concatenate([corners, sides], axis=1).tolist(),
                    "category": [0, 1, 2],
                    "keypoints": keypoints.reshape(3, 6).tolist(),
                },
            }
        )
    out = tmp_path_factory.mktemp("annotated") / "o.wds"
    schema = {"image": "image", "mask": "mask", "objects": "json"}
    fdconvert.pack(samples, out, schema=schema)
    return out


FILL = 9
FOLLOWED: dict[str, tuple[int, list[T.Transform]]] = {
    "crops": (2, [T.RandomResizedCrop((40, 32), (0.3, 1.0)), T.RandomHorizontalFlip()]),
    "framed": (1, [T.Letterbox(50), T.RandomHorizontalFlip()]),
    "turned": (2, [T.Resize((60, 70)), T.RandomRotation(40)]),
}


def test_what_follows_the_image_follows_it_in_each_view(annotated: Path) -> None:
    dataset = fdconvert.Dataset(annotated)
    asked: dict[str, Any] = {"masks": {"mask": FILL}, "objects": "objects", "label": None}
    one = small(annotated, 5, views=FOLLOWED, threads=1, **asked)
    four = small(annotated, 5, views=FOLLOWED, threads=4, view_layout="rows", **asked)
    n_boxes = n_outside = 0
    for batch, other in zip(one.batches(), four.batches(), strict=True):
        assert list(batch.geometry) == list(batch.fields["mask"]) == list(FOLLOWED)
        for name, (n_views, _) in FOLLOWED.items():
            parts = [batch.geometry, batch.fields["mask"], batch.fields["objects"], other.fields["mask"]]
            # A group of one view has no list.
            views = list(zip(*(it[name] if n_views > 1 else [it[name]] for it in parts), strict=True))
            assert len(views) == n_views
            for geometry, masks, objects, masks_again in views:
                np.testing.assert_array_equal(masks, masks_again)
                for row, number in enumerate(batch.samples.tolist()):
                    sample, matrix = dataset[number], geometry.matrix[row]
                    # It comes as colours.
                    stored = np.asarray(sample["mask"])[..., 0]
                    assert geometry.source[row].tolist() == [*stored.shape[::-1]]
                    assert geometry.size[row].tolist() == [*masks[row].shape[::-1]]
                    n_outside += check_mask(masks[row], stored, matrix)
                    n_boxes += check_objects(objects.of_row(row), sample["objects"], matrix, masks[row])
    assert n_boxes > 60 and n_outside > 1000


def check_mask(found: Any, stored: Any, matrix: Any) -> int:
    """Each pixel is one of those around its place in the image; how many are far outside."""
    y, x = np.mgrid[0 : found.shape[0], 0 : found.shape[1]]
    places = through(np.linalg.inv(matrix), np.stack([x + 0.5, y + 0.5], -1))
    around = np.full((stored.shape[0] + 6, stored.shape[1] + 6), FILL)
    around[3:-3, 3:-3] = stored
    column = np.clip(np.floor(places[..., 0]).astype(int) + 3, 1, around.shape[1] - 2)
    row = np.clip(np.floor(places[..., 1]).astype(int) + 3, 1, around.shape[0] - 2)
    near = [around[row + dy, column + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    assert np.any([found == it for it in near], axis=0).all()
    return int(np.all([it == FILL for it in near], axis=0).sum())


def check_objects(found: dict[str, Any], stored: dict[str, Any], matrix: Any, mask: Any) -> int:
    size = np.array(mask.shape[::-1])
    left, top, width, height = np.array(stored["bbox"]).T
    corners = [[left, top], [left + width, top], [left, top + height], [left + width, top + height]]
    moved = through(matrix, np.array(corners).transpose(2, 0, 1))
    boxes = np.concatenate([moved.min(1), moved.max(1)], axis=1).reshape(-1, 2, 2)
    boxes = boxes.clip(0, size)
    kept = ((boxes[:, 1] - boxes[:, 0]) >= 1).all(axis=1)
    assert found["category"].tolist() == np.flatnonzero(kept).tolist()
    np.testing.assert_allclose(found["boxes"], boxes[kept].reshape(-1, 4), atol=1e-3)
    keypoints = np.array(stored["keypoints"]).reshape(3, 2, 3)[kept]
    places = through(matrix, keypoints[..., :2])
    # A keypoint is the number of a pixel, from 0 on either side.
    places[..., 0] -= np.linalg.det(matrix) < 0
    np.testing.assert_allclose(found["keypoints"][..., :2], places, atol=1e-3)
    inside = ((places >= 0) & (places < size)).all(-1)
    assert (found["keypoints"][..., 2] == inside * 2.0).all()
    return int(kept.sum())


def test_several_views_of_one_list_are_a_list(annotated: Path) -> None:
    loader = small(annotated, 4, transform=CROPS, views=2, masks=["mask"], label=None, geometry=True)
    batch = next(loader.batches())
    assert batch.images.shape == (2, 4, 48, 48, 3)
    assert [it.shape for it in batch.fields["mask"]] == [(4, 48, 48)] * 2
    first, second = batch.geometry
    assert not np.array_equal(first.matrix, second.matrix)
    # What is named by an iterator is read once.
    once = small(annotated, 4, masks=iter(["mask"]), label=None)
    assert len(next(iter(pickle.loads(pickle.dumps(once))))) == len(next(iter(once))) == 3
    assert next(small(annotated, 4, masks=["mask"], label=None).batches()).geometry.size[0].tolist() == [32, 32]


@pytest.fixture(scope="module")
def latents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples without an image."""
    out = tmp_path_factory.mktemp("latents") / "o.wds"
    numbers = np.arange(12 * 4, dtype=np.float32).reshape(12, 4)
    samples = [{"latent": it, "label": number % 3} for number, it in enumerate(numbers)]
    fdconvert.pack(samples, out, schema={"latent": ("float32", (4,)), "label": "int"})
    return out


@pytest.mark.parametrize("threads", [1, 4])
def test_samples_without_an_image_make_batches(latents: Path, threads: int) -> None:
    loader = Loader(latents, 5, fields=["latent"], threads=threads, output="numpy")
    seen = []
    for _ in range(2):
        for batch in loader.batches():
            assert batch.images is None and batch.geometry is None
            assert (batch.labels == batch.samples % 3).all() and batch.valid.all()
            expected = batch.samples[:, None] * 4 + np.arange(4)
            np.testing.assert_array_equal(batch.fields["latent"], expected)
            assert "sample" in batch._repr_html_()
            seen += batch.samples.tolist()
    assert sorted(seen) == sorted([*range(12)] * 2)
    for images, labels, fields in pickle.loads(pickle.dumps(loader)):
        assert images is None and len(labels) == len(fields["latent"])
    for options in [{"transform": SMALL}, {"views": 2}, {"views": TWO}]:
        with pytest.raises(fdconvert.UsageError, match="have no images"):
            Loader(latents, **options)  # type: ignore[arg-type]
    with pytest.raises(fdconvert.UsageError, match="geometry belong to images"):
        Loader(latents, geometry=True)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"transform": SMALL, "views": TWO}, ValueError, "transform: `views` has a list for each group"),
        ({"views": 0}, ValueError, "views: 0 "),
        ({"views": -1}, ValueError, "views: -1 "),
        ({"views": 257}, ValueError, "views: 257 "),
        ({"views": 1 << 40}, ValueError, "views: 1099511627776 "),
        ({"views": {}}, ValueError, "views: it names no group"),
        ({"views": {"a": (-3, SMALL)}}, ValueError, "views: -3 "),
        ({"views": True}, ValueError, "views: True is neither a number nor a dictionary"),
        ({"views": "2"}, ValueError, "views: '2' is neither a number nor a dictionary"),
        ({"views": {"a": SMALL}}, ValueError, r"views: 'a' has .* expected \(number, list"),
        ({"views": {"a": (1.5, SMALL)}}, ValueError, r"views: 'a' has .* expected \(number, list"),
        ({"views": {"a": (1, T.Resize(3))}}, ValueError, "transform: .* is one transform; give a list"),
        ({"views": {"a": (1, SMALL), "b": (1, [len])}}, ValueError, "transform: .* is not one of"),
        ({"views": {"a": (1, [T.Resize(3)])}}, ValueError, "transform: rows have one size"),
        ({"view_layout": "columns"}, ValueError, 'view_layout: unknown `columns`; expected one of "views"'),
        ({"views": 2, "output": fdconvert.Output("numpy", out=bytearray(9))}, ValueError, "Output.out: "),
        ({"transform": [*CROPS, T.MixUp()], "views": 2}, ValueError, "views: MixUp and CutMix mix"),
        ({"views": {"a": (2, [*CROPS, T.CutMix()])}}, ValueError, "views: MixUp and CutMix mix"),
    ],
)
def test_views_that_cannot_be_are_refused(
    beton: Path, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    options = {"output": "numpy"} | options
    with pytest.raises(error, match=f"^{words}"):
        Loader(beton, **options)


def test_transforms_that_nothing_follows_are_refused(annotated: Path) -> None:
    followers: list[dict[str, Any]] = [{"masks": ["mask"]}, {"objects": "objects"}]
    for asked in followers:
        for mixed in [T.AugMix(), T.RandomApply([T.AugMix()])]:
            with pytest.raises(fdconvert.UsageError, match="AugMix"):
                small(annotated, transform=[*CROPS, mixed], label=None, **asked)


def test_arguments_that_a_transform_has_not_are_errors_of_the_program() -> None:
    wrong: list[Any] = [
        lambda: T.CenterCrop(32, scale=(0.1, 1)),  # type: ignore[call-arg]
        lambda: T.Resize(32, ratio=(1, 1)),  # type: ignore[call-arg]
        lambda: T.RandomResizedCrop(32, fill=3),  # type: ignore[call-arg]
    ]
    for make in wrong:
        with pytest.raises(TypeError, match="unexpected keyword"):
            make()


def test_a_checkpoint_tells_the_lists(beton: Path) -> None:
    loader = small(beton, views=TWO)
    views = json.loads(json.dumps(loader.state_dict()))["views"]
    assert {name: number for name, (number, _) in views.items()} == {"a": 2, "b": 1}
    assert views["b"][1] == [it.spec for it in SMALL]
    # Other lists go on from it.
    other = small(beton)
    other.load_state_dict(loader.state_dict())
    assert len(list(other)) == 3


def test_arrays_without_numpy_have_views(beton: Path) -> None:
    (images, _), *_ = small(beton, views=TWO, output="array")
    (expected, _), *_ = small(beton, views=TWO)
    for name, one in images.items():
        assert type(one) is fdconvert.Array and one.shape == expected[name].shape
        assert one.tobytes() == expected[name].tobytes()
    assert array("B", images["a"].tobytes())[0] == expected["a"].flat[0]
