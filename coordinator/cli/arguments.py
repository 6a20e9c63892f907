"""Arguments that several commands have: those of every command that talks to a broker, and times before now."""

from __future__ import annotations

import argparse
from typing import Final

TIME_FLAGS: Final = ("--at", "--since", "--until")  # whose values may begin with a minus


def add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        default="127.0.0.1:9092",
        help="a broker, ours or any Kafka; default: 127.0.0.1:9092",
    )
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, default=10.0, help="default: 10")
    parser.add_argument("--json", action="store_true", help="for programs")


def seconds(text: str) -> float:
    found = float(text)
    if not 0 < found < 86_400:
        raise ValueError(text)
    return found


def join_negative(words: list[str]) -> list[str]:
    """`--at -15m` as argparse takes it: a value that begins with a minus must hang on its option."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in TIME_FLAGS and word[:1] == "-" and word[1:2].isdigit():
            joined[-1] = f"{joined[-1]}={word}"
        else:
            joined.append(word)
    return joined
