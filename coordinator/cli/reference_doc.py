"""Writer of docs/cli-reference.md: every command with its arguments, from the parsers that read the command line.

`make generate` runs it. The layout of argparse's help differs between versions of Python, so the page has tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Final

from coordinator.cli.main import parser_of, verbs_at
from coordinator.cli.parser import Parser

_ESCAPED: Final = str.maketrans({"|": r"\|", "*": r"\*", "<": "&lt;", "\n": " "})
_SHOWN: Final = {argparse.ZERO_OR_MORE: "[{0} ...]", argparse.ONE_OR_MORE: "{0} ...", argparse.OPTIONAL: "[{0}]"}


def text() -> str:
    """Return the whole page."""
    lines = [
        "# Reference of the command line",
        "",
        "<!-- Written by `make generate` from the parsers in coordinator/cli/; do not edit. -->",
        "",
        "Every command with its arguments, as `--help` shows them. How to work with groups, topics, users and rules:",
        "[cli.md](cli.md). Exit codes: 0 done, 1 refused or not found, 2 a wrong call or no server.",
        "",
        *_commands([]),
    ]
    return "\n".join(lines)


def _commands(path: list[str]) -> Iterator[str]:
    """Yield the section of a command, and then those of its verbs."""
    yield from _section(parser_of(*path), len(path) + 1) if path else ()
    modules = set[str]()
    for verb, command in (verbs_at(path) or {}).items():
        if command.module not in modules:  # else it is another name of the same
            yield from _commands([*path, verb])
        modules.add(command.module)


def _section(parser: Parser, level: int) -> Iterator[str]:
    yield f"{'#' * level} {parser.prog}"
    yield ""
    if parser.description:
        yield parser.description.translate(_ESCAPED)
        yield ""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    listed = inner[0]._choices_actions if inner else []
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS and action not in inner]
    rows = [(_named(action), _meaning(parser, action)) for action in shown if "--help" not in action.option_strings]
    rows += [(f"`{choice.dest}`", (choice.help or "").translate(_ESCAPED)) for choice in listed]
    if rows:
        yield "| Argument | Meaning |"
        yield "| --- | --- |"
        yield from (f"| {name} | {meaning} |" for name, meaning in rows)
        yield ""
    for group in parser._mutually_exclusive_groups:
        names = ", ".join(f"`{(action.option_strings or [action.dest])[-1]}`" for action in group._group_actions)
        yield f"{'One' if group.required else 'At most one'} of {names}."
        yield ""
    if parser.epilog:
        yield from ("```text", parser.epilog, "```", "")
    for action in inner:
        for verb in action.choices.values():
            if verb.add_help:  # else it is a command with a parser of its own
                yield from _section(verb, level + 1)


def _named(action: argparse.Action) -> str:
    value = ""
    if action.nargs != 0:
        choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices is not None else ""
        name = action.metavar or choices or (action.dest.upper() if action.option_strings else action.dest)
        name = name if isinstance(name, str) else " ".join(name)
        value = _SHOWN.get(str(action.nargs), "{0}").format(name)
    text = " ".join(filter(None, (", ".join(action.option_strings), value)))
    return f"`{text}`".replace("|", " or ")  # readers of Markdown differ about a bar in code in a table


def _meaning(parser: Parser, action: argparse.Action) -> str:
    meaning = parser._get_formatter()._expand_help(action) if action.help else ""
    meaning = meaning.translate(_ESCAPED)
    return f"{meaning}{'; ' if meaning else ''}required" if action.required and action.option_strings else meaning


if __name__ == "__main__":
    sys.stdout.write(text())
