"""What a loader gives: batches, the objects in their rows, and how rows show their images."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from fdconvert._errors import UsageError


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of all rows of a batch, one after the other, in pixels of the rows.

    Those of row ``r`` are ``offsets[r]`` to ``offsets[r + 1]``. ``boxes`` are left, top, right and
    bottom. What no document of the batch has is ``None``; where some do, the others have
    ``category`` and ``id`` -1, ``iscrowd`` 0, ``area`` not a number, and keypoints of visibility 0.
    ``keypoints`` have x, y and visibility, which is 0 outside of the row. ``points`` are those of all
    polygons, ``polygon_offsets`` say where each begins, and ``polygon_objects`` which box it belongs to.
    ``runs`` are those of all masks stored as run lengths, ``run_offsets`` and ``run_objects``
    likewise, and ``run_size`` is height and width of each.
    """

    boxes: Any
    offsets: Any
    category: Any
    area: Any = None
    iscrowd: Any = None
    id: Any = None
    keypoints: Any = None
    points: Any = None
    polygon_offsets: Any = None
    polygon_objects: Any = None
    runs: Any = None
    run_offsets: Any = None
    run_objects: Any = None
    run_size: Any = None

    def run_lengths(self, row: int) -> list[dict[str, Any] | None]:
        """The mask of each object of one row as COCO has it, ``{"size": ..., "counts": [...]}``.

        ``None`` for objects without run lengths. ``pycocotools.mask.frPyObjects`` takes them.
        """
        begin, end = int(self.offsets[row]), int(self.offsets[row + 1])
        masks: list[dict[str, Any] | None] = [None] * (end - begin)
        if self.runs is not None:
            size, objects = self.run_size.tolist(), self.run_objects.tolist()
            first, last = bisect_left(objects, begin), bisect_left(objects, end)
            offsets = self.run_offsets[first : last + 1].tolist()
            for at, start, stop in zip(objects[first:last], offsets, offsets[1:], strict=False):
                masks[at - begin] = {"size": size, "counts": self.runs[start:stop].tolist()}
        return masks

    def of_row(self, row: int) -> dict[str, Any]:
        """What there is of the objects of one row, by name.

        ``polygons`` are a list for each object, of arrays of ``(points, 2)``; ``run_lengths`` are
        those of ``run_lengths(row)``.
        """
        begin, end = int(self.offsets[row]), int(self.offsets[row + 1])
        names = ("boxes", "category", "area", "iscrowd", "id", "keypoints")
        lists = {name: getattr(self, name) for name in names}
        found = {name: it[begin:end] for name, it in lists.items() if it is not None}
        if self.points is not None:
            found["polygons"] = self._polygons(begin, end)
        if self.runs is not None:
            found["run_lengths"] = self.run_lengths(row)
        return found

    def _polygons(self, begin: int, end: int) -> list[list[Any]]:
        polygons: list[list[Any]] = [[] for _ in range(begin, end)]
        objects = self.polygon_objects.tolist()
        first, last = bisect_left(objects, begin), bisect_left(objects, end)
        offsets = self.polygon_offsets[first : last + 1].tolist()
        for at, start, stop in zip(objects[first:last], offsets, offsets[1:], strict=False):
            polygons[at - begin].append(self.points[start:stop])
        return polygons

    def target(self, row: int, *, mask_size: tuple[int, int] | None = None) -> dict[str, Any]:
        """The objects of one row as the detection models of torchvision take them.

        ``labels`` are the categories counted from 1, since 0 is the background there. With
        ``mask_size``, height and width of the row, there are ``masks`` of polygons and run lengths,
        which needs ``pycocotools``. The models take it with ``output="torch"``.
        """
        found = self.of_row(row)
        category = found.pop("category")
        if len(category) and int(category.min()) < 0:
            what = "an object has no category, and would be background; give all of them one"
            raise UsageError(f"target: {what}")
        names = ("boxes", "area", "iscrowd", "keypoints")
        target = {name: found[name] for name in names if name in found} | {"labels": category + 1}
        if mask_size is not None:
            target["masks"] = self._masks(found, *mask_size)
        return target

    def _masks(self, found: dict[str, Any], height: int, width: int) -> Any:
        import numpy as np

        try:
            from pycocotools import mask as coco
        except ImportError as error:
            what = "masks are made with pycocotools; install it: pip install pycocotools"
            raise UsageError(f"mask_size: {what}") from error
        n_objects = len(found["boxes"])
        masks = np.zeros((n_objects, height, width), np.uint8)
        run_lengths = found.get("run_lengths", [None] * n_objects)
        polygons = found.get("polygons", [[]] * n_objects)
        for mask, runs, points in zip(masks, run_lengths, polygons, strict=True):
            # pycocotools takes four numbers for a box.
            parts = [part.reshape(-1).tolist() for part in points if len(part) > 2]
            if runs is not None and runs["size"] != [height, width]:
                what = f"the masks of the row are {runs['size']}, height and width"
                raise UsageError(f"mask_size: {what}")
            if runs is not None:
                mask[:] = coco.decode(coco.frPyObjects(runs, height, width))
            elif parts:
                mask[:] = coco.decode(coco.merge(coco.frPyObjects(parts, height, width)))
        if isinstance(self.boxes, np.ndarray):
            return masks
        import torch

        return torch.from_numpy(masks).to(self.boxes.device)


@dataclass(frozen=True, slots=True)
class Geometry:
    """How each row shows its image: ``crop`` is stretched over ``area``, then ``flipped``.

    ``source`` is width and height of the image, upright where the loader turns it. ``crop`` (left,
    top, width, height) is in its pixels, and ``area`` (likewise) in those of the row: all of it but
    for letterboxes. A point x of the image is at ``(x - crop_left) * area_width / crop_width +
    area_left``, counted from the right where the row is flipped. Zeros in rows without a sample.
    """

    source: Any
    crop: Any
    area: Any
    flipped: Any


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples side by side. Arrays are of the kind that the loader's ``output`` says.

    Images and labels are what a loop over the loader gets; ``labels`` is ``None`` with
    ``label=None``, and 0 or empty in rows without a sample, which are not valid. ``fields`` has a column for
    each requested field, by its name: zeros or nothing in rows without a sample. ``samples`` are the numbers of the
    samples in the dataset. ``valid`` is false for rows that do not count: what fills up the last
    batch, and samples that were left out. ``substituted`` is true for rows that show another
    sample than their own. ``step`` is the number of the batch in its epoch, and ``state`` says
    where to go on after it. ``geometry`` says how each row shows its image, where ``geometry=True`` or
    a field that follows the image was requested.
    """

    images: Any
    labels: Any
    samples: Any
    valid: Any
    substituted: Any
    epoch: int
    step: int
    state: str
    fields: dict[str, Any]
    geometry: Geometry | None = None

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.samples)

    def _repr_html_(self) -> str:
        """What notebooks show: the first rows as small pictures."""
        from fdconvert._html import of_batch

        return of_batch(self)
