"""Batches of a loader, with the objects in their rows and the geometry of their images."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from fdconvert._errors import UsageError


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of all rows of a batch, row after row, in pixels of the rows.

    The objects of row ``r`` are ``offsets[r]`` to ``offsets[r + 1]``. ``boxes`` hold left, top, right
    and bottom; ``keypoints`` hold x, y and visibility, which is 0 outside the row.

    ``points`` are the points of all polygons. ``polygon_offsets`` says where each polygon begins,
    and ``polygon_objects`` which object it belongs to. ``runs``, ``run_offsets`` and ``run_objects``
    do the same for masks stored as run lengths, and ``run_size`` is their height and width.

    A member that no sample of the batch has is ``None``. If only some samples have it, the objects of
    the others get ``category`` and ``id`` -1, ``iscrowd`` 0, ``area`` NaN, and keypoints of
    visibility 0.
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
        """Return the mask of each object of a row in COCO's form, ``{"size": ..., "counts": [...]}``.

        Objects without run lengths get ``None``. ``pycocotools.mask.frPyObjects`` accepts the masks.
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
        """Return the objects of a row as a dictionary, without the members that are ``None``.

        ``polygons`` has a list of arrays of shape ``(points, 2)`` for each object; ``run_lengths`` is
        the result of ``run_lengths(row)``.
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
        """Return the objects of a row as a target for torchvision's detection models.

        ``labels`` are the categories counted from 1, because 0 is the background. ``mask_size``, the
        height and width of the row, adds ``masks`` drawn from polygons and run lengths, and needs
        ``pycocotools``. The models need a loader with ``output="torch"``.
        """
        found = self.of_row(row)
        category = found.pop("category")
        if len(category) and int(category.min()) < 0:
            what = "an object has no category and would become background; give every object one"
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
            what = "drawing masks needs pycocotools; install it: pip install pycocotools"
            raise UsageError(f"mask_size: {what}") from error
        n_objects = len(found["boxes"])
        masks = np.zeros((n_objects, height, width), np.uint8)
        run_lengths = found.get("run_lengths", [None] * n_objects)
        polygons = found.get("polygons", [[]] * n_objects)
        for mask, runs, points in zip(masks, run_lengths, polygons, strict=True):
            # pycocotools would read four numbers as a box.
            parts = [part.reshape(-1).tolist() for part in points if len(part) > 2]
            if runs is not None and runs["size"] != [height, width]:
                what = f"the row's masks have height and width {runs['size']}"
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
    """Placement of the image in each row: ``crop`` is stretched over ``area``, then ``flipped``.

    ``source`` is the width and height of the image, after the loader has turned it upright. ``crop``
    (left, top, width, height) is in pixels of the image. ``area`` (the same four) is in pixels of
    the row, and covers all of it except with a letterbox. Rows without a sample hold zeros.

    A point x of the image is at ``(x - crop_left) * area_width / crop_width + area_left``, counted
    from the right if the row is flipped.
    """

    source: Any
    crop: Any
    area: Any
    flipped: Any


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of samples. The loader's ``output`` sets the type of the arrays.

    ``images`` and ``labels`` are what a loop over the loader yields; ``labels`` is ``None`` with
    ``label=None``. ``fields`` maps the name of each requested field to its column. ``samples`` holds
    the samples' numbers in the dataset.

    ``valid`` is false for rows without a sample: padding of the last batch, and samples that were
    skipped. Their labels and fields are 0 or empty. ``substituted`` is true for rows that show
    another sample in place of their own.

    ``step`` is the number of the batch in its epoch, and ``state`` the position after it, for
    resuming. ``geometry`` is the placement of the images, if ``geometry=True``, ``masks``,
    ``objects`` or a field of images was requested.
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
        """Return the number of rows."""
        return len(self.samples)

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the first rows as small pictures."""
        from fdconvert._html import of_batch

        return of_batch(self)
