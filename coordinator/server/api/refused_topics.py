"""The order of answers in which some topics are refused (Kafka's `OffsetCommitResponse.Builder`).

What is refused or unknown comes first, as it was asked for; then what the group coordinator answered. A topic has one
entry, even if it was named twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_UNKNOWN: Final = frozenset({int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), int(ErrorCode.UNKNOWN_TOPIC_ID)})
K = TypeVar("K", str, bytes)


def refused_first(
    asked: Iterable[Any],
    answered: Iterable[Any],
    key_of: Callable[[Any], K],
    refusal_of: Callable[[Any], int],
    partition: Callable[[int, int], Any],
) -> dict[K, list[Any]]:
    """Return the partitions of an answer by topic. `refusal_of` is the error of a topic that was asked for, or 0."""
    unknown = {
        (key_of(topic), each.partition_index): each.error_code
        for topic in answered
        for each in topic.partitions
        if each.error_code in _UNKNOWN
    }
    without_partitions = {key_of(topic) for topic in answered if not topic.partitions}
    parts = dict[K, list[Any]]()
    for topic in asked:
        key, refusal = key_of(topic), refusal_of(topic)
        indexes = [each.partition_index for each in topic.partitions]
        if refusal:
            parts.setdefault(key, []).extend(partition(index, refusal) for index in indexes)
            continue
        missing = [partition(index, unknown[key, index]) for index in indexes if (key, index) in unknown]
        if missing or key in without_partitions:
            parts.setdefault(key, []).extend(missing)
    for topic in answered:
        served = [each for each in topic.partitions if each.error_code not in _UNKNOWN]
        if served:
            parts.setdefault(key_of(topic), []).extend(served)
    return parts
