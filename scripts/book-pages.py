#!/usr/bin/env python3
"""Lets pages of the book be files that lie outside of `docs`: a preprocessor of mdBook.

A page that holds nothing but `{{#include ../FILE.md}}` becomes that file. Its links, which start
where the file lies, lead to the page of the book that shows their target; what the book does not
show, such as a program, is named without a link. Links to a README lead to the index that mdBook
makes of it.
"""

import json
import os
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
INCLUDE = re.compile(r"\s*\{\{#include (\S+\.md)\}\}\s*")
# A link or an image: its text, its target, and the fragment behind it.
LINK = re.compile(r"(!?)\[((?:[^\]`]|`[^`]*`)*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def chapters(items):
    """All chapters of a list of items, those below others too."""
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            yield chapter
            yield from chapters(chapter["sub_items"])


def file_of(chapter):
    """The file outside of `docs` that the chapter shows, if it does."""
    found = INCLUDE.fullmatch(chapter["content"])
    if not found:
        return None
    return (DOCS / chapter["source_path"]).parent.joinpath(found[1]).resolve()


def with_links(text, file, page, pages):
    """The text of a file as it stands on a page; `pages` says which page shows a file."""

    def link(found):
        image, name, target, fragment = found[1], found[2], found[3], found[4] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        target = file.parent.joinpath(target).resolve()
        shown = pages.get(target)
        if shown is None:
            return found[0] if target.is_relative_to(DOCS) and target.exists() else name
        path = os.path.relpath(shown.with_name(shown.name.replace("README", "index")), page.parent)
        return f"{image}[{name}]({path}{fragment})"

    lines, in_block = [], False
    for line in text.splitlines(keepends=True):
        in_block ^= line.lstrip().startswith("```")
        lines.append(line if in_block else LINK.sub(link, line))
    return "".join(lines)


def main():
    if sys.argv[1:2] == ["supports"]:
        return
    _, book = json.load(sys.stdin)
    # mdBook before 0.5 calls them sections.
    items = book["items"] if "items" in book else book["sections"]
    found = [(chapter, file_of(chapter)) for chapter in chapters(items) if chapter.get("source_path")]
    places = [(chapter, file, DOCS / chapter["source_path"]) for chapter, file in found]
    pages = {file or page: page for _, file, page in places}
    for chapter, file, page in places:
        text = file.read_text(encoding="utf-8") if file else chapter["content"]
        chapter["content"] = with_links(text, file or page, page, pages)
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
