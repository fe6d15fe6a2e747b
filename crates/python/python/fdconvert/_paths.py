"""Paths, URLs and recipes."""

import os
import re
from typing import TypeAlias

StrPath: TypeAlias = str | os.PathLike[str]
"""A path, a URL, or for sources a recipe such as ``fractal:fractaldb?classes=20``."""

_URL = re.compile(r"[A-Za-z0-9]+://")


def absolute(path: StrPath) -> str:
    """Return the absolute path; URLs and recipes stay unchanged."""
    text = os.fspath(path)
    if _URL.match(text) or text.startswith("fractal:"):
        return text
    return os.path.abspath(text)
