r"""Java's properties syntax, in which Kafka writes server.properties and meta.properties.

One `key=value` per line. The separator is `=`, `:` or white space; a line that starts with `#` or `!` is a comment; a
backslash at the end of a line joins the next line to it, without its indentation. `\t \n \r \f \uXXXX` are escapes; any
other escaped character stands for itself, so `\:` and `\ ` can be part of a key.

Guarantee: `parse_properties` accepts all well-formed Java properties; its errors name the line. Source:
`java.util.Properties.load`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_BLANK: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LINE_END: Final = re.compile(r"\r\n|\n|\r")  # str.splitlines splits at many more characters than Java


class Property(NamedTuple):
    key: str
    value: str
    line: int  # the first line of the entry, counted from 1


class PropertiesError(ValueError):
    """Text that is not in properties syntax; the message names the line."""


def parse_properties(text: str) -> list[Property]:
    """Return all entries in order. If a key occurs twice, the caller uses the last one, as Java does."""
    return [_split(line, number) for line, number in _logical_lines(text)]


def _logical_lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield lines with their continuations joined, without blank lines and comments."""
    gathered, started = "", 0
    for number, natural in enumerate(_LINE_END.split(text), start=1):
        line = natural.lstrip(_BLANK)
        if not started:
            if not line or line[0] in "#!":  # a comment cannot be continued, whatever it ends with
                continue
            started = number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:  # an even number is escaped backslashes
            gathered += line[:-1]
            continue
        yield gathered + line, started
        gathered, started = "", 0
    if started and gathered:
        yield gathered, started  # the text ends in a continuation, which Java accepts


def _split(line: str, number: int) -> Property:
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANK:
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(_BLANK)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANK)
    return Property(_unescape(line[:end], number), _unescape(rest, number), number)


def _unescape(text: str, number: int) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        char = text[position]
        position += 1
        if char != "\\":
            out.append(char)
            continue
        char = text[position : position + 1]
        position += 1
        if char == "u":
            digits = text[position : position + 4]
            if not re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                raise PropertiesError(f"line {number}: \\u needs four hexadecimal digits after it, not {digits!r}")
            out.append(chr(int(digits, 16)))
            position += 4
        else:
            out.append(_ESCAPES.get(char, char))
    return "".join(out)
