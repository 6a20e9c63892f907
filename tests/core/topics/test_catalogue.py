"""The document of the catalogue, topic names, and the names of partition directories."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.config.config import Config
from coordinator.core.cluster import Cluster
from coordinator.core.topics import names
from coordinator.core.topics.catalogue import Catalogue, CatalogueError, DeletedTopic, TopicFacts, parse_document
from coordinator.core.topics.tail_cache import TailBudget

LEGAL = st.text("abcXYZ019._-", min_size=1, max_size=249).filter(lambda name: name not in (".", ".."))
CONFIGS = st.dictionaries(st.sampled_from(["retention.ms", "segment.bytes"]), st.integers(1024, 1 << 30).map(str))


def catalogue() -> Catalogue:
    return Catalogue(Config(), TailBudget(0, 0), Cluster.alone(1))


@given(
    st.dictionaries(LEGAL, st.tuples(st.integers(1, 5), CONFIGS), max_size=6),
    st.lists(st.tuples(LEGAL, st.integers(1, 9)), max_size=3),
)
def test_document_holds_the_whole_catalogue(
    topics: dict[str, tuple[int, dict[str, str]]], gone: list[tuple[str, int]]
) -> None:
    written = catalogue()
    for number, (name, (partitions, configs)) in enumerate(topics.items()):
        if not names.is_internal(name):
            written.add(written.make(name, number.to_bytes(16, "big"), partitions, configs))
    written.lineage, written.revision = "c0ffee", 41
    written.deleted = {name: DeletedTopic(name, b"d" * 16, partitions) for name, partitions in gone}
    written.node_configs = {"": {"max.groups": "5"}, "1": {"group.max.size": "7"}} if gone else {}
    written.group_configs = {"g": {"consumer.session.timeout.ms": "50000"}} if gone else {}
    written.client_metrics = {"m": {"metrics": "*"}} if gone else {}
    facts, deleted, lineage, revision, *settings = parse_document(written.document())
    assert facts == [
        TopicFacts(topic.name, topic.topic_id, len(topic.partitions), topic.configs)
        for topic in written.topics.values()
    ]
    assert deleted == list(written.deleted.values())
    assert (lineage, revision) == ("c0ffee", 41)
    assert settings == [written.node_configs, written.group_configs, written.client_metrics]


def test_document_with_a_change_leaves_the_catalogue_unchanged() -> None:
    known = catalogue()
    for name in ("a", "b"):
        known.add(known.make(name, name.encode() * 16, 1, {}))
    new = known.make("c", b"c" * 16, 2, {})
    document = known.document(
        add=[new], without=[known.topics["a"]], partitions={"b": 7}, configs={"b": {"retention.ms": "1"}}
    )
    facts, deleted, *_ = parse_document(document)
    assert facts == [
        TopicFacts("b", b"b" * 16, 7, {"retention.ms": "1"}),
        TopicFacts("c", b"c" * 16, 2, {}),
    ]
    assert [row.name for row in deleted] == ["a"]
    assert set(known.topics) == {"a", "b"}
    assert len(document.splitlines()) < 12, "one line for each topic"


def test_assignments_are_in_the_document_and_raise_its_format_version() -> None:
    known = catalogue()
    known.add(known.make("a", b"a" * 16, 2, {}))
    assert '"version": 1' in known.document(), "an older server can read it"
    known.add(known.make("b", b"b" * 16, 2, {}, {0: 3, 1: 1}))
    document = known.document(partitions={"b": 3}, assigned={"b": {0: 3, 1: 1, 2: 2}})
    assert '"version": 2' in document
    assert parse_document(document).assignments() == {"b": {0: 3, 1: 1, 2: 2}}
    assert parse_document(known.document()).assignments() == {"b": {0: 3, 1: 1}}


@pytest.mark.parametrize("assigned", [{"2": 1}, {"-1": 1}, {"x": 1}, {"0": "1"}, {"0": None}, [1], 7])
def test_invalid_assignment_is_a_damaged_document(assigned: object) -> None:
    row = {"name": "a", "id": "61" * 16, "partitions": 2, "configs": {}, "assigned": assigned}
    with pytest.raises(CatalogueError, match="damaged"):
        parse_document(json.dumps({"version": 2, "topics": [row], "deleted": []}))


GOOD = catalogue().document()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        GOOD[:-4],
        GOOD.replace('"version": 1', '"version": 3'),
        json.dumps({"version": 1, "topics": [{"name": "a"}], "deleted": []}),
        json.dumps(
            {"version": 1, "topics": [{"name": "a", "id": "zz", "partitions": 1, "configs": {}}], "deleted": []}
        ),
        json.dumps(
            {"version": 1, "topics": [{"name": "a", "id": "00", "partitions": 1, "configs": {}}], "deleted": []}
        ),
        json.dumps(
            {"version": 1, "topics": [{"name": "../a", "id": "00" * 16, "partitions": 1, "configs": {}}], "deleted": []}
        ),
        json.dumps(
            {"version": 1, "topics": [{"name": "a", "id": "00" * 16, "partitions": 0, "configs": {}}], "deleted": []}
        ),
        json.dumps(
            {
                "version": 1,
                "topics": [{"name": "a", "id": "00" * 16, "partitions": 1, "configs": {}}] * 2,
                "deleted": [],
            }
        ),
    ],
)
def test_damaged_document_is_refused(text: str) -> None:
    with pytest.raises(CatalogueError):
        parse_document(text)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": 5},
        {"name": []},
        {"partitions": True},
        {"partitions": 10**9},
        {"configs": {"retention.ms": 5}},
        {"configs": {"retention.ms": "5x"}},
        {"configs": {"segment.bytes": "1"}},
        {"assigned": {"0": 2**31}},
    ],
    ids=str,
)
def test_entry_that_cannot_be_served_is_a_damaged_document(changes: dict[str, object]) -> None:
    row = {"name": "a", "id": "61" * 16, "partitions": 1, "configs": {}}
    good = {"version": 2, "topics": [row], "deleted": []}
    assert parse_document(json.dumps(good)).topics[0].name == "a"
    with pytest.raises(CatalogueError, match="damaged"):
        parse_document(json.dumps(good | {"topics": [row | changes]}))


def test_document_nested_too_deeply_is_damaged() -> None:
    with pytest.raises(CatalogueError, match="damaged"):
        parse_document("[" * 100_000)


def test_setting_of_a_later_version_is_kept() -> None:
    row = {"name": "a", "id": "61" * 16, "partitions": 1, "configs": {"a.later.setting": "x"}}
    (facts,) = parse_document(json.dumps({"version": 1, "topics": [row], "deleted": []})).topics
    assert facts.configs == {"a.later.setting": "x"}


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 249, "..."])
def test_legal_names(name: str) -> None:
    assert names.why_invalid(name) is None


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "a\n", "é", "x" * 250, "a\0"])
def test_illegal_names(name: str) -> None:
    assert names.why_invalid(name)


@given(LEGAL, st.integers(0, 1 << 31))
def test_directory_name_is_parsed_back(name: str, partition: int) -> None:
    assert names.parse_partition_directory(names.partition_directory(name, partition)) == (name, partition)


@given(LEGAL, st.integers(0, 1 << 31), st.binary(min_size=16, max_size=16))
def test_name_of_a_deleted_directory_fits_and_is_not_that_of_a_partition(
    name: str, partition: int, topic_id: bytes
) -> None:
    directory = names.deleted_directory(name, partition, topic_id)
    assert len(directory) <= 255
    assert directory.endswith("-delete")
    assert names.parse_partition_directory(directory) is None
    assert directory != names.deleted_directory(name, partition + 1, topic_id)


@pytest.mark.parametrize("directory", ["orders", "orders-", "orders-x", "-1", "orders-01", ".lock", "orders-1-delete"])
def test_other_directory_names_are_not_those_of_partitions(directory: str) -> None:
    assert names.parse_partition_directory(directory) is None


def test_collisions_are_found_until_the_topic_is_removed() -> None:
    known = catalogue()
    topic = known.make("a.b_c", b"1" * 16, 1, {})
    known.add(topic)
    assert known.colliding("a_b.c") == "a.b_c"
    assert known.colliding("a.b_c") is None
    assert known.colliding("a-b.c") is None
    known.remove(topic)
    assert known.colliding("a_b.c") is None
