"""Topic names: which are legal, which collide, which are ours, and what a partition's directory is called.

The rules are Kafka's: 1 to 249 of the characters a-z, A-Z, 0-9, dot, underscore and dash, but neither "." nor "..".
Two names that differ only in dots and underscores collide, because metric names turn one into the other. Reasons are
returned as text for the client, None meaning that there is nothing to object to.
"""

from __future__ import annotations

import re
from typing import Final

MAX_NAME_LENGTH: Final = 249
OFFSETS_TOPIC: Final = "__consumer_offsets"
# Kafka's internal topics. Only the first exists here; nobody may create the others as ordinary topics.
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, "__transaction_state", "__share_group_state", "__cluster_metadata"})

DELETED_SUFFIX: Final = "-delete"
STRAY_SUFFIX: Final = "-stray"

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")
_PARTITION_DIRECTORY: Final = re.compile(r"(.+)-(0|[1-9][0-9]*)")


def why_invalid(name: str) -> str | None:
    """What is wrong with `name` as the name of a topic."""
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
    """Equal for names that collide."""
    return name.replace(".", "_")


def is_internal(name: str) -> bool:
    """Whether clients may only read this topic."""
    return name in INTERNAL_TOPICS


def partition_directory(topic: str, partition: int) -> str:
    """The directory of one partition, as in Kafka."""
    return f"{topic}-{partition}"


def parse_partition_directory(directory: str) -> tuple[str, int] | None:
    """Topic and partition of a directory name; None for a directory that is something else."""
    match = _PARTITION_DIRECTORY.fullmatch(directory)
    return (match[1], int(match[2])) if match else None


def deleted_directory(topic: str, partition: int, topic_id: bytes, suffix: str = DELETED_SUFFIX) -> str:
    """What the directory is renamed to before its files go: never longer than a file name may be (255 bytes)."""
    tail = f".{topic_id.hex()}-{partition}{suffix}"
    return f"{topic[: 255 - len(tail)]}{tail}"
