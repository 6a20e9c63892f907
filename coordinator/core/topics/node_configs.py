"""Changes of the settings of nodes at run time: the rules for a resource of type BROKER.

As in Kafka, these settings are part of the catalogue, which the controller writes and every node follows. They take
effect on a node as soon as it has them on disk. The checks are in the order of Kafka's `ConfigAdminManager`: the name
of the resource, each operation, settings that are fixed at run time, then the values.

A setting that does not exist, or has no effect here, is refused. Kafka stores it and shows it as sensitive.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from coordinator.config.config import keys
from coordinator.config.dynamic_config import DYNAMIC, FOR_ALL, DynamicConfig
from coordinator.config.values import ConfigError
from coordinator.core.topics.config_operations import APPEND, DELETE, SET, Operation
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coordinator.core.cluster import Cluster
    from coordinator.core.topics.create_topics import Refusal

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}")


def why_not_a_node(name: str, cluster: Cluster) -> Refusal | None:
    """Return a refusal unless `name` is a node, or all nodes: the controller changes the settings of every node."""
    if name == FOR_ALL or name in map(str, cluster.nodes):
        return None
    if _INTEGER.fullmatch(name) is None:
        return ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name[:80]}"
    expected = ", ".join(map(str, cluster.nodes))
    return ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {expected}, but received {name}"


def alter_node_configs(
    name: str, operations: Sequence[Operation], before: Mapping[str, Mapping[str, str]], dynamic: DynamicConfig
) -> dict[str, str] | Refusal:
    """Return the settings of the node `name` after these operations, or a refusal."""
    configs = dict(before.get(name, {}))
    for asked in operations:
        if asked.kind == DELETE:
            configs.pop(asked.name, None)
            continue
        if asked.kind != SET:
            if asked.name not in keys():
                return ErrorCode.INVALID_CONFIG, f"Unknown config name, or without effect here: {asked.name[:80]}"
            verb = "append" if asked.kind == APPEND else "subtract"
            return ErrorCode.INVALID_CONFIG, f"Config value {verb} is not allowed for config key: {asked.name}"
        configs[asked.name] = asked.value or ""
    return why_not_valid(name, configs, before, dynamic) or configs


def why_not_valid(
    name: str, configs: Mapping[str, str], before: Mapping[str, Mapping[str, str]], dynamic: DynamicConfig
) -> Refusal | None:
    """Return a refusal if a node cannot have these settings."""
    table = keys()
    if fixed := [each for each in configs if each in table and each not in DYNAMIC]:
        return (
            ErrorCode.INVALID_REQUEST,
            f"Cannot update these configs dynamically: [{', '.join(fixed)}]; "
            "change them in the configuration of the node and restart it",
        )
    if unknown := [each for each in configs if each not in table]:
        return (
            ErrorCode.INVALID_CONFIG,
            f"Unknown config name, or without effect on this server: {', '.join(unknown)[:200]}",
        )
    for each, value in configs.items():
        try:
            table[each].parse(value)
        except ConfigError as error:
            return ErrorCode.INVALID_REQUEST, str(error)
    reason = dynamic.why_not({**before, name: configs})
    return None if reason is None else (ErrorCode.INVALID_REQUEST, reason)
