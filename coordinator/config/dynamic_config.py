"""Settings that may change while the node runs, and the precedence of their values.

As in Kafka's `DynamicBrokerConfig`, a value set for this node takes precedence over one set for all nodes, then over
the one given at start, then over the default. The catalogue of topics stores dynamic values (`Catalogue.node_configs`).

`Config` is frozen for all other code. The settings in `DYNAMIC` are read each time they are used, so changing a field
of the one `Config` object changes the setting; only `DynamicConfig.apply` does that. A setting is in the table if no
code copies it at start, and if no client could run a program or write a file with it (there is no authentication).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.config.config import Config, Key, keys
from coordinator.config.sources import check_together
from coordinator.config.values import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

FOR_ALL: Final = ""  # the name of the resource whose settings apply to every node
# Sources of a value, as DescribeConfigs numbers them (`DescribeConfigsResponse.ConfigSource`).
FROM_NODE: Final = 2
FROM_ALL_NODES: Final = 3
FROM_SERVER: Final = 4
FROM_DEFAULT: Final = 5

DYNAMIC: Final = frozenset(
    """
    group.min.session.timeout.ms group.max.session.timeout.ms group.initial.rebalance.delay.ms group.max.size
    group.max.rebalance.history group.heartbeat.park.ms max.groups
    offsets.retention.minutes offsets.retention.check.interval.ms queued.max.request.bytes
    max.connections max.connections.per.ip connections.max.idle.ms connection.frame.timeout.ms
    connection.max.buffered.bytes
    auto.create.topics.enable num.partitions max.topics max.partitions fetch.max.bytes
    message.max.bytes log.retention.ms log.retention.bytes log.retention.check.interval.ms producer.id.expiration.ms
    compaction.interval.ms
    """.split()  # noqa: SIM905 - names, several a line
)


class Level(NamedTuple):
    """A value of a setting, and its source."""

    value: str
    source: int


class DynamicConfig:
    """The settings of one node with all their levels."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._static = {name: getattr(config, keys()[name].attribute) for name in DYNAMIC}
        self._set: Mapping[str, Mapping[str, str]] = {}

    def levels(self, key: Key) -> list[Level]:
        """Return the values given for a setting, the effective one first."""
        found = []
        if key.name in DYNAMIC:
            found = [
                Level(self._set[resource][key.name], source)
                for resource, source in ((str(self._config.node_id), FROM_NODE), (FOR_ALL, FROM_ALL_NODES))
                if key.name in self._set.get(resource, ())
            ]
        static = self._static[key.name] if key.name in DYNAMIC else getattr(self._config, key.attribute)
        if static != key.default:
            found.append(Level(text_of(static), FROM_SERVER))
        return [*found, Level(text_of(key.default), FROM_DEFAULT)]

    def set_for_all(self) -> Mapping[str, str]:
        """Return the settings that were set for all nodes."""
        return self._set.get(FOR_ALL, {})

    def why_not(self, node_configs: Mapping[str, Mapping[str, str]]) -> str | None:
        """Return the reason why these settings, each valid by itself, cannot be applied together; None if they can."""
        try:
            check_together(replace(self._config, **self._values(node_configs)))
        except ConfigError as error:
            return str(error)
        return None

    def apply(self, node_configs: Mapping[str, Mapping[str, str]]) -> str | None:
        """Apply these settings from now on. If that is not possible, apply none and return the reason."""
        try:
            values = self._values(node_configs)
            check_together(replace(self._config, **values))
        except ConfigError as error:
            if node_configs:
                self.apply({})
            return str(error)
        self._set = node_configs
        for attribute, value in values.items():
            object.__setattr__(self._config, attribute, value)
        return None

    def _values(self, node_configs: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
        """Return the effective value of every dynamic setting, by attribute of `Config`."""
        values = {keys()[name].attribute: value for name, value in self._static.items()}
        for resource in (FOR_ALL, str(self._config.node_id)):  # the one that takes precedence last
            for name, text in node_configs.get(resource, {}).items():
                if name in DYNAMIC:  # other names were set by another version of this program
                    values[keys()[name].attribute] = keys()[name].parse(text)
        return values


def text_of(value: object) -> str:
    """Return a value as it is written in a file."""
    return str(value).lower() if isinstance(value, bool) else str(value)
