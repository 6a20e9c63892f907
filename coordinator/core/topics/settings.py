"""The settings of topics under Kafka's names: which exist, which values are valid, and which have an effect here.

A topic stores the settings that were given for it; `TopicSettings` combines them with the server's configuration.
Settings with effect LIVE can be changed at any time. NONE ones concern mechanisms that do not exist here (replication,
index sizes, cleaner threads): they are stored and shown, so that tools which set them work, and have no effect. A
setting that would change what a client sees, and is not supported, is refused: `only` lists its supported values.

The server does not compact topics, so `cleanup.policy=compact` means that nothing is deleted: a reader of a compacted
topic may always find more than the newest record of a key. An empty `cleanup.policy` means the same in Kafka.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from coordinator.config.config import Config

INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1
EVENTS_SEGMENT_BYTES: Final = 4 << 20
EVENTS_SEGMENT_LEAST: Final = 16 << 10
EVENTS_SEGMENT_MS: Final = 86_400_000

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}")


class ConfigType(enum.IntEnum):
    """The types of settings, by their numbers on the wire."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Effect(enum.Enum):
    """The effect of a setting of a topic."""

    LIVE = "takes effect at once"
    NONE = "kept, without effect here"


class TopicKey(NamedTuple):
    """One setting. `server_key` is the broker's setting that a topic inherits it from."""

    name: str
    type: ConfigType
    default: str
    help: str
    effect: Effect = Effect.NONE
    server_key: str = ""
    attribute: str = ""  # attribute of `Config`, if the server's setting can be configured
    minimum: int = 0
    only: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()

    def why_invalid(self, value: str) -> str | None:
        """Return the reason, for the client, why `value` is invalid; None if it is valid."""
        text = value.strip()
        if self.only and text not in self.only:
            return f"{self.name}={value} is not supported by this server, only {' or '.join(self.only)}"
        if self.type is ConfigType.BOOLEAN:
            if text.lower() not in ("true", "false"):
                return f"{self.name} must be true or false, not {value!r}"
        elif self.type in (ConfigType.INT, ConfigType.LONG):
            return self._why_not_whole(text)
        elif self.type is ConfigType.DOUBLE:
            try:
                number = float(text)
            except ValueError:
                number = -1.0
            if not 0 <= number <= 1:
                return f"{self.name} must be a number from 0 to 1, not {value!r}"
        elif self.choices:
            entries = _parts(text) if self.type is ConfigType.LIST else [text]
            if any(entry not in self.choices for entry in entries):
                return f"{self.name} knows {', '.join(self.choices)}, not {value[:80]!r}"
        return None

    def normal(self, value: str) -> str:
        """Return a valid value as Kafka's ConfigDef.parseType does: trimmed, each entry of a list once."""
        if self.type is ConfigType.LIST:
            return ",".join(dict.fromkeys(_parts(value.strip())))
        return value.strip().lower() if self.type is ConfigType.BOOLEAN else value.strip()

    def _why_not_whole(self, text: str) -> str | None:
        ceiling = INT32_MAX if self.type is ConfigType.INT else INT64_MAX
        if _INTEGER.fullmatch(text) is None:
            return f"{self.name} must be a whole number, not {text[:40]!r}"
        number = int(text)
        if not self.minimum <= number <= ceiling:
            return f"{self.name} must be from {self.minimum} to {ceiling}, not {text[:40]}"
        return None


def _parts(text: str) -> list[str]:
    """Split a list at its commas: an empty text has no parts, "a,," has three."""
    return [part.strip() for part in text.split(",")] if text else []


def split_list(value: str) -> list[str]:
    """Return the entries of a setting of type LIST."""
    return [entry for entry in _parts(value) if entry]


_B, _S, _I, _L = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG

