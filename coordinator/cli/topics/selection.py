"""The topics that the arguments of a verb name."""

from __future__ import annotations

import argparse

from coordinator.cli.arguments import topics_of
from coordinator.cli.client import Client
from coordinator.cli.errors import CliError
from coordinator.cli.parser import similar


def named_topics(arguments: argparse.Namespace) -> list[str]:
    """Return each topic that the arguments name, once. CliError: they name none."""
    names = topics_of(arguments)
    if not names:
        raise CliError("name a TOPIC or several; `coordinator topics list` shows those there are")
    return names


def missing_topic(client: Client, name: str) -> str:
    """Return the sentence for a topic that does not exist, with the most similar one if there is one."""
    guess = similar(name, [topic.name or "" for topic in client.metadata(None).topics])
    hint = f"did you mean {guess!r}?" if guess else "`coordinator topics list` shows those there are"
    return f"there is no topic {name!r}; {hint}"
