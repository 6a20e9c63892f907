"""Rules for the prose in the code: a docstring is a sentence that names its subject. CONTRIBUTING.md explains them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MOST_LINES = 12  # of a module's docstring; what is longer belongs into a page of docs/

# Words that open a fragment, a riddle or an aside, and no sentence about the thing that is documented.
FRAGMENT = re.compile(
    r"(What|Whether|Where|Who|Whose|Whom|How|Of|As|Those|That|See the module|None of|With|Without|From|For|Nothing|"
    r"By|To|And|Or|Also|Not|Never|In|At|On|Until|Since|If|So|But|Because|The same|Same|Only|Than|Under|Beside|Before|"
    r"After|Between|Again|Likewise|Even|Always|Whatever)\b"
)
VAGUE = re.compile(r"\b(nobody|somebody|whoever|everybody|anybody|whomever|someone|anyone|no one)\b", re.IGNORECASE)
DATA = {"tests/conformance/frames.py", "tests/conformance/generator.py", "tests/conformance/side.py"}  # ids in requests

FILES = [
    path.relative_to(ROOT).as_posix()
    for folder in ("coordinator", "protocol", "tests", "bench", "examples", "clients")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not {"generated", "build"} & set(path.parts) and path.name != "test_voice.py"
]


def docstrings(source: str) -> Iterator[tuple[int, str, bool]]:
    """Line and text of each docstring, and whether it is the module's."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text, isinstance(node, ast.Module)


def words(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each comment, string and compound name."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], token.string
        elif token.type == tokenize.NAME and "_" in token.string:
            yield token.start[0], token.string.replace("_", " ")


@pytest.mark.parametrize("file", FILES)
def test_prose_is_plain(file: str) -> None:
    source = (ROOT / file).read_text(encoding="utf-8")
    found = [
        f"{line}: opens with a fragment: {text.splitlines()[0]}"
        for line, text, _ in docstrings(source)
        if FRAGMENT.match(text)
    ]
    found += [
        f"{line}: {len(text.splitlines())} lines, at most {MOST_LINES}"
        for line, text, is_module in docstrings(source)
        if is_module and len(text.splitlines()) > MOST_LINES
    ]
    if file not in DATA:
        found += [
            f"{line}: name the client, member, caller or file: {text[:80]}"
            for line, text in words(source)
            if VAGUE.search(text)
        ]
    assert not found, "\n".join(found)
