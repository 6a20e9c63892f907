"""JAAS texts: one entry of a login module and its options, as in `sasl.jaas.config`.

Source: Kafka's `JaasConfig`, which splits its text by the rules of java.io.StreamTokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

# Possessive quantifiers: no text can make the search long.
_GAP: Final = r"(?:[\x00-\x20]|/\*.*?\*/|//[^\r\n]*)*+"
_WORD: Final = (
    r'(?:"(?:[^"\\\r\n]|\\.)*+"'
    r"|'(?:[^'\\\r\n]|\\.)*+'"
    r"|[A-Za-z_$\xA0-\U0010FFFF][A-Za-z_$\xA0-\U0010FFFF0-9.-]*+)"
)
_OPTION: Final = re.compile(rf"{_GAP}({_WORD}){_GAP}={_GAP}({_WORD})", re.DOTALL)
_ENTRY: Final = re.compile(
    rf"{_GAP}(?P<module>{_WORD}){_GAP}(?P<flag>{_WORD})(?P<options>(?:{_OPTION.pattern})*){_GAP};{_GAP}", re.DOTALL
)
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)


class JaasEntry(NamedTuple):
    module: str
    options: Mapping[str, str]


def parse_jaas(text: str) -> JaasEntry | None:
    """Return the entry of a text; None if the text is not exactly one."""
    entry = _ENTRY.fullmatch(text)
    if entry is None or _unquote(entry["flag"]).lower() not in _FLAGS:
        return None
    options = {_unquote(key): _unquote(value) for key, value in _OPTION.findall(entry["options"])}
    return JaasEntry(_unquote(entry["module"]), options)


def _unquote(word: str) -> str:
    """Return the value of a token: with quotes and escapes resolved, or the bare word."""
    if word[0] not in "\"'":
        return word
    return _ESCAPE.sub(lambda found: _resolve(found[1]), word[1:-1])


def _resolve(escaped: str) -> str:
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPED.get(escaped, escaped)
