"""Paths as the caller gives them."""

import os
import re
from typing import TypeAlias

StrPath: TypeAlias = str | os.PathLike[str]
"""A path, the URL of an object, or for sources a recipe such as ``fractal:fractaldb?classes=20``."""

_URL = re.compile(r"[A-Za-z0-9]+://")


def absolute(path: StrPath) -> str:
    """The path for processes in other folders; URLs and recipes stay as they are."""
    text = os.fspath(path)
    if _URL.match(text) or text.startswith("fractal:"):
        return text
    return os.path.abspath(text)
