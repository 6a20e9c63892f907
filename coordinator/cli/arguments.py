"""The arguments that every command has that talks to a broker."""

from __future__ import annotations

import argparse


def add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        default="127.0.0.1:9092",
        help="a broker, ours or any Kafka; default: 127.0.0.1:9092",
    )
    parser.add_argument("--timeout", metavar="SECONDS", type=_seconds, default=10.0, help="default: 10")
    parser.add_argument("--json", action="store_true", help="for programs")


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 86_400:
        raise ValueError(text)
    return seconds
