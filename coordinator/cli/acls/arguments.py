"""The arguments of `coordinator acls`, and the rules and filters that they stand for.

Names and meaning are those of kafka-acls. Source: Kafka's `AclCommand`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final, NamedTuple

from coordinator.cli.arguments import add_place
from coordinator.cli.errors import CliError
from coordinator.security.acl.model import (
    CLUSTER,
    OPERATIONS,
    WILDCARD,
    AclBinding,
    AclOperation,
    PatternType,
    Permission,
    ResourceType,
)

PATTERN_TYPES: Final = {each.name.lower(): each for each in PatternType if each != PatternType.UNKNOWN}
PRODUCER: Final = {
    ResourceType.TOPIC: (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE),
    ResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE),
}
CONSUMER: Final = {
    ResourceType.TOPIC: (AclOperation.READ, AclOperation.DESCRIBE),
    ResourceType.GROUP: (AclOperation.READ,),
}
_BY_NAME: Final = {each.title.lower(): each for each in AclOperation if each > AclOperation.ANY}


class Pattern(NamedTuple):
    """The resources that rules are for."""

    type: ResourceType
    name: str
    pattern_type: PatternType


def add_resources(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name resources, for `patterns_of`, and those that say where the rules are."""
    parser.add_argument("-t", "--topic", action="append", default=[], metavar="TOPIC", help="'*': all; repeatable")
    parser.add_argument("-g", "--group", action="append", default=[], metavar="GROUP", help="'*': all; repeatable")
    parser.add_argument("--transactional-id", action="append", default=[], metavar="ID", help="'*': all; repeatable")
    parser.add_argument("--cluster", action="store_true", help="the cluster itself")
    parser.add_argument(
        "--resource-pattern-type",
        choices=tuple(PATTERN_TYPES),
        default="literal",
        help="how names are meant; default: literal. `any` and `match` find rules and add none: "
        "`match` finds all that count for a name",
    )
    add_place(parser)


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name rules, for `bindings_of`."""
    for verb in ("allow", "deny"):
        parser.add_argument(
            f"--{verb}-principal",
            action="append",
            default=[],
            type=principal,
            metavar="TYPE:NAME",
            help="as User:alice; User:* is everyone; repeatable",
        )
        parser.add_argument(
            f"--{verb}-host",
            action="append",
            default=[],
            metavar="HOST",
            help="an address, or a range as 10.0.0.0/8; repeatable; default: all",
        )
    parser.add_argument(
        "--operation",
        action="append",
        default=[],
        type=operation,
        metavar="OPERATION",
        help=f"{', '.join(each.title for each in _BY_NAME.values())}; repeatable; default: All",
    )
    parser.add_argument(
        "--producer", action="store_true", help="what a producer needs for topics and transactional ids"
    )
    parser.add_argument("--consumer", action="store_true", help="what a consumer needs for topics and groups")
    add_resources(parser)


def principal(text: str) -> str:
    text.encode()  # ValueError: no server could read it
    if ":" not in text:
        raise argparse.ArgumentTypeError(f"{text!r} has no type; write User:{text}")
    return text


def operation(text: str) -> AclOperation:
    found = _BY_NAME.get(text.replace("_", "").lower())
    if found is None:
        raise argparse.ArgumentTypeError(
            f"there is no {text!r}; choose from {', '.join(each.title for each in _BY_NAME.values())}"
        )
    return found


def patterns_of(arguments: argparse.Namespace) -> list[Pattern]:
    """Return the named resources. The cluster has one name, so that its pattern is literal."""
    pattern_type = PATTERN_TYPES[arguments.resource_pattern_type]
    named = (
        (ResourceType.TOPIC, arguments.topic),
        (ResourceType.GROUP, arguments.group),
        (ResourceType.TRANSACTIONAL_ID, arguments.transactional_id),
    )
    patterns = [Pattern(kind, name, pattern_type) for kind, names in named for name in names]
    if arguments.cluster:
        patterns.append(Pattern(CLUSTER.type, CLUSTER.name, PatternType.LITERAL))
    return list(dict.fromkeys(patterns))


def needed_patterns(arguments: argparse.Namespace) -> list[Pattern]:
    patterns = patterns_of(arguments)
    if not patterns:
        raise CliError("name a resource: --topic, --group, --transactional-id or --cluster")
    return patterns


def bindings_of(arguments: argparse.Namespace) -> list[AclBinding]:
    """Return the rules that the arguments name, each once; none without a principal."""
    bindings: dict[AclBinding, None] = {}
    for pattern in needed_patterns(arguments):
        for permission, who, where in _subjects(arguments):
            for each in _operations(arguments, pattern):
                bindings[AclBinding(*pattern, who, where, each, permission)] = None
    return list(bindings)


def _subjects(arguments: argparse.Namespace) -> Iterator[tuple[Permission, str, str]]:
    for permission, principals, hosts in (
        (Permission.ALLOW, arguments.allow_principal, arguments.allow_host),
        (Permission.DENY, arguments.deny_principal, arguments.deny_host),
    ):
        if hosts and not principals:
            name = permission.name.lower()
            raise CliError(f"--{name}-host needs a principal; add --{name}-principal User:NAME")
        for who in principals:
            for where in hosts or [WILDCARD]:
                yield permission, who, where


def _operations(arguments: argparse.Namespace, pattern: Pattern) -> tuple[AclOperation, ...]:
    if arguments.producer or arguments.consumer:
        _check_conveniences(arguments)
        for_producer = PRODUCER.get(pattern.type, ()) if arguments.producer else ()
        operations = for_producer + (CONSUMER.get(pattern.type, ()) if arguments.consumer else ())
        if not operations:
            role = "--consumer" if arguments.consumer else "--producer"
            raise CliError(f"{role} has no rules for a resource of type {pattern.type.name}; leave that resource out")
        return operations
    supported = (AclOperation.ALL, *OPERATIONS[pattern.type])
    for each in arguments.operation:
        if each not in supported:
            raise CliError(
                f"a resource of type {pattern.type.name} has no operation {each.title}; choose from "
                f"{', '.join(one.title for one in supported)}"
            )
    return tuple(arguments.operation) or (AclOperation.ALL,)


def _check_conveniences(arguments: argparse.Namespace) -> None:
    if arguments.operation or arguments.deny_principal or arguments.deny_host:
        raise CliError(
            "--producer and --consumer say themselves what is allowed; leave out --operation, --deny-principal and "
            "--deny-host"
        )
    if not arguments.topic:
        raise CliError("--producer and --consumer need a topic; add --topic")
    if arguments.consumer and not arguments.group:
        raise CliError("--consumer needs a group; add --group")
