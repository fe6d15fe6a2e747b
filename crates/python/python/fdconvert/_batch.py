"""Batches of a loader, with the objects in their rows and the geometry of their images."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class BatchObjects:
    """The objects of all rows of a batch, row after row, in pixels of the rows.

    The objects of row ``r`` are ``offsets[r]`` to ``offsets[r + 1]``. ``boxes`` hold left, top, right
    and bottom; ``keypoints`` hold x, y and visibility, which is 0 outside the row.

    ``points`` are the points of all polygons. ``polygon_offsets`` says where each polygon begins,
    and ``polygon_objects`` which object it belongs to. ``runs``, ``run_offsets`` and ``run_objects``
    do the same for masks stored as run lengths, and ``run_size`` is their height and width: one pair,
    or with ``sizes="own"`` one for each row.

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
            size = size[row] if isinstance(size[0], list) else size
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

    def to_torchvision(
        self, canvas_size: tuple[int, int] | Sequence[tuple[int, int]] | None = None
    ) -> list[dict[str, Any]]:
        """Return the objects of each row as torchvision's detection models take them, in tensors.

        Each dictionary has ``boxes`` and ``labels``, and ``area``, ``iscrowd`` and ``keypoints`` if
        objects have them. ``labels`` are the categories counted from 1, because 0 is the background.
        ``canvas_size``, the height and width of the rows or of each row, adds ``masks`` drawn from run lengths and
        polygons; polygons need ``pycocotools``.
        """
        from fdconvert._detection import targets

        return targets(self, canvas_size)


@dataclass(frozen=True, slots=True)
class Geometry:
    """Placement of the image in each row of a view.

    ``source`` is the width and height of the image, after the loader has turned it upright, and
    ``size`` that of the row. ``matrix``, of shape (rows, 3, 3), takes points of the image to the row:
    its product with (x, y, 1), divided by its third number. Both are counted in pixels from the upper
    left corner of the upper left pixel. Rows without a sample hold zeros.
    """

    source: Any
    size: Any
    matrix: Any


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of samples. The loader's ``output`` sets the type of the arrays.

    ``images`` and ``labels`` are what a loop over the loader yields; ``labels`` is ``None`` with
    ``label=None``. ``fields`` maps the name of each requested field to its column. ``samples`` holds
    the samples' numbers in the dataset.

    ``valid`` is false for rows without a sample: padding of the last batch, and samples that were
    skipped. Their labels and fields are 0 or empty. ``substituted`` is true for rows that show
    another sample in place of their own.

    With ``views`` of several names, ``images`` is a dictionary with an array for each; an array of
    several views has them as first dimension, or as second with ``view_layout="rows"``. What follows
    the image (masks, further images, objects and ``geometry``) is then a list with one for each view,
    and a dictionary of these with several names.

    With ``sizes="own"`` ``images`` is a list with an array for each row, and with ``sizes=Patches(...)``
    a dictionary of ``patches``, ``patch_coord`` and ``patch_valid``.

    ``step`` is the number of the batch in its epoch, and ``state`` the position after it, for
    resuming. ``geometry`` is a ``Geometry``, if ``geometry=True``, ``masks``,
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
    geometry: Any = None

    @property
    def views(self) -> dict[str, Any]:
        """The images of each group of views by its name; of a single one as ``"images"``."""
        return self.images if isinstance(self.images, dict) else {"images": self.images}

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.samples)

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the first rows as small pictures."""
        from fdconvert._html import of_batch

        return of_batch(self)
