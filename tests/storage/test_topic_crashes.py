"""Random workloads of the embedded topics, with power cuts and kills between any two disk operations.

A seed is a run. Every response is recorded as a promise, and after each boot the promises are compared with the state:
acknowledged topics, sizes and settings are there; deleted topics and their records do not reappear; acknowledged
records are there in order; and no producer id is assigned twice. An unanswered request may or may not have happened.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.server.api import create_partitions, create_topics, delete_topics, init_producer_id, produce
from coordinator.server.api.handler import Api
from coordinator.simulation.disk import MachineOffError
from coordinator.storage.catalogue_store import CatalogueStore, CatalogueStoreError
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.support.topic_logs_world import ManualTopicLogsWorld, Session
from tests.support.topic_words import create_request, directories, read_all
from tests.support.topics_wire import batch, produce_request, produced

NAMES = ("a", "b.c", "b-c")


@dataclass
class Promise:
    """The acknowledged state of one topic name. `partitions` is None if there is no such topic."""

    partitions: int | None = None
    acknowledged: dict[int, list[bytes]] = field(default_factory=dict)
    forbidden: set[bytes] = field(default_factory=set)  # records of deleted topics


class Life:
    def __init__(self, number: int) -> None:
        self.rng = random.Random(number)
        self.world = ManualTopicLogsWorld(topic_flush_policy="sync", log_segment_bytes=1024, log_retention_ms=-1)
        self.promises = {name: Promise() for name in NAMES}
        self.producer_ids: set[int] = set()
        self.sent = 0
        self.unanswered: dict[Session, tuple[str, str, int]] = {}

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()
            if self.world.fs.is_off or self.rng.random() < 0.03:
                self.crash()
        self.crash()

    def step(self) -> None:
        roll = self.rng.random()
        name = self.rng.choice(NAMES)
        try:
            if roll < 0.12:
                self.send("create", name, self.rng.randint(1, 3))
            elif roll < 0.18:
                self.send("delete", name, 0)
            elif roll < 0.24:
                self.send("grow", name, self.rng.randint(2, 5))
            elif roll < 0.55:
                self.send("produce", name, self.rng.randint(0, 2))
            elif roll < 0.6:
                self.send("producer id", "", 0)
            elif roll < 0.62 and self.world.fs._crash_in is None:
                self.world.fs.crash_after(self.rng.randint(0, 25))
            elif roll < 0.75:
                self.world.settle()
            else:
                self.rng.choice(
                    (self.world.loop.run_ready, self.world.worker.run, self.world.changer.step, self.world.readers.step)
                )()
        except MachineOffError:
            pass

    def send(self, kind: str, name: str, number: int) -> None:
        self.sent += 1
        value = b"%s-%d" % (name.encode(), self.sent)
        api: Api
        request: Any
        if kind == "create":
            api, request, version = create_topics.API, create_request(name, number), 7
        elif kind == "delete":
            api, request, version = delete_topics.API, DeleteTopicsRequest(topic_names=[name]), 5
        elif kind == "grow":
            asked = CreatePartitionsTopic(name=name, count=number, assignments=None)
            api, request, version = create_partitions.API, CreatePartitionsRequest(topics=[asked]), 3
        elif kind == "produce":
            api, request, version = produce.API, produce_request(batch(value), topic=name, partition=number), 9
        else:
            api, request, version = init_producer_id.API, InitProducerIdRequest(transactional_id=None), 4
        session = Session(api)
        self.unanswered[session] = (kind, name, number)

        def answered() -> None:
            # In the order of the responses, not of the requests. A machine that is off sends no responses.
            if not self.world.fs.is_off:
                del self.unanswered[session]
                self.note(session.answers[0], kind, name, number, value)

        session.on_answer = answered
        self.world.send(api, request, version, session)

    def note(self, answer: Any, kind: str, name: str, number: int, value: bytes) -> None:
        promise = self.promises.get(name, Promise())
        if kind == "producer id":
            assert answer.producer_id not in self.producer_ids, "a producer id was given twice"
            self.producer_ids.add(answer.producer_id)
        elif kind == "produce":
            result = produced(answer)
            if result.error_code == 0:
                promise.acknowledged.setdefault(number, []).append(value)
        elif kind in ("create", "grow"):
            [result] = answer.topics if kind == "create" else answer.results
            if result.error_code == 0:
                promise.partitions = number
        elif answer.responses[0].error_code == 0:
            promise.partitions = None
            for values in promise.acknowledged.values():
                promise.forbidden.update(values)
            promise.acknowledged = {}

    def crash(self) -> None:
        """Cut the power or kill the process, and start the next one."""
        unanswered: dict[str, list[tuple[str, int]]] = {name: [] for name in NAMES}
        for kind, name, number in self.unanswered.values():
            if name:
                unanswered[name].append((kind, number))
        self.unanswered = {}
        kill = not self.world.fs.is_off and self.rng.random() < 0.3
        fs = self.world.fs
        if kill:
            fs._crash_in = None
        self.world.boot(fs if kill else fs.crash(self.rng))
        for name, promise in self.promises.items():
            self.check(name, promise, unanswered[name])
        live = {
            partition.directory
            for topic in self.world.topics.catalogue.topics.values()
            for partition in topic.partitions
        }
        assert set(directories(self.world)) == live, "a directory without a topic, or a topic without its directory"

    def check(self, name: str, promise: Promise, unanswered: list[tuple[str, int]]) -> None:
        kinds = {kind for kind, _ in unanswered}
        topic = self.world.topics.catalogue.topics.get(name)
        if topic is None:
            assert promise.partitions is None or "delete" in kinds, f"topic {name} is lost"
            for values in promise.acknowledged.values():
                promise.forbidden.update(values)
            promise.acknowledged = {}
            promise.partitions = None
            return
        found = len(topic.partitions)
        if promise.partitions is None:
            assert "create" in kinds, f"deleted topic {name} is back"
        elif "delete" not in kinds:
            assert found >= promise.partitions, f"topic {name} has lost partitions"
        is_same = promise.partitions is not None and not {"delete", "create"} <= kinds
        promise.partitions = found
        for index in range(found):
            values = read_all(self.world, name, index)
            assert not promise.forbidden & {value for value in values if value}, f"deleted records of {name} are back"
            expected = promise.acknowledged.get(index, [])
            if is_same:
                assert [value for value in values if value in set(expected)] == expected, f"records of {name} are lost"
            promise.acknowledged[index] = [value for value in values if value]


@given(st.integers(0, 1 << 32))
def test_every_answered_request_survives_any_crash(number: int) -> None:
    Life(number).run(120)


def _ids_before_the_disk(self: CatalogueStore, up_to: int) -> None:
    pass


def _catalogue_without_sync(self: CatalogueStore, document: str) -> None:
    path = self.data_dir / "topics.json"
    file = self._fs.open(path, create=True)
    file.truncate(0)
    file.pwrite(document.encode(), 0)


def _forgets_deletions(self: CatalogueStore, deleted: object, live: object) -> None:
    pass


MUTANTS = {
    "ids not reserved": ("save_producer_ids", _ids_before_the_disk),
    "catalogue in place and not synced": ("save_catalogue", _catalogue_without_sync),
    "interrupted deletions forgotten": ("finish_deletions", _forgets_deletions),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_store_without_a_precaution_is_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, replacement = MUTANTS[mutant]
    monkeypatch.setattr(CatalogueStore, name, replacement)
    with pytest.raises((AssertionError, CatalogueStoreError)):
        for number in range(60):
            Life(number).run(120)