_TABLE: Final = (
    TopicKey(
        "cleanup.policy",
        ConfigType.LIST,
        "delete",
        "delete: old segments go by retention.ms and retention.bytes. compact, or empty: nothing is ever deleted here.",
        Effect.LIVE,
        "log.cleanup.policy",
        choices=("delete", "compact"),
    ),
    TopicKey(
        "retention.ms",
        _L,
        "604800000",
        "How long records are kept, in whole segments; -1 is for ever.",
        Effect.LIVE,
        "log.retention.ms",
        "log_retention_ms",
        minimum=-1,
    ),
    TopicKey(
        "retention.bytes",
        _L,
        "-1",
        "How many bytes each partition keeps, in whole segments; -1 is no limit.",
        Effect.LIVE,
        "log.retention.bytes",
        "log_retention_bytes",
        minimum=-1,
    ),
    TopicKey(
        "max.message.bytes",
        _I,
        "1048588",
        "The largest record batch a producer may send.",
        Effect.LIVE,
        "message.max.bytes",
        "message_max_bytes",
    ),
    TopicKey(
        "segment.bytes",
        _I,
        "104857600",
        "When a segment is full; looked at when records are appended.",
        Effect.LIVE,
        "log.segment.bytes",
        "log_segment_bytes",
        minimum=1024,
    ),
    TopicKey(
        "segment.ms",
        _L,
        "604800000",
        "The age at which a segment is closed even if it is not full; looked at when records are appended.",
        Effect.LIVE,
        "log.roll.ms",
        "log_roll_ms",
        minimum=1,
    ),
    TopicKey(
        "message.timestamp.type",
        _S,
        "CreateTime",
        "CreateTime: records keep the timestamp of their producer. LogAppendTime: they get the time of the append.",
        Effect.LIVE,
        "log.message.timestamp.type",
        "log_message_timestamp_type",
        choices=("CreateTime", "LogAppendTime"),
    ),
    TopicKey("remote.storage.enable", _B, "false", "There is no second tier of storage.", only=("false",)),
    TopicKey(
        "compression.type",
        _S,
        "producer",
        "Batches are stored as the producer compressed them.",
        server_key="compression.type",
        choices=("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
    ),
    TopicKey(
        "min.insync.replicas",
        _I,
        "1",
        "Each partition has one replica, which is always in sync.",
        server_key="min.insync.replicas",
        minimum=1,
    ),
    TopicKey(
        "delete.retention.ms", _L, "86400000", "Concerns compaction.", server_key="log.cleaner.delete.retention.ms"
    ),
    TopicKey(
        "min.cleanable.dirty.ratio",
        ConfigType.DOUBLE,
        "0.5",
        "Concerns compaction.",
        server_key="log.cleaner.min.cleanable.ratio",
    ),
    TopicKey("min.compaction.lag.ms", _L, "0", "Concerns compaction.", server_key="log.cleaner.min.compaction.lag.ms"),
    TopicKey(
        "max.compaction.lag.ms",
        _L,
        str(INT64_MAX),
        "Concerns compaction.",
        server_key="log.cleaner.max.compaction.lag.ms",
        minimum=1,
    ),
    TopicKey(
        "file.delete.delay.ms", _L, "60000", "Removed files go at once.", server_key="log.segment.delete.delay.ms"
    ),
    TopicKey(
        "flush.messages",
        _L,
        str(INT64_MAX),
        "The server's topic.flush.policy decides.",
        server_key="log.flush.interval.messages",
        minimum=1,
    ),
    TopicKey(
        "flush.ms", _L, str(INT64_MAX), "The server's topic.flush.policy decides.", server_key="log.flush.interval.ms"
    ),
    TopicKey(
        "index.interval.bytes",
        _I,
        "4096",
        "The server's log.index.interval.bytes decides.",
        server_key="log.index.interval.bytes",
    ),
    TopicKey(
        "segment.index.bytes",
        _I,
        "10485760",
        "Index files grow as needed.",
        server_key="log.index.size.max.bytes",
        minimum=4,
    ),
    TopicKey("segment.jitter.ms", _L, "0", "Segments are closed at their age.", server_key="log.roll.jitter.ms"),
    TopicKey("preallocate", _B, "false", "Files grow as needed.", server_key="log.preallocate"),
    TopicKey(
        "unclean.leader.election.enable",
        _B,
        "false",
        "There is one replica and no election.",
        server_key="unclean.leader.election.enable",
    ),
    TopicKey(
        "message.timestamp.before.max.ms",
        _L,
        str(INT64_MAX),
        "Timestamps are not checked.",
        server_key="log.message.timestamp.before.max.ms",
    ),
    TopicKey(
        "message.timestamp.after.max.ms",
        _L,
        "3600000",
        "Timestamps are not checked.",
        server_key="log.message.timestamp.after.max.ms",
    ),
    TopicKey("local.retention.ms", _L, "-2", "There is no second tier of storage.", minimum=-2),
    TopicKey("local.retention.bytes", _L, "-2", "There is no second tier of storage.", minimum=-2),
    TopicKey("leader.replication.throttled.replicas", ConfigType.LIST, "", "There is no replication."),
    TopicKey("follower.replication.throttled.replicas", ConfigType.LIST, "", "There is no replication."),
)
TOPIC_KEYS: Final[Mapping[str, TopicKey]] = {key.name: key for key in _TABLE}
LIVE: Final = frozenset(
    key.name for key in _TABLE if key.effect is Effect.LIVE
)  # settings that can be changed at any time


class TopicSettings(NamedTuple):
    """The effective settings of one topic."""

    retention_ms: int
    retention_bytes: int
    max_message_bytes: int
    segment_bytes: int
    segment_ms: int
    deletes: bool  # cleanup.policy contains delete
    compacts: bool  # cleanup.policy contains compact; with neither, all records are kept for ever (KIP-1161)
    has_append_time: bool  # message.timestamp.type is LogAppendTime


def server_value(key: TopicKey, config: Config) -> str:
    """Return the value of `key` for a topic that does not set it."""
    return str(getattr(config, key.attribute)) if key.attribute else key.default


def settings_of(configs: Mapping[str, str], config: Config) -> TopicSettings:
    """Return the effective settings from those of a topic and of the server."""

    def value_of(name: str) -> str:
        value = configs.get(name)
        return value if value is not None else server_value(TOPIC_KEYS[name], config)

    def number(name: str) -> int:
        return int(value_of(name))

    policy = split_list(configs.get("cleanup.policy", "delete"))
    return TopicSettings(
        retention_ms=number("retention.ms"),
        retention_bytes=number("retention.bytes"),
        max_message_bytes=number("max.message.bytes"),
        segment_bytes=number("segment.bytes"),
        segment_ms=number("segment.ms"),
        deletes="delete" in policy,
        compacts="compact" in policy,
        has_append_time=value_of("message.timestamp.type") == "LogAppendTime",
    )


def events_configs(config: Config) -> dict[str, str]:
    """Return the settings of the topic of events, with segments so small that retention finds old ones to drop."""
    retention_ms, retention_bytes = config.group_events_retention_ms, config.group_events_retention_bytes
    segment_bytes = EVENTS_SEGMENT_BYTES if retention_bytes < 0 else min(EVENTS_SEGMENT_BYTES, retention_bytes // 4)
    segment_ms = EVENTS_SEGMENT_MS if retention_ms < 0 else min(EVENTS_SEGMENT_MS, retention_ms // 4)
    return {
        "cleanup.policy": "delete",
        "retention.ms": str(retention_ms),
        "retention.bytes": str(retention_bytes),
        "segment.bytes": str(max(segment_bytes, EVENTS_SEGMENT_LEAST)),
        "segment.ms": str(max(segment_ms, 1)),
    }


def why_invalid(name: str, value: str | None) -> str | None:
    """Return the reason, for the client, why a setting of a topic is invalid; None if it is valid."""
    key = TOPIC_KEYS.get(name)
    if key is None:
        return f"there is no topic setting {name[:80]!r}"
    if value is None:
        return f"{name} needs a value"
    return key.why_invalid(value)


def normal(name: str, value: str) -> str:
    """Return a valid value of a setting of a topic in the form in which it is stored."""
    return TOPIC_KEYS[name].normal(value)
