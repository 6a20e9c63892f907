"""Arguments shared by several commands: those of commands that talk to a broker, and times that begin with a minus."""

from __future__ import annotations

import argparse
from typing import Final

TIME_FLAGS: Final = ("--at", "--since", "--until")  # their values may begin with a minus


def add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        default="127.0.0.1:9092",
        help="a broker of this coordinator or of any Kafka; default: 127.0.0.1:9092",
    )
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, default=10.0, help="default: 10")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


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
