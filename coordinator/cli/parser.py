"""Parsers of the command line that propose the most similar word for a mistyped verb or option.

argparse is kept: what it lacks is the few lines below, and every other library adds its import to each start.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, NoReturn

_UNKNOWN: Final = "unrecognized arguments: "


class Command(NamedTuple):
    """A row in a table of commands."""

    module: str  # has `VERBS`, a table of commands, or `add_arguments(parser)` and `run(arguments) -> int`
    summary: str


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that asks "did you mean …?"."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**{**settings, "allow_abbrev": False})

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            guess = similar(str(value), choices)
            raise argparse.ArgumentError(
                action,
                f"there is no {value!r}; "
                + (f"did you mean {guess!r}?" if guess else f"choose from {', '.join(choices)}"),
            )

    def error(self, message: str) -> NoReturn:
        if message.startswith(_UNKNOWN):
            word = message.removeprefix(_UNKNOWN).split(" ")[0].partition("=")[0]
            guess = similar(word, list(self.options()))
            message += f"; did you mean {guess}?" if guess else ""
        super().error(message)

    def options(self) -> Iterator[str]:
        """Yield the names of all options, those of the actions of this command included."""
        for action in self._actions:
            yield from action.option_strings
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    yield from parser.options()

    def positionals(self) -> list[argparse.Action]:
        """Return the arguments that have no option's name."""
        return [action for action in self._actions if not action.option_strings]

    def option_named(self, word: str) -> argparse.Action | None:
        """Return the option with this name."""
        return self._option_string_actions.get(word)

    def innermost(self, words: list[str]) -> tuple[Parser, list[str]]:
        """Return the parser of the action that these words name, and the words after it."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and words[:1] and words[0] in action.choices:
                found: Parser = action.choices[words[0]]
                return found.innermost(words[1:])
        return self, words

    def takes_words_anywhere(self) -> bool:
        """Return True if positional words may stand between options, which argparse cannot do for nested parsers."""
        return not any(action.nargs in (argparse.PARSER, argparse.REMAINDER) for action in self._actions)


def similar(word: str, words: list[str]) -> str | None:
    """Return the word that was probably meant."""
    from difflib import get_close_matches  # imported only once a word is wrong

    return next(iter(get_close_matches(word, words, 1)), None)


def parser_of_verbs(prog: str, description: str, epilog: str | None, verbs: Mapping[str, Command]) -> Parser:
    """Return the parser of a table of commands, which imports none of their modules."""
    parser = Parser(prog=prog, description=description, epilog=epilog)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, command in verbs.items():
        commands.add_parser(name, help=command.summary, add_help=False)
    return parser


def parser_of_purposes(
    prog: str, description: str, epilog: str, purposes: Mapping[str, Mapping[str, Command]]
) -> Parser:
    """Return the parser of tables of commands, with a heading for each, which argparse cannot give them."""
    width = max(len(name) for verbs in purposes.values() for name in verbs) + 2
    listed = [
        f"{purpose}:\n" + "".join(f"  {name:{width}}{command.summary}\n" for name, command in verbs.items())
        for purpose, verbs in purposes.items()
    ]
    usage = f"{prog} [-h] [--version] COMMAND ..."  # argparse leaves out what it does not list
    parser = Parser(prog=prog, usage=usage, description=description, epilog="\n".join([*listed, epilog]))
    commands = parser.add_subparsers(metavar="COMMAND", required=True, help=argparse.SUPPRESS)
    for verbs in purposes.values():
        for name in verbs:
            commands.add_parser(name, add_help=False)
    return parser
