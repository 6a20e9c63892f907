"""Settings of one group, which take precedence over those of the nodes: the rules for a resource of type GROUP.

As in Kafka, any group id may have settings, whether there is such a group or not. They are part of the catalogue, which
the controller writes and every node follows, and are read anew at each heartbeat. A value that was valid once and lies
outside of the bounds now counts as the nearest bound. Source: Kafka's `GroupConfig` and `GroupConfigManager`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.topics.config_operations import APPEND, DELETE, SET, Operation
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordinator.config.config import Config
    from coordinator.core.topics.create_topics import Refusal

GROUP: Final = 32  # the type of the resource
FROM_GROUP: Final = 8  # the source of a value
MOST_NAME_BYTES: Final = 2**15 - 1
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}")
GroupConfigs = Mapping[str, Mapping[str, str]]  # group id -> setting -> value


class GroupKey(NamedTuple):
    """One setting of a group; the others are attributes of `Config`."""

    name: str
    help: str
    server_key: str  # the setting of the nodes that it takes precedence over
    attribute: str
    minimum: str
    maximum: str

    def bounds(self, config: Config) -> tuple[int, int]:
        return getattr(config, self.minimum), getattr(config, self.maximum)

    def why_invalid(self, value: str, config: Config) -> str | None:
        """Return the reason, for the client, why `value` is invalid; None if it is valid."""
        text = value.strip()
        if _INTEGER.fullmatch(text) is None or not -(2**31) <= int(text) < 2**31:
            return f"Invalid value {value[:40]} for configuration {self.name}: Not a number of type INT"
        least, most = self.bounds(config)
        if not least <= int(text) <= most:
            return f"{self.name} must be in the range {least} to {most} inclusive."
        return None

    def value(self, text: str, config: Config) -> int:
        """Return the value that a stored one counts as."""
        least, most = self.bounds(config)
        return max(least, min(int(text), most))


GROUP_KEYS: Final[Mapping[str, GroupKey]] = MappingProxyType(
    {
        key.name: key
        for key in (
            GroupKey(
                "consumer.session.timeout.ms",
                "The session timeout of members of the consumer protocol.",
                "group.consumer.session.timeout.ms",
                "group_consumer_session_timeout_ms",
                "group_consumer_min_session_timeout_ms",
                "group_consumer_max_session_timeout_ms",
            ),
            GroupKey(
                "consumer.heartbeat.interval.ms",
                "How often members of the consumer protocol send a heartbeat.",
                "group.consumer.heartbeat.interval.ms",
                "group_consumer_heartbeat_interval_ms",
                "group_consumer_min_heartbeat_interval_ms",
                "group_consumer_max_heartbeat_interval_ms",
            ),
        )
    }
)
_WITHOUT_EFFECT: Final = re.compile(r"(consumer|share|streams|errors)\.[a-z.]+")


def alter_group_configs(
    name: str,
    operations: Sequence[Operation],
    before: Mapping[str, str],
    config: Config,
) -> dict[str, str] | Refusal:
    """Return the settings of a group after these operations, or a refusal. `before` are those that it keeps."""
    configs = dict(before)
    for asked in operations:
        if asked.kind == DELETE:
            configs.pop(asked.name, None)
        elif asked.kind != SET and asked.name in GROUP_KEYS:
            verb = "APPEND" if asked.kind == APPEND else "SUBTRACT"
            return ErrorCode.INVALID_CONFIG, f"Can't {verb} to key {asked.name} because its type is not LIST."
        else:
            configs[asked.name] = asked.value or ""
    if not name:
        return ErrorCode.INVALID_REQUEST, "Default group resources are not allowed."
    if len(name.encode()) > MOST_NAME_BYTES:
        return ErrorCode.INVALID_REQUEST, "the group id is too long"
    for each, value in configs.items():
        key = GROUP_KEYS.get(each)
        if key is None:
            if _WITHOUT_EFFECT.fullmatch(each):
                return ErrorCode.INVALID_CONFIG, f"{each[:80]} has no effect on this server; leave it out"
            return ErrorCode.INVALID_CONFIG, f"Unknown group config name: {each[:80]}"
        reason = key.why_invalid(value, config)
        if reason is not None:
            return ErrorCode.INVALID_CONFIG, reason
    return {each: value.strip() for each, value in configs.items()}


def values_of(configs: GroupConfigs, config: Config) -> dict[str, dict[str, int]]:
    """Return the effective values by group id. Names of later versions are left out."""
    return {
        group_id: {
            name: GROUP_KEYS[name].value(text, config)
            for name, text in own.items()
            if name in GROUP_KEYS and _INTEGER.fullmatch(text) is not None
        }
        for group_id, own in configs.items()
    }
