#!/usr/bin/env python3
"""Checks that links within a folder of HTML lead to files and places that are there.

    check-links.py FOLDER [PREFIX...]

Pages whose path starts with a PREFIX are targets only: rustdoc has checked its own. Links to other
hosts are counted, and not asked for.
"""

import collections
import html.parser
import pathlib
import sys
import urllib.parse

ATTRIBUTES = {"href", "src"}


class Page(html.parser.HTMLParser):
    """The links of a page, and the places in it that links can name."""

    def __init__(self, file):
        super().__init__()
        self.links, self.places = [], {""}
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.places.add(value)
            elif value and name in ATTRIBUTES:
                self.links.append(value)


def main():
    root, prefixes = pathlib.Path(sys.argv[1]).resolve(), tuple(sys.argv[2:])
    parsed, counts, wrong = {}, collections.Counter(), []

    def page(file):
        if file not in parsed:
            parsed[file] = Page(file)
        return parsed[file]

    for file in sorted(root.rglob("*.html")):
        name = str(file.relative_to(root))
        # The page for what is missing is shown at any address: its links start at the site's root.
        if name.startswith(prefixes) or name == "404.html":
            continue
        counts["pages"] += 1
        for link in page(file).links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                counts["links to elsewhere"] += 1
                continue
            counts["links"] += 1
            path = urllib.parse.unquote(parts.path)
            target = file.parent.joinpath(path).resolve() if path else file
            if target.is_dir():
                target /= "index.html"
            place = urllib.parse.unquote(parts.fragment)
            if not target.is_file() or not target.is_relative_to(root):
                wrong.append(f"{name}: {link} leads nowhere")
            elif place and target.suffix == ".html" and place not in page(target).places:
                wrong.append(f"{name}: {link} names no place of that page")
    print("links:", ", ".join(f"{n} {what}" for what, n in counts.items()))
    if not counts["links"]:
        wrong.append("no links were found: is this a site?")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
