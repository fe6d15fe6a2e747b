"""HTML for notebooks: datasets and batches as tables of small pictures.

Needs only the standard library. All text is escaped, and pictures are data URIs, so that a saved
notebook needs no other file and no server.
"""

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from fdconvert._errors import Error

if TYPE_CHECKING:
    from fdconvert._batch import Batch
    from fdconvert._fdconvert import Dataset

# Number of samples to show, and pixels of the longer side of each.
SHOWN = 8
SIDE = 96
# Longer texts are cut.
LETTERS = 60

_CELL = 'style="text-align:center;vertical-align:bottom"'
# Buffer formats of arrays that are pictures.
_FORMATS = ("B", "e", "f")


def of_dataset(dataset: "Dataset") -> str:
    """Return a table of the first samples, with keys and labels."""
    schema = dataset.schema["fields"]
    has_images = any(field["kind"] == "image" for field in schema)
    columns = []
    for index in range(min(len(dataset), SHOWN)):
        cells = []
        try:
            if has_images:
                cells.append(_picture(dataset._thumbnail(index, SIDE)))
            cells.append(_text(dataset.key(index)))
            label = dataset._label(index)
            if label is not None:
                cells.append(_text(_named(label, dataset.classes)))
        except (Error, OSError) as error:
            cells.append(_text(error))
        columns.append(cells)
    fields = ", ".join(str(field["name"]) for field in schema)
    return _table(f"{dataset!r}, fields: {fields}", columns)


def of_batch(batch: "Batch") -> str:
    """Return a table of the first rows, with sample numbers and labels."""
    n_rows = len(batch)
    samples, valid = _numbers(batch.samples), _numbers(batch.valid)
    labels = None if batch.labels is None else _labels(batch.labels, n_rows)
    columns = []
    for row, png in enumerate(_pictures(_first_view(batch), min(n_rows, SHOWN))):
        cells = ["" if png is None else _picture(png), _text(f"sample {samples[row]}")]
        if not valid[row]:
            cells = ["", _text("does not count")]
        elif labels is not None:
            cells.append(_text(labels[row]))
        columns.append(cells)
    title = f"batch of {n_rows} rows, epoch {batch.epoch}, step {batch.step}"
    return _table(title, columns)


def _table(title: str, columns: list[list[str]]) -> str:
    n_lines = max((len(cells) for cells in columns), default=0)
    lines = []
    for line in range(n_lines):
        cells = (cells[line] if line < len(cells) else "" for cells in columns)
        lines.append("<tr>" + "".join(f"<td {_CELL}>{cell}</td>" for cell in cells) + "</tr>")
    return f"<div><p>{_text(title)}</p><table>{''.join(lines)}</table></div>"


def _picture(png: bytes) -> str:
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(png).decode("ascii")}"/>'


def _text(value: object) -> str:
    text = str(value)
    return escape(text if len(text) <= LETTERS else text[: LETTERS - 1] + "…")


def _named(label: int, classes: Sequence[str] | None) -> str:
    return classes[label] if classes is not None and 0 <= label < len(classes) else str(label)


def _host(array: Any) -> Any:
    """Return the array in main memory, with the buffer protocol."""
    if hasattr(array, "cpu"):
        array = array.cpu()
    return array.numpy() if hasattr(array, "numpy") else array


def _values(array: Any) -> list[Any]:
    """Return the elements of an array, row by row."""
    view = memoryview(_host(array))
    letter = view.format.lstrip("@=<")
    content = view.tobytes()
    return list(struct.unpack(f"{len(content) // struct.calcsize(letter)}{letter}", content))


def _numbers(array: Any) -> list[int]:
    return [int(number) for number in _values(array)]


def _labels(labels: Any, n_rows: int) -> list[object]:
    """Return a label for each row; empty texts if rows have several numbers."""
    values = labels if isinstance(labels, list) else _values(labels)
    return [*values] if len(values) == n_rows else [""] * n_rows


def _first_view(batch: "Batch") -> Any:
    images = next(iter(batch.views.values()))
    # There may be none, or what a function made of them.
    if len(getattr(images, "shape", ())) != 5 or not hasattr(images, "__getitem__"):
        return images
    return images[0] if images.shape[1] == len(batch) else images[:, 0]


def _pictures(images: Any, n_rows: int) -> Iterable[bytes | None]:
    """Return a PNG of each row; ``None`` for arrays that are not pictures."""
    if isinstance(images, list):
        # Rows of their own sizes.
        return [picture for row in images for picture in _of_array(row, 1, (1,))]
    return _of_array(images, n_rows, ())


def _of_array(images: Any, n_rows: int, before: tuple[int, ...]) -> list[bytes | None]:
    try:
        view = memoryview(_host(images))
        shape: tuple[int, ...] = before + tuple(view.shape or ())
        content = view.tobytes()
    except (TypeError, ValueError):
        return [None] * n_rows
    letter = view.format.lstrip("@=<")
    if len(shape) != 4 or letter not in _FORMATS or 3 not in (shape[1], shape[3]) or 0 in shape:
        return [None] * n_rows
    n_values = shape[1] * shape[2] * shape[3]
    n_bytes = n_values * struct.calcsize(f"={letter}")
    channels_last = shape[3] == 3
    height, width = (shape[1], shape[2]) if channels_last else (shape[2], shape[3])
    step = max(1, -(-max(height, width) // SIDE))
    # Positions of the pixels to show.
    places = [
        [y * width + x for x in range(0, width, step)] for y in range(0, height, step)
    ]
    of_pixel, of_channel = (3, 1) if channels_last else (1, height * width)
    pictures: list[bytes | None] = []
    for row in range(n_rows):
        values = struct.unpack_from(f"={n_values}{letter}", content, row * n_bytes)
        chosen = [
            [values[place * of_pixel + channel * of_channel] for place in line for channel in range(3)]
            for line in places
        ]
        pictures.append(_png(_levels(chosen) if letter != "B" else chosen))
    return pictures


def _levels(lines: list[list[float]]) -> list[list[int]]:
    """Scale values, which may be normalised: the smallest becomes 0, the largest 255."""
    finite = [value for line in lines for value in line if value - value == 0]
    least, most = min(finite, default=0.0), max(finite, default=0.0)
    scale = 255 / (most - least) if most > least else 0.0
    return [
        [round((value - least) * scale) if value - value == 0 else 0 for value in line]
        for line in lines
    ]


def _png(lines: Sequence[Sequence[int]]) -> bytes:
    """Return rows of red, green and blue as a PNG file."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        summed = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + summed

    header = struct.pack(">IIBBBBB", len(lines[0]) // 3, len(lines), 8, 2, 0, 0, 0)
    content = zlib.compress(b"".join(b"\0" + bytes(line) for line in lines))
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", content) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks
