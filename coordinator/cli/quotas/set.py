"""`coordinator quotas set`: sets quotas of a user, a client id, both, or an address."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_output, add_server
from coordinator.cli.client import client_of
from coordinator.cli.quotas.admin import add_whom, alter, entity_named, rows_of
from coordinator.cli.quotas.list import COLUMNS, plain
from coordinator.cli.table import render

DESCRIPTION: Final = "Set or change quotas. Others of the same user, client id or address stay."

EPILOG: Final = """\
quotas of users and client ids:
  request_rate               requests per second (not in Kafka)
  request_percentage         of the time of the server that handles requests
  producer_byte_rate         bytes per second, of requests to produce
  consumer_byte_rate         bytes per second, of answers with records
  controller_mutation_rate   topics created, enlarged or deleted per second
of addresses:
  connection_creation_rate   connections per second

The first of these that is set counts: user and client id, user with the default client id, user; the same with the
default user; client id; the default client id."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("quotas", nargs="+", metavar="QUOTA=VALUE", type=quota)
    add_whom(parser)
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    entity = entity_named(arguments)
    values = dict(arguments.quotas)
    with client_of(arguments) as client:
        alter(client, entity, values)
    rows = rows_of(entity, ((key, plain(value)) for key, value in values.items()), "VALUE")
    print(render(arguments.output, COLUMNS, rows))
    return 0


def quota(text: str) -> tuple[str, float]:
    """Return the key and the value of a quota from the command line. ValueError: it has none."""
    key, _, value = text.partition("=")
    key.encode()
    return key, float(value)
