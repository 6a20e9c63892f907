"""Long answers, encoded a piece at a time: a hundred thousand groups, all the offsets of a big group.

A message is cut at its array: what stands before it with the number of elements, the elements some hundred at a time,
what stands behind it. Each piece is taken out of what the generated encoder makes of the same message with a part of
the array, so that there is no second encoder that could disagree with the first. Arrays within elements (a group has
topics, a topic has partitions) are cut the same way. The pieces joined are what the encoder would have given at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from protocol.api_keys import ApiKey
from protocol.primitives import uvarint
from protocol.schema import changed

if TYPE_CHECKING:
    from coordinator.server.api.handler import Shape

PER_PIECE: Final = 300  # elements
Encode = Callable[[Any], bytes]


class Array(NamedTuple):
    """The array of a message or element that may be long, and how many bytes follow it besides the tag section."""

    field: str
    tail_bytes: int = 0
    is_ours: bool = False  # made for this answer alone: elements are let go of as soon as they are encoded
    of: Array | None = None  # within each of its elements

    def weigh(self, message: Any) -> int:
        """Elements, with those of the arrays within them."""
        elements = getattr(message, self.field)
        if self.of is None:
            return len(elements)
        return len(elements) + sum(map(self.of.weigh, elements))


PARTITIONS: Final = Array("partitions", is_ours=True)
TOPICS: Final = Array("topics", of=Array("partitions"))
LONG: Final[dict[int, Array]] = {
    ApiKey.PRODUCE: Array("responses", tail_bytes=4, of=Array("partition_responses")),
    ApiKey.FETCH: Array("responses", of=Array("partitions")),
    ApiKey.LIST_OFFSETS: TOPICS,
    ApiKey.METADATA: Array("topics", of=Array("partitions", tail_bytes=4)),
    ApiKey.OFFSET_COMMIT: TOPICS,
    ApiKey.FIND_COORDINATOR: Array("coordinators"),
    ApiKey.LEAVE_GROUP: Array("members"),
    ApiKey.CREATE_TOPICS: Array("topics"),
    ApiKey.DELETE_TOPICS: Array("responses"),
    ApiKey.DELETE_RECORDS: TOPICS,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: TOPICS,
    ApiKey.DESCRIBE_CONFIGS: Array("results", of=Array("configs")),
    ApiKey.CREATE_PARTITIONS: Array("results"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Array("responses"),
    ApiKey.OFFSET_DELETE: TOPICS,
    ApiKey.LIST_GROUPS: Array("groups", is_ours=True),
    ApiKey.DELETE_GROUPS: Array("results"),
    ApiKey.JOIN_GROUP: Array("members"),
    ApiKey.DESCRIBE_GROUPS: Array("groups", of=Array("members", tail_bytes=4)),
    ApiKey.OFFSET_FETCH: Array("groups", of=Array("topics", tail_bytes=2, of=PARTITIONS)),
    ApiKey.DESCRIBE_LOG_DIRS: Array("results", of=Array("topics", tail_bytes=17, of=PARTITIONS)),
    ApiKey.ELECT_LEADERS: Array("replica_election_results", is_ours=True, of=Array("partition_result", is_ours=True)),
    ApiKey.LIST_CONFIG_RESOURCES: Array("config_resources", is_ours=True),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Array("topics", is_ours=True, of=Array("partitions", tail_bytes=4, is_ours=True)),
}
FIRST_WITH_SPACE: Final = 4  # of DescribeLogDirs: 16 bytes behind the topics, and one more from the next version on
BEFORE_TOPICS: Final = 4  # bytes of DescribeTopicPartitions before the topics
# Whose answers may be long although the request is short.
AMPLIFIES: Final = frozenset(
    {
        ApiKey.METADATA,
        ApiKey.OFFSET_FETCH,
        ApiKey.JOIN_GROUP,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.LIST_GROUPS,
        ApiKey.DELETE_GROUPS,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.ELECT_LEADERS,
        ApiKey.LIST_CONFIG_RESOURCES,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    }
)
METADATA_WITHOUT_OPERATIONS: Final = TOPICS  # Metadata 0 to 7
FIRST_METADATA_OF_CLUSTER: Final = 8
LAST_METADATA_OF_CLUSTER: Final = 10
METADATA_OF_CLUSTER: Final = Array("topics", tail_bytes=4, of=Array("partitions", tail_bytes=4))  # 8 to 10
FIRST_WITH_OPERATIONS: Final = 3  # of DescribeGroups: four bytes behind the members
OFFSETS_OF_ONE_GROUP: Final = Array("topics", tail_bytes=2, of=PARTITIONS)  # OffsetFetch 2 to 7
FIRST_WITH_ERROR: Final = 2  # of OffsetFetch: two bytes behind the topics
FIRST_WITH_GROUPS: Final = 8


def in_pieces(
    key: int, version: int, response: Any, encode: Encode, shape: Shape | None, *, is_flexible: bool
) -> Iterator[bytes] | None:
    """What `encode` makes of the shaped response, piece by piece; None if it is short, and better encoded at once.

    Raises what `encode` raises, at the piece concerned.
    """
    array = LONG.get(key)
    if array is None or array.weigh(response) <= PER_PIECE:
        return None
    if key == ApiKey.DESCRIBE_GROUPS and version < FIRST_WITH_OPERATIONS:
        array = Array("groups", of=Array("members"))
    if key == ApiKey.DESCRIBE_LOG_DIRS and version <= FIRST_WITH_SPACE:
        tail_bytes = 16 if version == FIRST_WITH_SPACE else 0
        array = Array("results", of=Array("topics", tail_bytes=tail_bytes, of=PARTITIONS))
    if key == ApiKey.DESCRIBE_TOPIC_PARTITIONS:  # the next cursor is behind the topics
        empty = encode(changed(response, topics=[]))
        array = array._replace(tail_bytes=len(empty) - BEFORE_TOPICS - len(_count(0, is_flexible=True)) - 1)
    if key == ApiKey.METADATA and version <= LAST_METADATA_OF_CLUSTER:
        array = METADATA_OF_CLUSTER if version >= FIRST_METADATA_OF_CLUSTER else METADATA_WITHOUT_OPERATIONS
    if key == ApiKey.OFFSET_FETCH and version < FIRST_WITH_GROUPS:
        (group,) = response.groups
        if group.error_code:
            return None  # shaped differently, and about no more partitions than were asked for
        array = OFFSETS_OF_ONE_GROUP if version >= FIRST_WITH_ERROR else Array("topics", of=PARTITIONS)
        whole = response

        def encode_group(group: Any) -> bytes:
            response = changed(whole, groups=[group])
            return encode(response if shape is None else shape(response, version))

        return _pieces(encode_group, group, array, is_flexible=is_flexible)
    if shape is not None:
        response = shape(response, version)
    return _pieces(encode, response, array, is_flexible=is_flexible)


def _pieces(encode: Encode, message: Any, array: Array, *, is_flexible: bool) -> Iterator[bytes]:
    elements = getattr(message, array.field)
    tail_bytes = array.tail_bytes + is_flexible
    empty = encode(changed(message, **{array.field: []}))
    head_bytes = len(empty) - tail_bytes - len(_count(0, is_flexible=is_flexible))

    def encode_elements(some: list[Any]) -> bytes:
        data = encode(changed(message, **{array.field: some}))
        return data[head_bytes + len(_count(len(some), is_flexible=is_flexible)) : len(data) - tail_bytes]

    yield empty[:head_bytes] + _count(len(elements), is_flexible=is_flexible)
    some: list[Any] = []
    weight = 0
    done = 0
    for element in elements:
        inner = 0 if array.of is None else array.of.weigh(element)
        if array.of is not None and inner > PER_PIECE:
            if some:
                yield encode_elements(some)
                done = _let_go(array, elements, done, len(some))
                some, weight = [], 0
            yield from _pieces(lambda one: encode_elements([one]), element, array.of, is_flexible=is_flexible)
            done = _let_go(array, elements, done, 1)
            continue
        some.append(element)
        weight += 1 + inner
        if weight >= PER_PIECE:
            yield encode_elements(some)
            done = _let_go(array, elements, done, len(some))
            some, weight = [], 0
    if some:
        yield encode_elements(some)
    yield empty[len(empty) - tail_bytes :]


def _let_go(array: Array, elements: list[Any], done: int, count: int) -> int:
    """These are encoded: a hundred thousand objects freed at once, at the end, would be a stall of their own."""
    if array.is_ours:
        elements[done : done + count] = [None] * count
    return done + count


def _count(elements: int, *, is_flexible: bool) -> bytes:
    return uvarint(elements + 1) if is_flexible else elements.to_bytes(4, "big")
