"""`coordinator COMMAND ...`: finds the command, runs it, and prints an error as one sentence.

Commands are rows of a table, and so are the verbs of `groups` and `topics`. Only the module of the given command is
imported, so that `coordinator serve` starts without the Kafka client and `coordinator groups` without the server.

Exit codes: 0 for success, 1 if the server refused, 2 if the call, a setting or the environment is wrong. With 1 and 2
stderr has one sentence that says what to do, and no traceback. A call that stops before its verb prints the help: 2.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Final

from coordinator.cli.arguments import join_negative
from coordinator.cli.errors import CliError
from coordinator.cli.parser import Command, Parser, parser_of_purposes, parser_of_verbs
from coordinator.cli.table import escaped
from coordinator.config.values import ConfigError

INTERRUPTED: Final = 128 + signal.SIGINT

# By their purpose, under whose headings the help lists them.
PURPOSES: Final = {
    "the daemon": {
        "serve": Command("coordinator.cli.serve", "run the coordinator: Kafka clients connect to it"),
        "config": Command("coordinator.cli.config", "print every setting with its default, range and meaning"),
        "completion": Command("coordinator.cli.completion", "print what makes a shell complete these commands"),
    },
    "groups, topics and rights, of this coordinator or of any Kafka": {
        "groups": Command(
            "coordinator.cli.groups.command", "explain, list, describe, reset and delete consumer groups"
        ),
        "topics": Command("coordinator.cli.topics.command", "list, describe, create, alter and delete topics"),
        "transactions": Command("coordinator.cli.transactions.command", "list, describe and abort transactions"),
        "users": Command("coordinator.cli.users.command", "list, add and remove users with passwords"),
        "quotas": Command(
            "coordinator.cli.quotas.command", "list, set and remove quotas of users, clients and addresses"
        ),
        "acls": Command("coordinator.cli.acls.command", "list, add and remove access rules (ACLs)"),
        "cluster": Command("coordinator.cli.cluster", "show the nodes of a cluster, or the owners of its partitions"),
        "observe": Command("coordinator.cli.observe", "show the groups of another Kafka, which stays as it is"),
    },
    "the past of groups": {
        "report": Command(
            "coordinator.cli.history.report", "report what troubled groups in the last days, and what to do"
        ),
        "history": Command(
            "coordinator.cli.history.command",
            "show past commits, rebalances and rates, and partitions that stand still",
        ),
        "whatif": Command(
            "coordinator.cli.whatif.command", "replay recorded groups with other settings, in virtual time"
        ),
        "restore": Command("coordinator.cli.reset.restore", "set a group's offsets back to those of a past time"),
        "undo": Command("coordinator.cli.reset.undo", "take back a group's last reset of offsets"),
        "tables": Command(
            "coordinator.cli.history.stream", "keep commits, members, rebalances, moves and lag as Parquet tables"
        ),
    },
    "the log on disk": {
        "log": Command(
            "coordinator.cli.log.command", "print, check and repair logs, of this coordinator or of a Kafka"
        ),
        "compact": Command("coordinator.cli.compact.command", "compact the offsets log to its live keys, with Spark"),
    },
    "tests of applications": {
        "faults": Command("coordinator.cli.faults", "make things go wrong on purpose in a coordinator under test"),
        "torture": Command("coordinator.cli.torture", "play schedules of faults against an application, and judge it"),
        "rehearse": Command(
            "coordinator.cli.rehearse", "play the migration of an application to the consumer protocol"
        ),
        "simulate": Command("coordinator.cli.simulate", "check every promise in simulated worlds of nodes and clients"),
    },
}
COMMANDS: Final = {name: command for commands in PURPOSES.values() for name, command in commands.items()}

DESCRIPTION: Final = "A consumer-group coordinator that speaks Kafka's protocol."
EPILOG: Final = """\
to get started:
  coordinator serve --topic orders:12           listens on 127.0.0.1:9092, keeps its data in ./data
  coordinator groups list                       in another terminal, once a client has joined

`coordinator COMMAND --help` explains each command; `coordinator completion bash` completes them in a shell."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    words = join_negative(list(sys.argv[1:] if argv is None else argv))
    path, rest = split_words(words)
    parser = parser_of(*path)
    if verbs_at(path) is not None:
        if not rest:
            parser.print_help()
            return 2
        parser.parse_args(rest)  # exits with help, version or an error, unless the first word is "--"
        return main([*path, *rest[1:]])
    arguments = parser.parse_intermixed_args(rest) if parser.takes_words_anywhere() else parser.parse_args(rest)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()  # so that a closed pipe is detected here and not at exit
    except ConfigError as error:
        return _say(str(error), 2)
    except CliError as error:
        return _say(str(error), error.exit_code)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has closed the pipe. The interpreter must not print to it either when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _say(sentence: str, code: int) -> int:
    print(escaped(f"coordinator: {sentence}"), file=sys.stderr)
    return code


def split_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words that name a command, as far as they do, and the rest."""
    path: list[str] = []
    while (verbs := verbs_at(path)) is not None and words[len(path) :] and words[len(path)] in verbs:
        path.append(words[len(path)])
    return path, list(words[len(path) :])


def verbs_at(path: Sequence[str]) -> Mapping[str, Command] | None:
    """Return the commands that may follow these words; None if they name a command."""
    return getattr(_module_at(path), "VERBS", None) if path else COMMANDS


def _module_at(path: Sequence[str]) -> ModuleType:
    verbs = verbs_at(path[:-1])
    assert verbs is not None
    return import_module(verbs[path[-1]].module)


def parser_of(*path: str) -> Parser:
    """Return the parser of a command, or of the commands that may follow these words."""
    prog = " ".join(("coordinator", *path))
    verbs = verbs_at(path)
    if not path:
        parser = parser_of_purposes(prog, DESCRIPTION, EPILOG, PURPOSES)
        parser.add_argument("--version", action=_Version, help="print the version and exit")
        return parser
    module = _module_at(path)
    epilog = getattr(module, "EPILOG", None)
    if verbs is not None:
        return parser_of_verbs(prog, module.DESCRIPTION, epilog, verbs)
    parser = Parser(prog=prog, description=module.DESCRIPTION, epilog=epilog)
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)
    return parser


class _Version(argparse.Action):
    """Prints the installed version and build, which it reads from the package metadata on use only."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest=argparse.SUPPRESS, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from coordinator.version import DISTRIBUTION, build, version

        print(f"{DISTRIBUTION} {version()} ({build()})")
        parser.exit(0)
