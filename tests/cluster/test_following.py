"""The other nodes' side: whatever the controller's catalogue went through, who follows it ends with the same."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.config.config import Config
from coordinator.config.values import Address
from coordinator.core.cluster import Cluster
from coordinator.core.effects import Ticket
from coordinator.core.topics.catalogue import Catalogue, CatalogueError, Topic, parse_document
from coordinator.core.topics.effects import ChangeCatalogue
from coordinator.core.topics.replicate import PARTITIONS_PER_STEP
from coordinator.core.topics.tail_cache import TailBudget
from coordinator.server.api import create_partitions, create_topics, delete_topics, incremental_alter_configs
from coordinator.server.api import fetch as fetch_api
from coordinator.server.api import metadata as metadata_api
from coordinator.server.api.handler import Api
from coordinator.simulation.disk import MachineOffError
from coordinator.storage.catalogue_store import TOPIC_ID_NAME
from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.topic_logs_world import DATA, ManualTopicLogsWorld
from tests.support.topic_words import create_request, directories, read_all
from tests.support.topic_words import produce as write
from tests.support.topics_wire import batch, fetch_request, produce
from tests.support.topics_world import UNANSWERED, TopicsWorld

ADDRESSES = {number: Address(f"node-{number}", 9000 + number) for number in (1, 2)}
NAMES = ("a", "b", "c")


def cluster(number: int) -> Cluster:
    return Cluster.of(ADDRESSES, number)


class Pair:
    """A controller, and a node that takes its catalogue when the test says so."""

    def __init__(self) -> None:
        self.controller = TopicsWorld(cluster=cluster(1))
        self.controller.topics.begin({})
        self.follower = TopicsWorld(cluster=cluster(2))

    def change(self, api: Api, request: Any, version: int) -> Any:
        return self.controller.call(api, request, version)

    def create(self, name: str, partitions: int = 4) -> None:
        self.change(create_topics.API, create_request(name, partitions), 7)

    def delete(self, name: str) -> None:
        self.change(delete_topics.API, DeleteTopicsRequest(topic_names=[name]), 5)

    def grow(self, name: str, partitions: int) -> None:
        asked = CreatePartitionsTopic(name=name, count=partitions, assignments=None)
        self.change(create_partitions.API, CreatePartitionsRequest(topics=[asked]), 3)

    def assign(self, name: str, count: int) -> None:
        """Make a topic, or the partitions that it lacks, on nodes named by hand."""
        topic = self.controller.topics.catalogue.topics.get(name)
        present = 0 if topic is None else len(topic.partitions)
        brokers = [1 + index % 3 % 2 for index in range(present, count)]
        if topic is None:
            placed = [
                CreatableReplicaAssignment(partition_index=index, broker_ids=[b]) for index, b in enumerate(brokers)
            ]
            wanted = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=placed)
            self.change(create_topics.API, CreateTopicsRequest(topics=[wanted]), 7)
        else:
            more = [CreatePartitionsAssignment(broker_ids=[broker]) for broker in brokers]
            asked = CreatePartitionsTopic(name=name, count=count, assignments=more)
            self.change(create_partitions.API, CreatePartitionsRequest(topics=[asked]), 3)

    def set(self, name: str, retention_ms: int) -> None:
        config = AlterableConfig(name="retention.ms", value=str(retention_ms))
        resource = AlterConfigsResource(resource_type=2, resource_name=name, configs=[config])
        self.change(incremental_alter_configs.API, IncrementalAlterConfigsRequest(resources=[resource]), 1)

    def pass_once(self, made: dict[bytes, Topic] | None = None) -> Any:
        """Give the follower the newest document once; what it answers, if it has."""
        received = parse_document(self.controller.topics.catalogue.document())
        follower = self.follower
        ticket = Ticket()
        taken: list[Any] = []
        reply, follower.reply = follower.reply, lambda t, r: taken.append(r) if t is ticket else reply(t, r)  # type: ignore[method-assign]
        try:
            follower.execute_topics(follower.topics.replicate(received, ticket, follower.now_ms, made))
            follower.settle()
        finally:
            follower.reply = reply  # type: ignore[method-assign]
        return taken[0] if taken else UNANSWERED

    def follow(self) -> None:
        """Follow as the link does: pass by pass, until the follower has the newest catalogue."""
        for _ in range(2):
            assert self.pass_once() is ErrorCode.NONE
            if self.follower.topics.catalogue.revision == self.controller.topics.catalogue.revision:
                break
        assert seen(self.follower) == seen(self.controller)


@pytest.fixture
def pair() -> Pair:
    return Pair()


def seen(world: TopicsWorld) -> Any:
    catalogue = world.topics.catalogue
    return (
        catalogue.lineage,
        catalogue.revision,
        {
            name: (
                topic.topic_id,
                [each.leader for each in topic.partitions],
                topic.assigned,
                topic.configs,
                topic.settings,
            )
            for name, topic in catalogue.topics.items()
        },
        catalogue.user_topics,
        catalogue.user_partitions,
    )


def logs_are_those_led_here(world: TopicsWorld) -> None:
    local = {
        partition
        for topic in world.topics.catalogue.topics.values()
        for partition in topic.partitions
        if partition.leader == world.cluster.node_id
    }
    assert world.logs.keys() == local


def test_a_topic_appears_with_the_logs_of_the_partitions_that_are_here(pair: Pair) -> None:
    pair.create("a")
    pair.follow()
    assert len(pair.follower.logs) == len(pair.controller.logs) == 2
    logs_are_those_led_here(pair.follower)


def test_manual_assignments_hold_on_every_node(pair: Pair) -> None:
    pair.assign("a", 5)
    pair.follow()
    pair.assign("a", 7)
    pair.grow("a", 8)
    pair.follow()
    leaders = [each.leader for each in pair.follower.topics.catalogue.topics["a"].partitions]
    assert leaders[:7] == [1, 2, 1, 1, 2, 1, 1]
    logs_are_those_led_here(pair.follower)


def test_what_is_received_is_what_is_on_disk(pair: Pair) -> None:
    pair.create("a")
    pair.set("a", 1234)
    pair.assign("b", 3)
    pair.follow()
    stored = parse_document(pair.follower.document)
    assert stored == parse_document(pair.controller.topics.catalogue.document())


def test_the_same_catalogue_again_changes_nothing(pair: Pair) -> None:
    pair.create("a")
    pair.follow()
    pair.follower.document = ""
    pair.follow()
    assert pair.follower.document == ""


def test_what_a_deleted_topic_leaves_behind_is_taken_care_of(pair: Pair) -> None:
    pair.create("a")
    pair.follow()
    index = next(each.index for each in pair.follower.topics.catalogue.topics["a"].partitions if each.is_local)
    produce(pair.follower, topic="a", partition=index)
    waiting = pair.follower.send(fetch_api.API, fetch_request({("a", index): 1}, max_wait_ms=30_000), 11)
    assert pair.follower.answer(waiting) is UNANSWERED
    pair.delete("a")
    pair.follow()
    assert [tuple(each) for each in pair.follower.deleted] == [("a", (0, 1, 2, 3))], "offsets of all its partitions"
    (topic,) = pair.follower.answers[waiting].responses
    assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not pair.follower.logs


def test_a_topic_that_was_deleted_and_made_again_is_a_new_one_here_too(pair: Pair) -> None:
    pair.create("a")
    pair.follow()
    index = next(each.index for each in pair.follower.topics.catalogue.topics["a"].partitions if each.is_local)
    produce(pair.follower, batch(b"old"), topic="a", partition=index)
    pair.delete("a")
    pair.create("a")
    assert pair.pass_once() is ErrorCode.NONE
    assert pair.follower.topics.catalogue.revision == 1, "the new one has not come yet"
    assert "a" not in pair.follower.topics.catalogue.topics
    pair.follow()
    assert pair.follower.partition("a", index).next_offset == 0
    logs_are_those_led_here(pair.follower)


def test_a_catalogue_that_could_not_be_written_does_not_hold(pair: Pair) -> None:
    pair.create("a")
    pair.follower.fail_changes = 1
    assert pair.pass_once() is ErrorCode.KAFKA_STORAGE_ERROR
    assert not pair.follower.topics.catalogue.topics and pair.follower.topics.catalogue.revision == 0
    pair.follow()


def test_nothing_holds_before_it_is_on_disk(pair: Pair) -> None:
    pair.create("a")
    pair.follower.hold.add(ChangeCatalogue)
    assert pair.pass_once() is UNANSWERED
    assert not pair.follower.topics.partition_exists("a", 0)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.sampled_from(NAMES), st.integers(1, 5)),
        st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just(0)),
        st.tuples(st.just("grow"), st.sampled_from(NAMES), st.integers(2, 8)),
        st.tuples(st.just("assign"), st.sampled_from(NAMES), st.integers(1, 9)),
        st.tuples(st.just("set"), st.sampled_from(NAMES), st.integers(1000, 2000)),
        st.tuples(st.just("follow"), st.just(""), st.just(0)),
    ),
    max_size=25,
)


@given(STEPS)
def test_a_node_that_follows_whenever_it_can_ends_with_the_same_catalogue(steps: list[tuple[str, str, int]]) -> None:
    pair = Pair()
    for what, name, number in steps:
        if what == "follow":
            pair.follow()
        elif what == "delete":
            pair.delete(name)
        else:
            getattr(pair, what)(name, number)
    pair.follow()
    logs_are_those_led_here(pair.follower)


def test_a_topic_that_a_client_asks_for_is_wanted_from_the_controller_and_not_made_here(pair: Pair) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in ("x", "y", "not/legal")])
    answer = pair.follower.call(metadata_api.API, request, 9)
    assert [each.error_code for each in answer.topics] == [3, 3, 17]
    assert pair.follower.wanted == ["x", "y"]
    assert not pair.follower.topics.catalogue.topics
    pair.follower.wanted.clear()
    request.allow_auto_topic_creation = False
    pair.follower.call(metadata_api.API, request, 9)
    assert pair.follower.wanted == []


def test_topics_of_the_configuration_are_made_by_the_controller_alone() -> None:
    for number, expected in ((1, ["orders"]), (2, [])):
        topics = TopicsWorld(cluster=cluster(number)).topics
        is_new, partitions = topics.begin({"orders": 4})
        assert list(topics.catalogue.topics) == expected
        assert (is_new, len(partitions)) == (number == 1, 2 if number == 1 else 0)


@pytest.mark.parametrize("text", ["", "{}", '{"version": 1, "topics": [], "deleted": [], "lineage": 7, "revision": 1}'])
def test_a_damaged_document_is_refused(text: str) -> None:
    with pytest.raises(CatalogueError):
        parse_document(text)


# -- on a disk that loses power --------------------------------------------------------------------------------------


def documents() -> list[str]:
    """The controller's catalogue as it was after some of its changes; the topic `kept` is in each."""
    pair = Pair()
    found = []
    changes: tuple[tuple[Callable[..., None], ...], ...] = (
        (partial(pair.create, "kept"),),
        (partial(pair.create, "a"), partial(pair.create, "b", 3)),
        (partial(pair.delete, "a"), partial(pair.create, "a", 2), partial(pair.grow, "b", 6)),
        (partial(pair.delete, "b"), partial(pair.set, "kept", 5000)),
        (partial(pair.delete, "a"), partial(pair.create, "a", 5), partial(pair.grow, "kept", 6)),
    )
    for some in changes:
        for change in some:
            change()
        found.append(pair.controller.topics.catalogue.document())
    return found


