"""The server's view of an application: accepted commits, fetched records, members, generations.

A `Watch` is a layer of the table of routes (`Routes.add_layer`). It notes; it changes nothing.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.server.session_wrapper import SessionWrapper
from protocol.api_keys import ApiKey
from protocol.consumer import decode_assignment
from protocol.errors import ProtocolError
from protocol.record_batch import iter_batches

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.handler import Handle
    from coordinator.server.runtime import Runtime

TopicPartition = tuple[str, int]

WATCHED: Final = frozenset({ApiKey.OFFSET_COMMIT, ApiKey.FETCH, ApiKey.HEARTBEAT})


@dataclass(frozen=True, slots=True)
class Commit:
    """An accepted commit of one partition."""

    at_s: float  # monotonic clock
    client: str
    member_id: str
    generation: int
    partition: TopicPartition
    offset: int
    before: int  # the committed offset before it; -1: there was none
    is_owner: bool  # no other member had the partition in that generation


class SentRecords(NamedTuple):
    """Records of one partition that a client was sent in one answer."""

    first: int  # offset
    last: int
    client: str
    at_s: float  # monotonic clock


class Watch:
    """The notes on one group of one server."""

    def __init__(self, runtime: Runtime, group: str) -> None:
        self._runtime = runtime
        self._group = group
        self.commits: list[Commit] = []
        self.committed: dict[TopicPartition, int] = {}
        self.sent: dict[TopicPartition, list[SentRecords]] = defaultdict(list)
        self.heartbeats_s: dict[str, float] = {}  # when the last one of a client came; monotonic clock
        self.floor: dict[TopicPartition, int] = {}  # the committed offsets before the first step
        self.read_again: list[tuple[str, TopicPartition, int]] = []  # client, partition, offset below its floor
        self.last_progress_s = time.monotonic()
        self.longest_standstill_s = 0.0  # between two commits that went further
        runtime.routes.add_layer(self.see, WATCHED)

    def attach(self, runtime: Runtime) -> None:
        """Go on with this run of the server, if it is another one."""
        if runtime is not self._runtime:
            self._runtime = runtime
            runtime.routes.add_layer(self.see, WATCHED)

    def see(self, handle: Handle, node: Any, request: Any, ticket: Ticket, now_ms: int) -> None:
        """Have a request handled and note what its answer promises."""
        if ticket.api_key == ApiKey.HEARTBEAT:
            self.heartbeats_s[ticket.client_id] = time.monotonic()
            handle(node, request, ticket, now_ms)
            return
        note = self._commit_answered if ticket.api_key == ApiKey.OFFSET_COMMIT else self._fetch_answered
        if ticket.api_key != ApiKey.OFFSET_COMMIT or request.group_id == self._group:
            ticket.session = NotingSession(ticket.session, note, request, ticket.client_id)
        handle(node, request, ticket, now_ms)

    def look(self) -> None:
        """Note the committed offsets as they are now. With transactions no answer says that they are committed."""
        core, now_s = self._runtime.core, time.monotonic()
        offsets = core.partition(core.partition_for(self._group)).offsets
        for topic, partitions in offsets.of_group(self._group).items():
            for number, found in partitions.items():
                where, before = (topic, number), self.committed.get((topic, number), -1)
                if found.offset > before:
                    self.progressed(now_s)
                elif found.offset < before:
                    self.commits.append(Commit(now_s, "a transaction", "", -1, where, found.offset, before, True))
                self.committed[where] = found.offset

    def begin(self) -> None:
        """Note that the first step comes: earlier commits are not judged, and none reads below what is committed."""
        self.floor = dict(self.committed)
        self.commits.clear()
        self.last_progress_s = time.monotonic()

    @property
    def generation(self) -> int:
        """The generation of the group now; -1 if there is no group."""
        group = self._runtime.core.groups.get(self._group)
        return -1 if group is None else group.generation

    def total_committed(self) -> int:
        """Return the sum of all committed offsets."""
        return sum(self.committed.values())

    def progressed(self, now_s: float) -> None:
        """Note that the application went on, or that its clock begins."""
        self.longest_standstill_s = max(self.longest_standstill_s, now_s - self.last_progress_s)
        self.last_progress_s = now_s

    def sent_twice(self) -> int:
        """Return the number of offsets that were sent more than once: to two copies, or to one again."""
        count = 0
        for intervals in self.sent.values():
            end = -1
            for first, last, *_ in sorted(intervals):
                count += max(0, min(last, end) - first + 1)
                end = max(end, last)
        return count

    def unsent(self, up_to: dict[TopicPartition, int]) -> dict[TopicPartition, list[int]]:
        """Return the offsets below `up_to` that no client was ever sent."""
        missed = {}
        for partition, end in up_to.items():
            got = bytearray(end)
            for first, last, *_ in self.sent[partition]:
                for offset in range(first, min(last + 1, end)):
                    got[offset] = 1
            if lost := [offset for offset, was_sent in enumerate(got) if not was_sent]:
                missed[partition] = lost
        return missed

    def _commit_answered(self, request: Any, response: Any, client: str) -> None:
        now_s = time.monotonic()
        of_others = self._of_others(request.member_id)
        for asked, answered in zip(request.topics, response.topics, strict=False):
            for each, outcome in zip(asked.partitions, answered.partitions, strict=False):
                if outcome.error_code:
                    continue
                partition = (self.name_of(asked), each.partition_index)
                before = self.committed.get(partition, -1)
                self.commits.append(
                    Commit(
                        now_s,
                        client,
                        request.member_id,
                        request.generation_id_or_member_epoch,
                        partition,
                        each.committed_offset,
                        before,
                        partition not in of_others,
                    )
                )
                if each.committed_offset > before:
                    self.progressed(now_s)
                self.committed[partition] = each.committed_offset

    def _of_others(self, member_id: str) -> frozenset[TopicPartition]:
        """Return the partitions that other members have, and this one does not.

        One that no member has is on its way: a cooperative member commits it a last time before it gives it up.
        """
        group = self._runtime.core.groups.get(self._group)
        if group is None or member_id not in group.members:
            return frozenset()
        others = [_partitions(each.assignment) for name, each in group.members.items() if name != member_id]
        return frozenset().union(*others) - _partitions(group.members[member_id].assignment)

    def _fetch_answered(self, request: Any, response: Any, client: str) -> None:
        asked = {
            (self.name_of(topic), each.partition): each.fetch_offset
            for topic in request.topics
            for each in topic.partitions
        }
        for topic in response.responses:
            name = self.name_of(topic)
            for each in topic.partitions:
                if each.records and not each.error_code:
                    data = bytes(each.records)
                    headers = [header for _, header in iter_batches(data)]
                    if headers:
                        partition = (name, each.partition_index)
                        first = max(headers[0].base_offset, asked.get(partition, 0))  # a batch may begin before it
                        last = headers[-1].base_offset + headers[-1].last_offset_delta
                        self.sent[partition].append(SentRecords(first, last, client, time.monotonic()))
                        if first < self.floor.get(partition, 0):
                            self.read_again.append((client, partition, first))

    def name_of(self, topic: Any) -> str:
        """Return the name of a topic of a request, which may have its id alone."""
        name = getattr(topic, "name", "") or getattr(topic, "topic", "")
        if name:
            return str(name)
        known = self._runtime.topics.catalogue.topics.values()
        return next((each.name for each in known if each.topic_id == topic.topic_id), "?")


def _partitions(assignment: bytes) -> frozenset[TopicPartition]:
    try:
        decoded = decode_assignment(assignment) if assignment else None
    except ProtocolError:
        return frozenset()
    topics = () if decoded is None else decoded.assigned_partitions
    return frozenset((each.topic, index) for each in topics for index in each.partitions)


class NotingSession(SessionWrapper):
    """The connection of a ticket, which notes the answer."""

    __slots__ = ("_client", "_note", "_request")

    def __init__(self, session: Any, note: Callable[[Any, Any, str], None], request: Any, client: str) -> None:
        super().__init__(session)
        self._note = note
        self._request = request
        self._client = client

    def answer(self, ticket: Ticket, response: Any) -> None:
        """Note the answer and send it."""
        if response is not None:
            self._note(self._request, response, self._client)
        super().answer(ticket, response)
