"""The commands in fenced blocks of pages, as words, without running them: a small part of the syntax of a shell.

Variables and command substitutions become values that fit, heredocs are left out. Text in quotes stays one word.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final

from tests.docs.blocks import Block

SHELLS: Final = ("sh", "bash", "console")
_HEREDOC: Final = re.compile(r"<<'?(\w+)'?\n.*?^\1$", re.MULTILINE | re.DOTALL)
_TIME: Final = re.compile(r"\$BEFORE\b")
_ARITHMETIC: Final = re.compile(r"\$\(\([^)]*\)\)")
_SUBSTITUTION: Final = re.compile(r"\$\([^()]*\)")
_VARIABLE: Final = re.compile(r"\$(?:\{\w+\}|\w+|[!?@])")
_ASSIGNMENT: Final = re.compile(r"\w+=.*", re.DOTALL)
_PUNCTUATION: Final = ";&|()<>"
_KEYWORDS: Final = ("do", "done", "then", "fi", "if", "else", "while", "until", "exec", "{", "}", "!")


def typed_text(block: Block) -> str:
    """Return the commands of a block: all of it, or the lines after a prompt; empty if it has none."""
    lines = block.text.splitlines()
    if any(line.startswith("$ ") for line in lines):
        return "".join(f"{line[2:]}\n" for line in lines if line.startswith("$ "))
    return block.text if block.language in SHELLS else ""


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command, the program first."""
    text = _HEREDOC.sub("", text).replace("\\\n", " ")
    text = _ARITHMETIC.sub("1", _TIME.sub("-1h", text))
    text = _VARIABLE.sub("1", _SUBSTITUTION.sub("1", text))
    for line in _lines(text):
        lexer = shlex.shlex(line, posix=True, punctuation_chars=_PUNCTUATION)
        lexer.whitespace_split = True
        words: list[str] = []
        is_file = False  # the next word, because a redirection is before it
        for word in [*lexer, ";"]:
            if {"<", ">"} & set(word) and set(word) <= set(_PUNCTUATION):
                is_file = True
            elif set(word) <= set(_PUNCTUATION):
                yield from _command(words)
                words = []
            else:
                words += [] if is_file else [word]
                is_file = False


def _lines(text: str) -> Iterator[str]:
    """Yield lines; one that ends within quotes goes on in the next."""
    line = ""
    for each in text.splitlines():
        line += each + "\n"
        try:
            shlex.split(line, comments=True)
        except ValueError:
            continue
        yield line
        line = ""
    assert not line, f"quotes that are not closed: {line}"


def _command(words: list[str]) -> Iterator[list[str]]:
    while words and (words[0] in _KEYWORDS or _ASSIGNMENT.fullmatch(words[0])):
        words = words[1:]
    if words and words[0] != "for":
        yield [words[0].rpartition("/")[2], *words[1:]]
