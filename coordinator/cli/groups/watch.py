"""`coordinator groups watch GROUP`: the same as `groups explain GROUP --watch`."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.groups import explain

DESCRIPTION: Final = "Show each second what a group is now and why, until Ctrl-C."

add_arguments = explain.add_watch_arguments


def run(arguments: argparse.Namespace) -> int:
    return explain.watch(arguments)
