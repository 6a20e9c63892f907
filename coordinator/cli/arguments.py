"""Arguments shared by several commands: servers, forms of output, groups, topics, and times that begin with a minus."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Final

from coordinator.cli.table import FORMATS

DEFAULT_SERVER: Final = "127.0.0.1:9092"
SERVER_VARIABLE: Final = "COORDINATOR_BOOTSTRAP_SERVER"
CONFIG_VARIABLE: Final = "COORDINATOR_COMMAND_CONFIG"

TIME_FLAGS: Final = ("--at", "--since", "--until")  # their values may begin with a minus


def add_server(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that talk to a broker."""
    parser.add_argument(
        "-b",
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        default=os.environ.get(SERVER_VARIABLE) or DEFAULT_SERVER,
        help=f"a broker of this coordinator or of any Kafka; default: ${SERVER_VARIABLE}, else {DEFAULT_SERVER}",
    )
    add_command_config(parser)
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, default=10.0, help="default: 10")


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands for a server or for the data directory of a daemon that does not run."""
    parser.add_argument(
        "--data-dir", metavar="DIR", type=Path, help="in place of a server, that of a daemon that does not run"
    )
    add_server(parser)
    add_output(parser)


def add_command_config(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names the settings of connections to a broker."""
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        type=Path,
        default=os.environ.get(CONFIG_VARIABLE) or None,
        help=f"client settings in Kafka's words: TLS, SASL; default: ${CONFIG_VARIABLE}",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that choose the form of the rows."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "-o", "--output", choices=tuple(FORMATS), default="table", help="default: table; the others are for programs"
    )
    form.add_argument("--json", dest="output", action="store_const", const="json", help="the same as --output json")


def add_groups(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name groups, for `groups_of`."""
    parser.add_argument("groups", nargs="*", metavar="GROUP")
    parser.add_argument("-g", "--group", action="append", default=[], metavar="GROUP", help="as GROUP; repeatable")
    parser.add_argument("--all-groups", action="store_true", help="every group of the cluster")


def add_topics(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name topics, for `topics_of`."""
    parser.add_argument("topics", nargs="*", metavar="TOPIC")
    parser.add_argument("-t", "--topic", action="append", default=[], metavar="TOPIC", help="as TOPIC; repeatable")


def topics_of(arguments: argparse.Namespace) -> list[str]:
    """Return each topic that the arguments name, once."""
    return list(dict.fromkeys([*arguments.topics, *arguments.topic]))


def seconds(text: str) -> float:
    found = float(text)
    if not 0 < found < 86_400:
        raise ValueError(text)
    return found


def join_negative(words: list[str]) -> list[str]:
    """Write `--at -15m` as `--at=-15m`: argparse takes a separate word with a minus for an option."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in TIME_FLAGS and word[:1] == "-" and word[1:2].isdigit():
            joined[-1] = f"{joined[-1]}={word}"
        else:
            joined.append(word)
    return joined
