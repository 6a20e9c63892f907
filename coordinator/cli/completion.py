"""`coordinator completion bash | zsh | fish`: prints the script that makes a shell complete these commands.

The scripts ask this command for candidates, so they know every verb and option that there is: verbs, options, the
values of an option, and the groups and topics of the server. A server that does not answer at once is left out.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coordinator.cli.arguments import CONFIG_VARIABLE, DEFAULT_SERVER, SERVER_VARIABLE
from coordinator.cli.errors import CliError

if TYPE_CHECKING:
    from coordinator.cli.client import Client

DESCRIPTION: Final = "Print the script that makes a shell complete these commands."

EPILOG: Final = """\
to switch it on:
  bash   echo 'source <(coordinator completion bash)' >> ~/.bashrc
  zsh    echo 'source <(coordinator completion zsh)' >> ~/.zshrc      after its compinit
  fish   coordinator completion fish > ~/.config/fish/completions/coordinator.fish"""

# Each passes the words up to the cursor, the program's name first. Without candidates the shells complete files.
SCRIPTS: Final = {
    "bash": """\
_coordinator() {
    local IFS=$'\\n'
    COMPREPLY=($("$1" completion --candidates "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null))
}
complete -o default -F _coordinator coordinator""",
    "zsh": """\
_coordinator() {
    local -a found
    found=("${(@f)$("${words[1]}" completion --candidates "${(@)words[1,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _coordinator coordinator""",
    "fish": """\
complete --command coordinator \\
    --arguments '(coordinator completion --candidates (commandline -opc) (commandline -ct) 2>/dev/null)'""",
}

TIMEOUT_S: Final = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", nargs="?", choices=tuple(SCRIPTS))
    parser.add_argument("--candidates", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    if arguments.candidates:
        for candidate in candidates(arguments.candidates[1:]):
            print(candidate)
    elif arguments.shell is None:
        raise CliError(f"name the shell: {', '.join(SCRIPTS)}")
    else:
        print(SCRIPTS[arguments.shell])
    return 0


def candidates(words: list[str]) -> list[str]:
    """Return what the last of these words may become."""
    from coordinator.cli.main import parser_of, split_words, verbs_at

    *before, prefix = words or [""]
    path, rest = split_words(before)
    verbs = verbs_at(path)
    if verbs is not None:
        return [] if rest else _fitting(prefix, [*verbs, *parser_of(*path).options()])
    parser, rest = parser_of(*path).innermost(rest)
    option = parser.option_named(rest[-1]) if rest else None
    if option is not None and option.nargs != 0:
        return _fitting(prefix, _values(option, before))
    if prefix.startswith("-"):
        return _fitting(prefix, parser.options())
    return _fitting(prefix, (value for action in parser.positionals() for value in _values(action, before)))


def _fitting(prefix: str, words: Iterator[str] | list[str]) -> list[str]:
    return sorted({word for word in words if word.startswith(prefix)})


def _values(action: argparse.Action, words: list[str]) -> list[str]:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    ask = _ASKED.get(str(action.metavar))
    return [] if ask is None else ask(words)


def _groups(words: list[str]) -> list[str]:
    from coordinator.cli.group_listing import every_group

    with _client(words) as client:
        return [group.group_id for group in every_group(client, [])]


def _topics(words: list[str]) -> list[str]:
    with _client(words) as client:
        return [topic.name or "" for topic in client.metadata(None).topics]


def _client(words: list[str]) -> Client:
    """Return a client by what these words name, else by the environment."""
    from coordinator.cli.client import Client, read_command_config

    named = dict(itertools.pairwise(words))
    server = named.get("--bootstrap-server") or named.get("-b") or os.environ.get(SERVER_VARIABLE) or DEFAULT_SERVER
    config = named.get("--command-config") or os.environ.get(CONFIG_VARIABLE)
    return Client(server, TIMEOUT_S, read_command_config(Path(config) if config else None))


# By the name that an argument has in the help.
_ASKED: Final[Mapping[str, Callable[[list[str]], list[str]]]] = {
    "GROUP": _groups,
    "TOPIC": _topics,
    "TOPIC[:P,...]": _topics,
}
