"""`coordinator faults VERB ...`: the verbs of a test server, over its HTTP port.

The verbs and their parameters are those of `coordinator.testing.verbs`: what they need is a word, what they may have is
an option. A server has them with `--profile test` or with a token (test.verbs.token).
"""

from __future__ import annotations

import argparse
import inspect
import json
from typing import Final

from coordinator.cli.arguments import add_command_config
from coordinator.cli.errors import CliError
from coordinator.cli.http_port import VERBS_TOKEN, http_settings
from coordinator.cli.parser import Parser
from coordinator.http.client import HttpClientError
from coordinator.testing.errors import CoordinatorTestingError, VerbTokenError
from coordinator.testing.http import verb_names
from coordinator.testing.http_client import LONGEST_S, post_verb
from coordinator.testing.verbs import Verbs

DESCRIPTION: Final = (
    "Make things go wrong on purpose in a coordinator that runs with --profile test, and see what is there."
)

EPILOG: Final = """\
examples:
  coordinator faults kick web-1
  coordinator faults fail_next JoinGroup NOT_COORDINATOR --times 3 --client 'web-*'
  coordinator faults lose_reply OffsetCommit --group orders-service
  coordinator faults wait_stable orders-service --members 2 --timeout 5

The token (test.verbs.token) is read from COORDINATOR_TEST_VERBS_TOKEN, or from the file of --command-config. It is
never an argument, which other users of the machine could see. docs/faults.md explains each verb."""

_NOT_OF_THE_VERB: Final = frozenset(("http", "command_config", "token", "verb", "run"))
DEFAULT_HTTP: Final = "127.0.0.1:9080"


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--http",
        metavar="ADDRESS",
        default=DEFAULT_HTTP,
        help=f"host:port, or https://host:port for a port with TLS; default: {DEFAULT_HTTP}",
    )
    add_command_config(parser)
    parser.add_argument("--token", help=argparse.SUPPRESS)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=Parser)
    for name in verb_names():
        verb = getattr(Verbs, name)
        doc = inspect.getdoc(verb) or ""
        one = verbs.add_parser(name, help=doc.split("\n", 1)[0], description=doc)
        for parameter in list(inspect.signature(verb).parameters.values())[1:]:
            if parameter.name == "topics":
                one.add_argument("pairs", metavar="NAME=PARTITIONS", nargs="+")
            elif parameter.default is not parameter.empty:
                one.add_argument(
                    f"--{parameter.name}", metavar=parameter.name.upper(), help=f"default: {parameter.default}"
                )
            elif parameter.name == "values":
                one.add_argument(parameter.name, metavar="VALUE", nargs="+")
            else:
                one.add_argument(parameter.name, metavar=parameter.name.upper())


def run(arguments: argparse.Namespace) -> int:
    if arguments.token is not None:
        raise CliError(
            "--token shows the token to everyone who lists processes; set COORDINATOR_TEST_VERBS_TOKEN, or write "
            "`test.verbs.token=...` into the file of --command-config"
        )
    settings = http_settings(arguments.http, arguments.command_config, VERBS_TOKEN)
    query = _query(arguments)
    try:
        result = post_verb(arguments.http, arguments.verb, query, settings.token, LONGEST_S, settings.context)
    except VerbTokenError:
        raise settings.wrong_token() from None
    except CoordinatorTestingError as error:
        raise CliError(str(error), 1) from None
    except HttpClientError as error:
        raise settings.unreachable(
            error, "start one with `coordinator serve --profile test`, or give its address with --http"
        ) from None
    if result is not None:
        print(json.dumps(result, indent=2))
    return 0


def _query(arguments: argparse.Namespace) -> list[tuple[str, str]]:
    query: list[tuple[str, str]] = []
    for name, value in vars(arguments).items():
        if name in _NOT_OF_THE_VERB or value is None:
            continue
        if name == "pairs":
            query += [_pair(text) for text in value]
        else:
            query += [(name, each) for each in (value if isinstance(value, list) else [value])]
    return query


def _pair(text: str) -> tuple[str, str]:
    name, _, count = text.partition("=")
    if not count:
        raise CliError(f"{text!r} is no NAME=PARTITIONS, for example orders=6")
    return name, count
