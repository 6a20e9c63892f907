"""Hooks of MkDocs: the pages of the site, and its navigation, from README.md and docs/README.md.

The site has the folders of the repository. It holds README.md, each page that is reached from it by links, and each
other file that a page links to. A folder that a page links to gets a page with the names of its files. So each link
works as it does in the repository, and a new page needs its line in docs/README.md only.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parent.parent
HOME: Final = "README.md"
OVERVIEW: Final = "docs/README.md"
QUESTIONS: Final = "docs/questions.md"
MERMAID: Final = "mermaid.min.js"
ADDED: Final = {"site.css": ".site/site.css", MERMAID: f".venv-site/{MERMAID}"}  # make site fetches the second

_FENCED: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r'(?:\]\(|\bsrc=")([^)\s#:"]+)(?=[#)"])')
_NAMED_LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)\s#:]+)\)")


def resolved(page: str, target: str) -> str:
    """Return the path from the root of the repository for a link on a page."""
    return os.path.normpath(Path(page).parent / target)


def index_of(folder: str) -> str:
    """Return the page for a folder."""
    return f"{folder}/README.md" if (ROOT / folder / "README.md").exists() else f"{folder}/index.md"


def listing(folder: str) -> str:
    """Return a page with the names of the files in a folder."""
    names = sorted(path.name for path in (ROOT / folder).iterdir() if path.is_file())
    return f"# {folder}\n\n" + "".join(f"- [{name}]({name})\n" for name in names)


def text_of(page: str) -> str:
    path = ROOT / page
    return path.read_text(encoding="utf-8") if path.exists() else listing(page.rpartition("/")[0])


def reached() -> list[str]:
    """Return each file that is reached from README.md by links, in the order of links."""
    found = {HOME: None}
    for page in (waiting := [HOME]):
        for target in _LINK.findall(_FENCED.sub("", text_of(page))):
            path = resolved(page, target)
            path = index_of(path) if (ROOT / path).is_dir() else path
            if path not in found:
                found[path] = None
                waiting += [path] if path.endswith(".md") else []
    return list(found)


def questions() -> dict[str, list[str]]:
    """Return the questions of new users, by the pages that answer them."""
    found: dict[str, list[str]] = {}
    _, *sections = re.split(r"^## (.+)$", text_of(QUESTIONS), flags=re.MULTILINE)
    for question, answer in zip(sections[::2], sections[1::2], strict=True):
        for target in _LINK.findall(answer):
            found.setdefault(resolved(QUESTIONS, target), []).append(re.sub(r"[^\w\s-]", "", question))
    return found


def navigation(pages: list[str]) -> list[Any]:
    """Return the sections of docs/README.md, with the pages of their lists, and a section with all other pages."""
    left = [page for page in pages if page not in (HOME, OVERVIEW)]

    def entries(text: str) -> list[Any]:
        found: list[Any] = []
        for item in re.split(r"^- ", text, flags=re.MULTILINE)[1:]:
            for number, (label, target) in enumerate(_NAMED_LINK.findall(item)):
                path = resolved(OVERVIEW, target)
                is_folder = (ROOT / path).is_dir()
                inside = sorted(page for page in left if is_folder and page.startswith(path + "/"))
                if inside:
                    found.append({label: inside})
                elif path in left:
                    found.append(path if number else {label: path})
                for page in inside or [path]:
                    if page in left:
                        left.remove(page)
        return found

    def groups(text: str, mark: str) -> list[Any]:
        opening, *sections = re.split(rf"^{mark} (.+)$", text, flags=re.MULTILINE)
        named = zip(sections[::2], sections[1::2], strict=True)
        return [*entries(opening), *({title: groups(section, mark + "#")} for title, section in named)]

    nav: list[Any] = [{"Home": HOME}, *groups(text_of(OVERVIEW), "##")]
    return [*nav, {"Project": [{"All pages": OVERVIEW}, *left]}]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = navigation([path for path in reached() if path.endswith(".md")])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    ours = [file for file in files if file.src_dir != config.docs_dir]  # those of the theme
    for path in reached():
        if (ROOT / path).exists():
            ours.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
        else:
            ours.append(File.generated(config, path, content=text_of(path)))
    ours += [File.generated(config, name, abs_src_path=str(ROOT / path)) for name, path in ADDED.items()]
    return Files(ours)


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Lead links to folders to their pages."""

    def rewritten(found: re.Match[str]) -> str:
        path = resolved(page.file.src_uri, found[1])
        if not (ROOT / path).is_dir():
            return found[0]
        return "](" + os.path.relpath(index_of(path), Path(page.file.src_uri).parent)

    return _LINK.sub(rewritten, markdown)


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Leave out an empty list at the side: of neighbours on the first page, of headings on a page without.

    The search counts the questions that a page answers more than its words, and shows them with the page.
    """
    page.meta["tags"] = questions().get(page.file.src_uri, [])
    page.meta["hide"] = ["navigation"] if page.file.src_uri == HOME else []
    page.meta["hide"] += [] if any(heading.children for heading in page.toc) else ["toc"]
    return html


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Load the program for diagrams where a page has one. The theme would load it from another host."""
    if 'class="mermaid"' not in output:
        return output
    up = os.path.relpath(MERMAID, Path(page.file.src_uri).parent)
    return output.replace("</head>", f'<script src="{up}"></script></head>')
