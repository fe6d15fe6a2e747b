"""The reference in the guide names every argument, with its default."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fdconvert
import pytest

PAGE = Path(__file__).parents[3] / "docs/guide/python.md"

DOCUMENTED: dict[str, Callable[..., Any]] = {
    "pack": fdconvert.pack,
    "plan": fdconvert.plan,
    "pack_plan": fdconvert.pack_plan,
    "append": fdconvert.append,
    "remove": fdconvert.remove,
    "update": fdconvert.update,
    "log": fdconvert.log,
    "merge": fdconvert.merge,
    "unpack": fdconvert.unpack,
    "inspect": fdconvert.inspect,
    "verify": fdconvert.verify,
    "diff": fdconvert.diff,
    "stats": fdconvert.stats,
    "sheet": fdconvert.sheet,
    "find_duplicates": fdconvert.find_duplicates,
    "profile": fdconvert.profile,
    "Writer": fdconvert.Writer,
    "Dataset": fdconvert.Dataset,
    "concat": fdconvert.concat,
    "mix": fdconvert.mix,
    "decode": fdconvert.decode,
    "Loader": fdconvert.Loader,
    "Ranks": fdconvert.Ranks,
    "Skip": fdconvert.Skip,
    "Substitute": fdconvert.Substitute,
    "Quarantine": fdconvert.Quarantine,
    "Prefetch": fdconvert.Prefetch,
    "Cache": fdconvert.Cache,
    "Storage": fdconvert.Storage,
    "Buckets": fdconvert.Buckets,
    "Patches": fdconvert.Patches,
    "Objects": fdconvert.Objects,
    "Cuda": fdconvert.Cuda,
    "Output": fdconvert.Output,
}


def section(name: str) -> str:
    """Everything below the heading of that name, up to the next heading."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^##+ `{name}`\n(.*?)(?=^##+ |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no section `{name}` in {PAGE.name}"
    return found[1]


def documented(name: str) -> dict[str, str]:
    """Arguments of the section's first table, with their defaults as text."""
    table = section(name).split("| argument | default | |\n|---|---|---|\n")[1].split("\n\n")[0]
    rows = [[cell.strip(" `") for cell in row.split("|")] for row in table.splitlines()]
    return {row[1]: row[2] for row in rows}


def shown(parameter: inspect.Parameter) -> tuple[str, str]:
    default: Any = parameter.default
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return f"**{parameter.name}", ""
    if default is inspect.Parameter.empty:
        return parameter.name, ""
    return parameter.name, f'"{default}"' if isinstance(default, str) else repr(default)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_argument_is_in_the_reference_with_its_default(name: str) -> None:
    parameters = inspect.signature(DOCUMENTED[name]).parameters.values()
    assert documented(name) == dict(map(shown, parameters))


def test_every_public_name_is_in_the_reference() -> None:
    text = PAGE.read_text(encoding="utf-8")
    names = [name for name in dir(fdconvert) if not name.startswith("_")]
    assert [name for name in names if name not in text] == []


def test_every_field_of_a_batch_and_of_the_statistics_is_in_the_reference(tmp_path: Path) -> None:
    for field in fdconvert.Batch.__dataclass_fields__:
        assert f"`{field}`" in section("Batch"), field
    photos = Path(__file__).parents[3] / "tests/fixtures/kodak"
    with fdconvert.Loader(photos, label=None) as loader:
        for field in loader.stats():
            assert f"`{field}`" in section("Loader"), field