DOCUMENTS = documents()
EMPTY = Catalogue(Config(), TailBudget(0, 0), cluster(1))
EMPTY.lineage = parse_document(DOCUMENTS[0]).lineage


def test_a_follower_makes_very_many_partitions_in_steps(pair: Pair) -> None:
    pair.create("old")
    pair.follow()
    names = [f"new-{number}" for number in range(12)]
    for name in names:
        pair.create(name, partitions=PARTITIONS_PER_STEP // 3)
    received = parse_document(pair.controller.topics.catalogue.document())
    made: dict[bytes, Topic] = {}
    steps = pair.follower.topics.make_new(received, made)
    sizes = [sum(len(topic.partitions) for topic in made.values()) for _ in steps]
    assert max(after - before for before, after in pairwise([0, *sizes])) < 2 * PARTITIONS_PER_STEP
    assert [topic.name for topic in made.values()] == names, "the old one is there"
    assert pair.pass_once(made) is ErrorCode.NONE
    assert seen(pair.follower) == seen(pair.controller)
    assert all(pair.follower.topics.catalogue.topics[topic.name] is topic for topic in made.values())


class Outcome:
    """Takes the answer to a catalogue, as the link does."""

    code: ErrorCode | None = None

    def answer(self, ticket: Ticket, code: ErrorCode) -> None:
        self.code = code


def take(world: ManualTopicLogsWorld, document: str) -> None:
    """Follow until it has this catalogue. MachineOffError, or AssertionError, when the power is cut on the way."""
    received = parse_document(document)
    catalogue = world.topics.catalogue
    for _ in range(2):
        if (catalogue.lineage, catalogue.revision) != (received.lineage, received.revision):
            outcome = Outcome()
            world.execute_topics(world.topics.replicate(received, Ticket(outcome), world.now_ms()))
            world.settle()
            assert outcome.code is ErrorCode.NONE
    assert (catalogue.lineage, catalogue.revision) == (received.lineage, received.revision)


@pytest.mark.parametrize("seed", range(60))
def test_after_a_power_cut_a_node_has_a_catalogue_that_it_was_given_and_gets_the_newest(seed: int) -> None:
    chance = random.Random(seed)
    world = ManualTopicLogsWorld(cluster=cluster(2), topic_flush_policy="sync", log_retention_ms=-1)
    take(world, DOCUMENTS[0])
    here = next(each.index for each in world.topics.catalogue.topics["kept"].partitions if each.is_local)
    assert write(world, batch(b"a promise"), topic="kept", partition=here).error_code == 0
    revisions = [parse_document(each).revision for each in DOCUMENTS]
    for position, document in enumerate(DOCUMENTS):
        world.fs.crash_after(chance.randint(0, 40))
        with contextlib.suppress(MachineOffError, AssertionError):
            take(world, document)
        if world.fs.is_off:
            world.boot(world.fs.crash(chance))
            assert world.topics.catalogue.revision in revisions[max(position - 1, 0) : position + 1]
        world.fs._crash_in = None
        take(world, document)
        assert [facts.name for facts in parse_document(document).topics] == list(world.topics.catalogue.topics)
    partitions = [each for topic in world.topics.catalogue.topics.values() for each in topic.partitions]
    assert {each.directory for each in partitions if each.is_local} <= set(directories(world))
    assert not any(each.is_offline for each in partitions)
    assert read_all(world, "kept", here) == [b"a promise"]


MOVED = {  # whether it is the first catalogue, what topic.id says, whether the records are taken over
    "the first catalogue, and nothing is said": (True, b"", True),
    "a later one, and it is the same topic": (False, b"same", True),
    "a later one, and nothing is said": (False, b"", False),
    "a later one, and it is another topic of the name": (False, b"0" * 32, False),
}


@pytest.mark.parametrize("how", MOVED)
def test_a_directory_that_was_moved_here_is_taken_over_and_any_other_is_moved_aside(how: str) -> None:
    """The cluster grew, and a person moved directories before the start."""
    is_first, note, adopts = MOVED[how]
    before = ManualTopicLogsWorld(cluster=cluster(2), topic_flush_policy="sync")
    take(before, DOCUMENTS[0])
    here = next(each for each in before.topics.catalogue.topics["kept"].partitions if each.is_local)
    about = {"topic": "kept", "partition": here.index}
    moved = batch(b"moved", producer=(5_000, 0, 0))
    assert write(before, moved, **about).error_code == 0
    before.fs.unlink(DATA / "topics.json")
    if note != b"same":
        before.fs.open(DATA / here.directory / TOPIC_ID_NAME).truncate(0)
        before.fs.open(DATA / here.directory / TOPIC_ID_NAME).pwrite(note, 0)

    after = ManualTopicLogsWorld(before.fs, cluster=cluster(2), topic_flush_policy="sync")
    if not is_first:
        take(after, EMPTY.document())
    take(after, DOCUMENTS[0])
    assert read_all(after, "kept", here.index) == ([b"moved"] if adopts else [])
    again = write(after, moved, **about)
    assert (again.error_code, again.base_offset) == (0, 0)
    assert len(read_all(after, "kept", here.index)) == 1, "its producers are known: a repeated batch is one"
    assert any(name.endswith("-stray") for name in directories(after)) != adopts
    assert after.fs.open(DATA / here.directory / TOPIC_ID_NAME).pread(99, 0).decode() == here.topic.topic_id.hex()
