"""Check the built site: each link leads to a file and an anchor in it, and nothing is loaded from other hosts.

Links to other hosts are checked for their form only.
Usage: check.py DIRECTORY
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

LOADED: Final = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
NOT_LOADED: Final = ("canonical", "next", "prev")  # values of `rel` of a link that is read and not fetched


class Page(HTMLParser):
    """The anchors of a page, its links, and the files that a browser loads with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors = {""}
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag in LOADED and LOADED[tag] in values and values.get("rel") not in NOT_LOADED:
            self.loaded.append(values[LOADED[tag]])
        elif "href" in values:
            self.links.append(values["href"])


def mistakes(site: Path) -> Iterator[str]:
    """Yield a sentence for each link that leads nowhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        for target in page.links + page.loaded:
            url = urlsplit(target)
            if url.scheme or url.netloc:
                if target in page.loaded:
                    yield f"{name} loads {target} from another host"
                elif url.scheme not in ("http", "https") or "." not in url.netloc:
                    yield f"{name} links to {target}, which is no address"
                continue
            inside = unquote(url.path)
            file = (site / inside.lstrip("/") if inside.startswith("/") else path.parent / inside) if inside else path
            file = (file / "index.html" if file.is_dir() else file).resolve()
            if not file.is_file():
                yield f"{name} links to {target}, which is not in the site"
            elif file in pages and unquote(url.fragment) not in pages[file].anchors:
                yield f"{name} links to {target}, and the page has no such anchor"


if __name__ == "__main__":
    site = Path(sys.argv[1]).resolve()
    if found := list(mistakes(site)):
        sys.exit("\n".join(found))
    sys.stdout.write(f"every link in {sum(1 for _ in site.rglob('*.html'))} pages leads to a file and an anchor\n")
