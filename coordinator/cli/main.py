"""`coordinator COMMAND ...`: finds the command, runs it, and prints an error as one sentence.

Commands are rows of a table. Only the module of the given command is imported, so that `coordinator serve` starts
without the Kafka client and `coordinator groups` without the server.

Exit codes: 0 for success, 1 if the server refused, 2 if the call, a setting or the environment is wrong. With 1 and 2
stderr has one sentence that says what to do, and no traceback.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final, NamedTuple

from coordinator.cli.arguments import join_negative
from coordinator.cli.errors import CliError
from coordinator.config.values import ConfigError

INTERRUPTED: Final = 128 + signal.SIGINT


class Command(NamedTuple):
    module: str  # has `add_arguments(parser)` and `run(arguments) -> int`
    summary: str


COMMANDS: Final = {
    "serve": Command("coordinator.cli.serve", "run the coordinator: Kafka clients connect to it"),
    "groups": Command("coordinator.cli.groups", "list consumer groups, or describe one"),
    "topics": Command("coordinator.cli.topics", "list topics, or create one"),
    "cluster": Command("coordinator.cli.cluster", "show the nodes of a cluster, or the owners of its partitions"),
    "log": Command("coordinator.cli.log", "print the records of a log, of this coordinator or of a Kafka"),
    "compact": Command("coordinator.cli.compact.command", "compact the offsets log to its live keys, with Spark"),
    "history": Command(
        "coordinator.cli.history.command", "show past commits, rebalances and rates, and partitions that stand still"
    ),
    "restore": Command("coordinator.cli.reset.restore", "set a group's offsets back to those of a past time"),
    "undo": Command("coordinator.cli.reset.undo", "take back a group's last reset of offsets"),
    "config": Command("coordinator.cli.config", "print every setting with its default, range and meaning"),
}

DESCRIPTION: Final = "A consumer-group coordinator that speaks Kafka's protocol."
EPILOG: Final = """\
to get started:
  coordinator serve --topic orders:12           listens on 127.0.0.1:9092, keeps its data in ./data
  coordinator groups list                       in another terminal, once a client has joined

`coordinator COMMAND --help` explains each command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    words = join_negative(list(sys.argv[1:] if argv is None else argv))
    if not words:
        _parser().print_help()
        return 2
    if words[0] not in COMMANDS:
        _parser().parse_args(words)  # exits with help, version or an error, unless the first word is "--"
        words = words[1:]
    arguments = _parser_of(words[0]).parse_args(words[1:])
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
    print(f"coordinator: {sentence}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    """Return the parser of command names, which imports none of their modules."""
    parser = argparse.ArgumentParser(
        prog="coordinator",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        commands.add_parser(name, help=command.summary, add_help=False)
    return parser


def _parser_of(name: str) -> argparse.ArgumentParser:
    """Return the parser of one command's arguments."""
    module = import_module(COMMANDS[name].module)
    parser = argparse.ArgumentParser(
        prog=f"coordinator {name}",
        description=module.DESCRIPTION,
        epilog=getattr(module, "EPILOG", None),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
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
