"""A long answer encoded in pieces is, byte for byte, what the encoder gives at once, in every version."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.server.api.chunked_responses import BYTES_PER_ELEMENT, PER_PIECE, in_pieces
from coordinator.server.api.table import HANDLERS
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsResponse
from protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from protocol.messages.elect_leaders import ElectLeadersResponse, PartitionResult, ReplicaElectionResult
from protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from protocol.messages.list_config_resources import ConfigResource, ListConfigResourcesResponse
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.support.largest_requests import Shape, largest

LONG = {ApiKey(key): api.chunked[-1][1] for key, api in HANDLERS.items() if api.chunked}  # in the newest version
MANY = PER_PIECE * 3 + 17


def listed(count: int) -> ListGroupsResponse:
    return ListGroupsResponse(groups=[ListedGroup(f"group-{n}", "consumer", "Stable", "classic") for n in range(count)])


def joined(count: int) -> JoinGroupResponse:
    members = [JoinGroupResponseMember(f"member-{n}", None if n % 2 else "i", b"m" * (n % 300)) for n in range(count)]
    return JoinGroupResponse(0, 0, 5, "consumer", "range", "member-0", False, "member-0", members)


def deleted(count: int) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[DeletableGroupResult(f"g{n}", n % 2) for n in range(count)])


def described(*members: int) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[
            DescribedGroup(
                0, None, f"group-{n}", "Stable", "consumer", "range",
                [DescribedGroupMember(f"m{i}", None, "client", "/h", b"data", b"a" * 9) for i in range(count)],
                77,
            )
            for n, count in enumerate(members)
        ]
    )  # fmt: skip


def fetched(*groups: tuple[int, ...], error: int = 0) -> OffsetFetchResponse:
    """Each group is given as the number of partitions in each of its topics."""
    return OffsetFetchResponse(
        groups=[
            OffsetFetchResponseGroup(
                f"group-{g}",
                [
                    OffsetFetchResponseTopics(
                        name=f"topic-{t}",
                        partitions=[OffsetFetchResponsePartitions(p, p * 7, 3, "x" * (p % 5), 0) for p in range(count)],
                    )
                    for t, count in enumerate(topics)
                ],
                error,
            )
            for g, topics in enumerate(groups)
        ]
    )


def log_dirs(*topics: int) -> DescribeLogDirsResponse:
    """Each topic is given as the number of its partitions."""
    described = [
        DescribeLogDirsTopic(f"topic-{t}", [DescribeLogDirsPartition(p, p * 1000, 0, False) for p in range(count)])
        for t, count in enumerate(topics)
    ]
    return DescribeLogDirsResponse(results=[DescribeLogDirsResult(0, "/data", described, 1 << 40, 1 << 39, False)])


def elected(*topics: int) -> ElectLeadersResponse:
    results = [
        ReplicaElectionResult(f"topic-{t}", [PartitionResult(p, 84, "not needed") for p in range(count)])
        for t, count in enumerate(topics)
    ]
    return ElectLeadersResponse(replica_election_results=results)


def reassigned(*topics: int) -> AlterPartitionReassignmentsResponse:
    results = [
        ReassignableTopicResponse(
            f"topic-{t}", [ReassignablePartitionResponse(p, 39, "no such node") for p in range(count)]
        )
        for t, count in enumerate(topics)
    ]
    return AlterPartitionReassignmentsResponse(responses=results)


def topic_page(*topics: int, cursor: str | None = None) -> DescribeTopicPartitionsResponse:
    described = [
        DescribeTopicPartitionsResponseTopic(
            0, f"topic-{t}", b"i" * 16, False,
            [DescribeTopicPartitionsResponsePartition(0, p, 1, 0, [1], [1], [], [], []) for p in range(count)],
            3576,
        )
        for t, count in enumerate(topics)
    ]  # fmt: skip
    following = None if cursor is None else Cursor(cursor, 7)
    return DescribeTopicPartitionsResponse(topics=described, next_cursor=following)


def resources(count: int) -> ListConfigResourcesResponse:
    return ListConfigResourcesResponse(config_resources=[ConfigResource(f"topic-{n}", 2) for n in range(count)])


ANSWERS = [
    (ApiKey.LIST_GROUPS, lambda: listed(MANY)),
    (ApiKey.LIST_GROUPS, lambda: listed(20_000)),  # whose number takes three bytes as a varint
    (ApiKey.JOIN_GROUP, lambda: joined(MANY)),
    (ApiKey.DELETE_GROUPS, lambda: deleted(MANY)),
    (ApiKey.DESCRIBE_GROUPS, lambda: described(*([0] * MANY))),
    (ApiKey.DESCRIBE_GROUPS, lambda: described(3, MANY, 0, 5)),
    (ApiKey.OFFSET_FETCH, lambda: fetched((MANY,))),
    (ApiKey.OFFSET_FETCH, lambda: fetched((1,) * MANY)),
    (ApiKey.OFFSET_FETCH, lambda: fetched((2, PER_PIECE + 1, 3, 200, 200, 0))),
    (ApiKey.DESCRIBE_LOG_DIRS, lambda: log_dirs(2, MANY, 0, 200, 200)),
    (ApiKey.DESCRIBE_LOG_DIRS, lambda: log_dirs(*([1] * MANY))),
    (ApiKey.ELECT_LEADERS, lambda: elected(2, MANY, 0, 200, 200)),
    (ApiKey.ELECT_LEADERS, lambda: elected(*([0] * MANY))),
    (ApiKey.ALTER_PARTITION_REASSIGNMENTS, lambda: reassigned(2, MANY, 0, 200, 200)),
    (ApiKey.DESCRIBE_TOPIC_PARTITIONS, lambda: topic_page(2, MANY, 0, 200, 200)),
    (ApiKey.DESCRIBE_TOPIC_PARTITIONS, lambda: topic_page(*([1] * MANY), cursor="t" * 200)),
    (ApiKey.LIST_CONFIG_RESOURCES, lambda: resources(MANY)),
]
CUT_AT_THEIR_ARRAYS = [
    (key, version, is_spread)
    for key, array in LONG.items()
    if key not in {made_for for made_for, _ in ANSWERS} and key != ApiKey.FIND_COORDINATOR
    for version in range(HANDLERS[int(key)].min_version, HANDLERS[int(key)].max_version + 1)
    for is_spread in ((False, True) if array.of is not None else (False,))
    if (key, version) not in {(ApiKey.LEAVE_GROUP, each) for each in range(3)}  # which have no members
]


def parts_of(key: ApiKey, version: int, response: Any) -> list[bytes] | None:
    pieces = in_pieces(
        HANDLERS[int(key)].array_of(version),
        version,
        response,
        codec.response_encoder(int(key), version),
        HANDLERS[int(key)].shape,
        is_flexible=codec.is_flexible(int(key), version),
    )
    return None if pieces is None else list(pieces)


def at_once(key: ApiKey, version: int, response: Any) -> bytes:
    shape = HANDLERS[int(key)].shape
    return codec.encode_response(response if shape is None else shape(response, version), version)


@pytest.mark.parametrize(
    ("key", "version", "make"),
    [
        pytest.param(key, version, make, id=f"{key.name}-{number}-v{version}")
        for number, (key, make) in enumerate(ANSWERS)
        for version in range(HANDLERS[int(key)].min_version, HANDLERS[int(key)].max_version + 1)
    ],
)
def test_the_pieces_are_the_answer_and_none_is_long(key: ApiKey, version: int, make: Any) -> None:
    whole = at_once(key, version, make())
    parts = parts_of(key, version, make())
    assert parts is not None
    assert b"".join(parts) == whole
    assert len(parts) >= LONG[key].weigh(make()) / (3 * PER_PIECE), "each holds a few hundred elements at most"


@pytest.mark.parametrize("version", range(10))
def test_the_metadata_of_few_members_is_cut_by_its_bytes(version: int) -> None:
    """Twenty members may bring a megabyte each: encoded at once and framed, they held the loop for 25 ms."""
    size = PER_PIECE * BYTES_PER_ELEMENT
    members = [JoinGroupResponseMember(member_id=f"m{number}", metadata=bytes(size)) for number in range(5)]

    def make() -> JoinGroupResponse:
        return JoinGroupResponse(protocol_name="range", leader="m0", member_id="m0", members=members)

    parts = parts_of(ApiKey.JOIN_GROUP, version, make())
    assert parts is not None
    assert b"".join(parts) == at_once(ApiKey.JOIN_GROUP, version, make())
    assert max(map(len, parts)) < 1.1 * size


@pytest.mark.parametrize("version", [8, 9])
def test_several_groups_in_one_fetch_are_cut_where_they_are_long(version: int) -> None:
    whole = at_once(ApiKey.OFFSET_FETCH, version, fetched((3, 4), (MANY, 1), (1,)))
    parts = parts_of(ApiKey.OFFSET_FETCH, version, fetched((3, 4), (MANY, 1), (1,)))
    assert parts is not None
    assert b"".join(parts) == whole


@pytest.mark.parametrize("version", range(1, 10))
def test_a_refused_fetch_of_many_partitions_is_what_it_is_in_one_piece(version: int) -> None:
    parts = parts_of(ApiKey.OFFSET_FETCH, version, fetched((MANY,), error=16))
    whole = at_once(ApiKey.OFFSET_FETCH, version, fetched((MANY,), error=16))
    assert parts is None or b"".join(parts) == whole


def test_a_short_answer_is_encoded_at_once() -> None:
    assert parts_of(ApiKey.LIST_GROUPS, 5, listed(PER_PIECE)) is None
    assert parts_of(ApiKey.HEARTBEAT, 4, object()) is None


@pytest.mark.parametrize(("key", "version", "is_spread"), CUT_AT_THEIR_ARRAYS)
def test_an_answer_made_from_its_declaration_is_the_same_in_pieces(key: ApiKey, version: int, is_spread: bool) -> None:
    array = LONG[key]
    path = (array.field,) if array.of is None else (array.field, array.of.field)
    shape = Shape(ApiKey(key), version, path, is_spread)

    def make() -> Any:
        return largest(shape, 2 * MANY, {"records": lambda place: b"r" * (place % 9)}, is_answer=True)

    parts = parts_of(key, version, make())
    assert parts is not None
    assert b"".join(parts) == at_once(key, version, make())
    assert len(parts) >= array.weigh(make()) / (3 * PER_PIECE)


def test_coordinators_of_many_keys_are_the_same_in_pieces() -> None:
    for version in (4, 5, 6):
        shape = Shape(ApiKey.FIND_COORDINATOR, version, ("coordinators",))
        parts = parts_of(ApiKey.FIND_COORDINATOR, version, largest(shape, MANY, is_answer=True))
        assert parts is not None
        assert b"".join(parts) == at_once(ApiKey.FIND_COORDINATOR, version, largest(shape, MANY, is_answer=True))
