"""Topic names: which are legal, which collide, which are internal, and the names of partition directories.

The rules are Kafka's: 1 to 249 of the characters a-z, A-Z, 0-9, dot, underscore and dash, but neither "." nor "..".
Two names that differ only in dots and underscores collide, because metric names replace one by the other.
"""

from __future__ import annotations

import re
from typing import Final

MAX_NAME_LENGTH: Final = 249
OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
EVENTS_TOPIC: Final = "__group_events"
# Their partitions go by number: the node that coordinates the groups of a number owns the partitions of that number.
COORDINATOR_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, EVENTS_TOPIC})
# Topics that clients can only read. Those of Kafka that do not exist here cannot be created as ordinary topics.
INTERNAL_TOPICS: Final = COORDINATOR_TOPICS | {"__share_group_state", "__cluster_metadata"}

DELETED_SUFFIX: Final = "-delete"
STRAY_SUFFIX: Final = "-stray"

COMPACTED_TOPICS: Final = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)  # in the order in which they are compacted

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")
_PARTITION_DIRECTORY: Final = re.compile(r"(.+)-(0|[1-9][0-9]*)")


def why_invalid(name: str) -> str | None:
    """Return the reason, for the client, why `name` is no legal topic name; None if it is."""
    if not name:
        return "a topic needs a name"
    if name in (".", ".."):
        return f"'{name}' is not a possible topic name"
    if len(name) > MAX_NAME_LENGTH:
        return f"the topic name is {len(name)} characters long, at most {MAX_NAME_LENGTH} are possible"
    if _LEGAL.fullmatch(name) is None:
        return f"the topic name {name[:80]!r} has other characters than letters, digits, '.', '_' and '-'"
    return None


def collision_key(name: str) -> str:
    """Return a key that is equal for names that collide."""
    return name.replace(".", "_")


def is_internal(name: str) -> bool:
    """Return True for an internal topic, which clients can only read."""
    return name in INTERNAL_TOPICS


def partition_directory(topic: str, partition: int) -> str:
    """Return the directory name of a partition, as in Kafka."""
    return f"{topic}-{partition}"


def parse_partition_directory(directory: str) -> tuple[str, int] | None:
    """Return topic and partition of a directory name; None for any other name."""
    match = _PARTITION_DIRECTORY.fullmatch(directory)
    return (match[1], int(match[2])) if match else None


def deleted_directory(topic: str, partition: int, topic_id: bytes, suffix: str = DELETED_SUFFIX) -> str:
    """Return the name of a directory whose files are being deleted: at most 255 bytes, as for any file."""
    tail = f".{topic_id.hex()}-{partition}{suffix}"
    return f"{topic[: 255 - len(tail)]}{tail}"
