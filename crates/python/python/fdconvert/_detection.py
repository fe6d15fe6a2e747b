"""Objects of a batch as targets for torchvision's detection models. Imports torch when called."""

from collections.abc import Sequence
from typing import Any

from fdconvert._batch import BatchObjects
from fdconvert._errors import UsageError

LISTS = ("boxes", "area", "iscrowd", "keypoints")
"""What targets have under the names of ``BatchObjects``, in the order of objects."""


def targets(
    objects: BatchObjects, canvas_size: tuple[int, int] | Sequence[tuple[int, int]] | None
) -> list[dict[str, Any]]:
    """Return a target for each row, with masks of that height and width, or of those of rows."""
    try:
        import torch
    except ImportError as error:
        what = "tensors need torch, which is not installed; of_row(row) has the same as arrays"
        raise UsageError(f"to_torchvision: {what}") from error
    found = {name: _tensor(torch, getattr(objects, name)) for name in objects.__slots__}
    category = found["category"]
    if len(category) and int(category.min()) < 0:
        what = "an object has no category and would become background; give every object one"
        raise UsageError(f"to_torchvision: {what}")
    lists = {name: found[name] for name in LISTS if found[name] is not None}
    lists["labels"] = category + 1
    offsets = found["offsets"].tolist()
    sizes = None if canvas_size is None else _sizes(canvas_size, len(offsets) - 1)
    drawn = {} if sizes is None else _drawings(found, sizes)
    rows = []
    for number, (begin, end) in enumerate(zip(offsets, offsets[1:], strict=False)):
        row = {name: it[begin:end] for name, it in lists.items()}
        if sizes is not None:
            size = sizes[number]
            masks = torch.zeros((end - begin, *size), dtype=torch.uint8)
            for at in range(begin, end):
                if at in drawn:
                    masks[at - begin] = _drawn(torch, drawn[at], *size)
            row["masks"] = masks
        rows.append(row)
    return rows


def _tensor(torch: Any, column: Any) -> Any:
    return column if column is None or torch.is_tensor(column) else torch.from_dlpack(column)


def _sizes(canvas_size: Any, n_rows: int) -> list[tuple[int, int]]:
    """Return the height and width of each row."""
    listed = list(canvas_size)
    if len(listed) == 2 and all(hasattr(side, "__index__") for side in listed):
        return [(int(listed[0]), int(listed[1]))] * n_rows
    if len(listed) != n_rows:
        raise UsageError(f"canvas_size: {len(listed)} sizes for {n_rows} rows")
    return [(int(height), int(width)) for height, width in listed]


def _drawings(found: dict[str, Any], sizes: list[tuple[int, int]]) -> dict[int, Any]:
    """Return for each object its run lengths as a tensor, or else a list of polygons."""
    drawn: dict[int, Any] = {}
    if found["points"] is not None:
        offsets = found["polygon_offsets"].tolist()
        members = found["polygon_objects"].tolist()
        for at, start, stop in zip(members, offsets, offsets[1:], strict=False):
            drawn.setdefault(at, []).append(found["points"][start:stop])
    if found["runs"] is not None:
        stored = found["run_size"].tolist()
        for at, size in enumerate(sizes):
            own = tuple(stored[at] if isinstance(stored[0], list) else stored)
            if own != size:
                what = f"masks of these rows have height and width {own}, not {size}"
                raise UsageError(f"canvas_size: {what}")
        offsets = found["run_offsets"].tolist()
        members = found["run_objects"].tolist()
        for at, start, stop in zip(members, offsets, offsets[1:], strict=False):
            drawn[at] = found["runs"][start:stop]
    return drawn


def _drawn(torch: Any, drawing: Any, height: int, width: int) -> Any:
    """Return the mask of an object."""
    if torch.is_tensor(drawing):
        # Runs go down the columns, alternating between outside and inside.
        inside = (torch.arange(len(drawing)) % 2).to(torch.uint8)
        return inside.repeat_interleave(drawing).view(width, height).T
    # pycocotools would read four numbers as a box.
    polygons = [points.reshape(-1).tolist() for points in drawing if len(points) > 2]
    if not polygons:
        return torch.zeros((height, width), dtype=torch.uint8)
    try:
        from pycocotools import mask as coco
    except ImportError as error:
        what = "drawing polygons needs pycocotools; install it: pip install pycocotools"
        raise UsageError(f"canvas_size: {what}") from error
    return torch.from_numpy(coco.decode(coco.merge(coco.frPyObjects(polygons, height, width))))
