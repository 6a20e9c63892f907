"""Strings that fit into flexible requests but not into records of the log are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coordinator.config.config import Config
from coordinator.core.group.checks import MAX_STRING_BYTES, fits
from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster
from tests.support.scripted_member import Member

TOO_LONG = "x" * (MAX_STRING_BYTES + 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x" * 32_767, True),
        ("x" * 32_768, False),
        ("\N{LATIN SMALL LETTER I WITH DIAERESIS}" * 16_383, True),
        ("\N{LATIN SMALL LETTER I WITH DIAERESIS}" * 16_384, False),
        ("\N{GRINNING FACE}" * 8_191, True),
        ("\N{GRINNING FACE}" * 8_192, False),
    ],
)
def test_string_fits_a_record_by_its_bytes_in_utf_8(text: str, expected: bool) -> None:
    assert fits(text) is expected


@pytest.mark.parametrize(
    "said",
    [
        {"protocol_type": TOO_LONG},
        {"protocols": [("range", b""), (TOO_LONG, b"")]},
        {"instance_id": TOO_LONG},
    ],
)
def test_join_with_strings_too_long_for_a_record_is_an_invalid_request(
    cluster: Cluster, said: dict[str, object]
) -> None:
    """A record with it would fail for all members at the leader's SyncGroup, and break the partition."""
    (a,) = cluster.stable_group(members=1)
    call = cluster.join("g", **said)  # type: ignore[arg-type]
    assert call.error is ErrorCode.INVALID_REQUEST
    assert a.heartbeat().error is ErrorCode.NONE
    assert cluster.join("new", **said).error is ErrorCode.INVALID_REQUEST  # type: ignore[arg-type]
    assert cluster.state("new") == "none"


def test_group_with_the_longest_names_can_be_stored_and_loaded(cluster: Cluster) -> None:
    member = cluster.member(
        instance_id="i" * MAX_STRING_BYTES,
        client_id="c" * cluster.config.client_id_max_chars,
        protocol_type="t" * MAX_STRING_BYTES,
        protocols=[("p" * MAX_STRING_BYTES, b"")],
    )
    member.join()
    cluster.settle([member])
    cluster.crash_and_recover()
    assert member.heartbeat().error is ErrorCode.NONE


def test_group_id_too_long_for_a_record_is_invalid_in_every_request(cluster: Cluster) -> None:
    assert cluster.join(TOO_LONG).error is ErrorCode.INVALID_GROUP_ID
    assert cluster.sync(TOO_LONG, "m", 1).error is ErrorCode.INVALID_GROUP_ID
    assert cluster.heartbeat(TOO_LONG, "m", 1).error is ErrorCode.INVALID_GROUP_ID
    assert cluster.leave(TOO_LONG, "m").error is ErrorCode.INVALID_GROUP_ID
    (topic,) = cluster.commit(TOO_LONG, {("t", 0): 1}).answer.topics
    assert topic.partitions[0].error_code == ErrorCode.INVALID_GROUP_ID
    for stable in (False, True):
        (fetched,) = cluster.fetch(TOO_LONG, require_stable=stable).answer.groups
        assert fetched.error_code == ErrorCode.INVALID_GROUP_ID
    (deleted,) = cluster.delete_groups(TOO_LONG).answer.results
    assert deleted.error_code == ErrorCode.INVALID_GROUP_ID
    assert cluster.describe(TOO_LONG).error_code == ErrorCode.INVALID_GROUP_ID
    assert not cluster.core.groups


def test_topic_or_metadata_too_long_for_a_record_is_refused_for_its_partition_only() -> None:
    config = Config()
    cluster = Cluster(replace(config, offsets_commit_topic_check=False, offset_metadata_max_bytes=100_000))
    call = cluster.commit(
        "g",
        {("t", 0): 1, ("t", 1): 2, (TOO_LONG, 0): 3},
        metadata={("t", 0): "", ("t", 1): TOO_LONG, (TOO_LONG, 0): ""},
    )
    errors = {(t.name, p.partition_index): p.error_code for t in call.answer.topics for p in t.partitions}
    assert errors == {
        ("t", 0): ErrorCode.NONE,
        ("t", 1): ErrorCode.OFFSET_METADATA_TOO_LARGE,
        (TOO_LONG, 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert cluster.committed("g") == {("t", 0): 1}


def test_retention_beyond_the_largest_timestamp_keeps_the_offset(cluster: Cluster) -> None:
    call = cluster.commit("g", {("t", 0): 1}, retention_ms=2**63 - 1, version=4)
    assert call.answer.topics[0].partitions[0].error_code == ErrorCode.NONE
    cluster.advance("20d")
    assert cluster.committed("g") == {("t", 0): 1}
    cluster.crash_and_recover()
    assert cluster.committed("g") == {("t", 0): 1}


@pytest.mark.parametrize("length", [0, 1, 255, 256, MAX_STRING_BYTES])
@pytest.mark.parametrize("is_static", [False, True])
def test_member_id_starts_with_at_most_255_characters_of_the_client_id(
    cluster: Cluster, length: int, is_static: bool
) -> None:
    """Kafka uses the whole client id, of any length."""
    name = "\N{GRINNING FACE}" * (length // 4) + "n" * (length % 4) if length > 255 else "n" * length
    member = joined_as(cluster, name, is_static=is_static)
    prefix, uuid = member.member_id[:-37], member.member_id[-37:]
    assert prefix == name[:255]
    assert uuid.startswith("-00000000-0000-4000-8000-")


@pytest.mark.parametrize("is_static", [False, True])
def test_member_id_has_as_many_characters_of_the_client_id_as_allowed_and_one_more_is_cut(is_static: bool) -> None:
    cluster = Cluster(Config(client_id_max_chars=10))
    for length in (10, 11):
        member = joined_as(cluster, "n" * length, is_static=is_static)
        assert member.member_id[:-37] == "n" * 10


def joined_as(cluster: Cluster, name: str, *, is_static: bool) -> Member:
    member = cluster.member(instance_id=name) if is_static else cluster.member(client_id=name)
    member.join()
    if is_static:
        cluster.settle([member])
    return member
