"""Arguments, requests and rows that the verbs of `quotas` share. The options are those of kafka-configs.sh."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from coordinator.cli.client import Client, explain
from coordinator.cli.errors import CliError
from coordinator.security.quotas.changes import DEFAULT, EXACT
from coordinator.security.quotas.model import CLIENT_ID, IP, USER, Entity, entity_of
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

if TYPE_CHECKING:
    from coordinator.cli.table import Row

WHOM: Final = ("USER", "CLIENT-ID", "IP")
DEFAULT_NAME: Final = "<default>"

_TYPE_OF: Final = {"USER": USER, "CLIENT-ID": CLIENT_ID, "IP": IP}
_OPTIONS: Final = (
    (USER, "NAME", ("--user",), ("--user-default", "--user-defaults")),
    (CLIENT_ID, "ID", ("--client-id", "--client"), ("--client-id-default", "--client-defaults")),
    (IP, "ADDRESS", ("--ip",), ("--ip-default", "--ip-defaults")),
)


def add_whom(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a user, a client id, both, or an address."""
    for kind, metavar, named, default in _OPTIONS:
        one = parser.add_mutually_exclusive_group()
        one.add_argument(*named, dest="whom", action="append", default=[], metavar=metavar, type=_named(kind))
        one.add_argument(
            *default,
            dest="whom",
            action="append_const",
            const=(kind, None),
            help=f"each {kind} without a quota of its own",
        )


def _named(kind: str) -> Callable[[str], tuple[str, str]]:
    def name(text: str) -> tuple[str, str]:
        text.encode()  # ValueError: no server could read it
        return kind, text

    return name


def entity_named(arguments: argparse.Namespace) -> Entity:
    """Return the entity that the arguments name."""
    if not arguments.whom:
        raise CliError("no entity is named; add --user, --client-id, both, or --ip, or --user-default and the like")
    return entity_of(arguments.whom)


def described(client: Client, entity: Entity, *, is_strict: bool) -> dict[Entity, dict[str, float]]:
    """Return the quotas of this entity; if not strict, also those of entities with more parts."""
    components = [ComponentData(kind, DEFAULT if name is None else EXACT, name) for kind, name in entity]
    request = DescribeClientQuotasRequest(components, is_strict)
    response = client.any_node().call(request, DescribeClientQuotasResponse)
    if response.error_code:
        raise CliError(f"the quotas cannot be listed: {explain(response.error_code, response.error_message)}", 1)
    return {
        entity_of((each.entity_type, each.entity_name) for each in entry.entity): {
            each.key: each.value for each in entry.values
        }
        for entry in response.entries or ()
    }


def alter(client: Client, entity: Entity, changes: Mapping[str, float | None]) -> None:
    """Set quotas of one entity; None removes. Raises CliError."""
    ops = [OpData(key, value or 0.0, value is None) for key, value in changes.items()]
    entry = EntryData([EntityData(kind, name) for kind, name in entity], ops)
    response = client.any_node().call(AlterClientQuotasRequest([entry]), AlterClientQuotasResponse)
    for each in response.entries:
        if each.error_code:
            reason = explain(each.error_code, each.error_message)
            raise CliError(f"the quotas of {words_of(entity)} were not changed: {reason}", 1)


def words_of(entity: Entity) -> str:
    """Return an entity for a sentence."""
    return " with ".join(
        f"the default {kind}" if name is None else f"{kind} {name!r}" for kind, name in reversed(entity)
    )


def rows_of(entity: Entity, values: Iterable[tuple[str, object]], column: str) -> list[Row]:
    """Return a row for each quota, with its value in this column."""
    names = dict(entity)
    whom: dict[str, Any] = {
        each: (names[kind] or DEFAULT_NAME) if kind in names else None for each, kind in _TYPE_OF.items()
    }
    return [whom | {"QUOTA": key, column: value} for key, value in values]


def order(entity: Entity) -> list[tuple[bool, str]]:
    """Return what sorts entities for people: by user, client id and address, defaults last."""
    names = dict(entity)
    return [(names.get(kind, "") is None, names.get(kind) or "") for kind in (USER, CLIENT_ID, IP)]
