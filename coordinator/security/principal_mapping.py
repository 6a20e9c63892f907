"""Kafka's ssl.principal.mapping.rules: short names for the distinguished names in client certificates.

The grammar and the choice of a rule are those of Kafka's `SslPrincipalMapper` (KIP-371). A rule applies if its regular
expression matches the whole name; then each match in the name is replaced, as String.replaceAll does. Sets in sets,
and other parts of a regular expression that Python reads in another way than Java, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_DOT: Final = r"[^\n\r\x85\u2028\u2029]"  # a dot in Java
_RULE: Final = rf"(DEFAULT)|RULE:((?:\\{_DOT}|[^\\/])*)/((?:\\{_DOT}|[^\\/])*)/([LU]?){_DOT}*?|{_DOT}*?"
_RULE_PARSER: Final = re.compile(_RULE)
_RULE_SPLITTER: Final = re.compile(rf"\s*(?P<rule>{_RULE})\s*(?:,\s*|$)", re.ASCII)
_JAVA_BLANKS: Final = "".join(map(chr, range(0x21)))

# A pattern without sets in sets, their intersection (&&), what Python reserves for such (--, ~~, ||), \v and \Z.
_SAME_IN_JAVA: Final = re.compile(
    r"(?:\\[^vZ]|[^\\\[]|\[\^?(?:\\[^vZ]|(?!([-&~|])\1)[^\\\[\]])++\])*+",
    re.DOTALL,
)
_REPLACEMENT: Final = re.compile(r"\\(?P<escaped>.)|\$(?P<group>[0-9]+)|(?P<literal>[^\\$]+)", re.DOTALL)


class NoMatchingRule(Exception):  # noqa: N818 - Kafka's name
    """No rule applies to the name. Kafka closes the connection of such a client at its first request."""


class MappingRule(NamedTuple):
    pattern: re.Pattern[str]
    replacement: Sequence[str | int]
    """Texts, and numbers of groups."""

    case: str
    """L for lower case, U for upper case, or empty."""

    def apply(self, name: str) -> str | None:
        """Return the short name, or None if the rule does not apply."""
        if not self.pattern.fullmatch(name):
            return None
        parts = []
        end = 0
        for match in _matches(self.pattern, name):
            parts.append(name[end : match.start()])
            parts += [match[part] or "" if isinstance(part, int) else part for part in self.replacement]
            end = match.end()
        short = "".join(parts) + name[end:]
        return short.lower() if self.case == "L" else short.upper() if self.case == "U" else short


class PrincipalMapper(NamedTuple):
    rules: Sequence[MappingRule | None]
    """In the order of their use. None is DEFAULT."""

    def name_of(self, distinguished_name: str) -> str:
        """Return the name of the principal. Raises NoMatchingRule."""
        for rule in self.rules:
            name = distinguished_name if rule is None else rule.apply(distinguished_name)
            if name is not None:
                return name
        raise NoMatchingRule(
            f"no rule of ssl.principal.mapping.rules applies to {distinguished_name!r:.300}; add one, or DEFAULT at "
            "the end to give such clients their whole name"
        )


def parse_rules(text: str) -> PrincipalMapper:
    """Parse rules with commas between them. Raises ValueError with one sentence."""
    rules: list[MappingRule | None] = []
    for entry in _RULE_SPLITTER.finditer(text.strip(_JAVA_BLANKS)):
        rule = _RULE_PARSER.match(entry["rule"])
        if rule is None or rule.end() < len(entry["rule"]):
            raise ValueError(
                f"{entry['rule']!r} is not a rule; write DEFAULT, or RULE:pattern/replacement/ with L or U after the "
                "last slash for lower or upper case"
            )
        is_default, pattern, replacement, case = rule.groups()
        if is_default:
            rules.append(None)
        elif pattern is not None:  # else nothing stands between two commas
            rules.append(_parse_rule(pattern, replacement, case))
    return PrincipalMapper(rules)


def _parse_rule(pattern: str, replacement: str, case: str) -> MappingRule:
    if not _SAME_IN_JAVA.fullmatch(pattern):
        raise ValueError(
            f"the pattern {pattern!r} is read by Java in another way than here; write it without \\v, \\Z, and within "
            "[] without another [, &&, --, ~~ and ||"
        )
    try:
        compiled = re.compile(pattern, re.ASCII)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(
            f"the pattern {pattern!r} is not a regular expression here ({error}); correct it, and write it without "
            "what only Java knows"
        ) from None
    return MappingRule(compiled, tuple(_parse_replacement(replacement, compiled.groups)), case)


def _parse_replacement(text: str, groups: int) -> Iterator[str | int]:
    """Yield the parts of a replacement. A number that is too high for the groups of the pattern is no reference."""
    start = 0
    while start < len(text):
        part = _REPLACEMENT.match(text, start)
        if part is None:
            raise ValueError(f"the replacement {text!r} has a $ without a number; write \\$ for the character")
        start = part.end()
        digits = part["group"]
        if not digits:
            yield part["escaped"] or part["literal"]
            continue
        if not groups and digits[0] != "0":
            raise ValueError(f"the replacement {text!r} refers to a group, but its pattern has none; add (...)")
        size = next((size for size in range(len(digits), 0, -1) if int(digits[:size]) <= groups), 0)
        if size:
            yield int(digits[:size])
        yield digits[size:] if size else f"${digits}"


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches that Java finds, which in contrast to Python seeks nothing where an empty match was."""
    start = 0
    while start <= len(text) and (match := pattern.search(text, start)):
        yield match
        start = match.end() + (match.start() == match.end())
