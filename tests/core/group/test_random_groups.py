"""Random histories of two groups, with a log that is slow, fails, or loses its tail in a crash.

After each step: the invariants of all groups hold (the cluster checks them), generations only grow, at most one member
is named leader of a generation, each request is answered at most once, and an acknowledged commit, or a later one, is
present. At the end all waiting requests are answered. After a crash the state in memory is that of the last durable
record of each key.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from coordinator.config.config import Config
from coordinator.core.group.state import EMPTY, STABLE
from protocol.error_codes import ErrorCode
from protocol.messages.offsets_log import GroupValue, OffsetValue
from protocol.offsets_records import GroupKey, OffsetKey
from tests.support.call import Call
from tests.support.cluster import Cluster, Member
from tests.support.first_round import given, owning
from tests.support.memory_rows import assert_rows_are_the_log
from tests.support.recognised_commits import RecognisedCommits

GROUPS = ("g", "h")
PARTITIONS = (0, 1, 2)
NEWCOMER, OWNER = owning()[0][1], owning(0)[0][1]
RANGE, CHANGED, BOTH = [("range", NEWCOMER)], [("range", OWNER)], [("range", NEWCOMER), ("rr", OWNER)]


@dataclass
class Client:
    """One client program and its JoinGroup calls."""

    member: Member
    joins: list[Call] = field(default_factory=list)


@dataclass
class Sent:
    """A commit in flight, and the offsets that must be present once it is acknowledged."""

    call: Call
    group_id: str
    offsets: dict[int, int]


class RandomGroups(RuleBasedStateMachine):
    by_bytes = False

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(Config(group_initial_rebalance_delay_ms=1_000, group_max_size=4), partitions=2)
        self.cluster.recognised = RecognisedCommits() if self.by_bytes else None
        self.clients: list[Client] = []
        self.sent: list[Sent] = []
        self.next_offset = 1
        self.acknowledged: dict[tuple[str, int], int] = {}
        self.deleted: set[str] = set()
        self.generations: dict[str, int] = {}

    @initialize(
        clients=st.lists(
            st.tuples(
                st.sampled_from(["g", "g", "g", "h"]),
                st.sampled_from([None, None, None, "S0", "S1"]),
                st.sampled_from([3, 8, 9]),
            ),
            min_size=3,
            max_size=6,
        )
    )
    def clients_exist(self, clients: list[tuple[str, str | None, int]]) -> None:
        for group_id, instance_id, version in clients:
            member = self.cluster.member(
                group_id,
                instance_id=instance_id if version >= 5 else None,
                version=version,
                protocols=RANGE,
                rebalance_timeout="20s",
            )
            self.clients.append(Client(member))

    # -- clients -------------------------------------------------------------------------------------------------

    @rule(group_id=st.sampled_from(GROUPS), syncing=st.sampled_from(["leader first", "leader last", "none"]))
    def all_rebalance(self, group_id: str, syncing: str) -> None:
        """All members of a group join, wait, sync, and send a heartbeat that may wait, as clients do."""
        clients = [client for client in self.clients if client.member.group_id == group_id]
        for client in clients:
            if not client.member.is_waiting:
                client.member.take_id()
                client.joins.append(client.member.join())
                if not client.member.last_join.is_parked and client.member.last_join.error is not ErrorCode.NONE:
                    client.member.member_id = ""
                    client.joins.append(client.member.join())
        self.cluster.advance("4s", heartbeating=[client.member for client in clients])
        answered = [client.member for client in clients if self._has_joined(client.member)]
        answered.sort(key=lambda member: member.is_leader, reverse=syncing == "leader first")
        for member in answered if syncing != "none" else ():
            self._sync(member, gives=len(answered) % 2)
        for member in answered if syncing != "none" else ():
            member.park()

    @rule(duration=st.sampled_from(["3s", "9s", "21s"]), silent=st.integers(0, 6))
    def all_heartbeat(self, duration: str, silent: int) -> None:
        """Advance the time while all members but one at most send heartbeats."""
        well = [client.member for number, client in enumerate(self.clients) if number != silent]
        self.cluster.advance(duration, heartbeating=well)

    @rule(number=st.integers(0, 5), protocols=st.sampled_from([RANGE, RANGE, RANGE, CHANGED, BOTH]))
    def join(self, number: int, protocols: list[tuple[str, bytes]]) -> None:
        client = self.client(number)
        client.member.take_id()
        client.joins.append(client.member.join(protocols=protocols))
        client.joins.append(client.member.last_join)

    @rule(number=st.integers(0, 5))
    def start_again(self, number: int) -> None:
        """Restart a client program."""
        client = self.client(number)
        client.member.member_id = ""
        client.joins.append(client.member.join())

    @rule(number=st.integers(0, 5), gives=st.sampled_from([0, 1]))
    def sync(self, number: int, gives: int) -> None:
        member = self.client(number).member
        if self._has_joined(member):
            self._sync(member, gives)

    @rule(number=st.integers(0, 5))
    def heartbeat(self, number: int) -> None:
        member = self.client(number).member
        member.take_id()
        member.heartbeat()
        template = self.cluster.core.heartbeat_template(
            member.group_id, member.member_id, member.instance_id, member.generation
        )
        if template is not None:
            template.renew(self.cluster.clock.now_ms)

    @rule(number=st.integers(0, 5), then=st.sampled_from(["waits", "waits", "goes on", "is lost"]))
    def park(self, number: int, then: str) -> None:
        """Send a Heartbeat of a client that may wait for the answer, and perhaps more bytes or none."""
        call = self.client(number).member.park()
        if call.is_parked and then == "goes on":
            self.cluster.send_bytes_behind(call)
        elif call.is_parked and then == "is lost":
            self.cluster.lose_connection_of(call)
            call.answer = LOST

    @rule(number=st.integers(0, 5))
    def leave(self, number: int) -> None:
        self.client(number).member.leave()

    @rule(number=st.integers(0, 5), partitions=st.sets(st.sampled_from(PARTITIONS), min_size=1))
    def commit(self, number: int, partitions: set[int]) -> None:
        member = self.client(number).member
        offsets = {partition: self._take_offset() for partition in sorted(partitions)}
        call = member.commit({("t", partition): offset for partition, offset in offsets.items()})
        self.sent.append(Sent(call, member.group_id, offsets))

    @rule(group_id=st.sampled_from(GROUPS), partition=st.sampled_from(PARTITIONS))
    def commit_by_hand(self, group_id: str, partition: int) -> None:
        offset = self._take_offset()
        self.sent.append(Sent(self.cluster.commit(group_id, {("t", partition): offset}), group_id, {partition: offset}))

    @rule(group_id=st.sampled_from(GROUPS), partition=st.sampled_from(PARTITIONS), producer=st.sampled_from([1, 2]))
    def commit_in_a_transaction(self, group_id: str, partition: int, producer: int) -> None:
        self.cluster.txn_commit(group_id, {("x", partition): self._take_offset()}, producer_id=producer)

    @rule(group_id=st.sampled_from(GROUPS), producer=st.sampled_from([1, 2]), commits=st.booleans())
    def end_transaction(self, group_id: str, producer: int, commits: bool) -> None:
        self.cluster.end_transaction(group_id, commit=commits, producer_id=producer)

    @rule(group_id=st.sampled_from(GROUPS))
    def delete(self, group_id: str) -> None:
        self.deleted.add(group_id)  # no promise from here until the next commit is acknowledged
        self.cluster.delete_groups(group_id)

    @rule(group_id=st.sampled_from(GROUPS), stable=st.booleans())
    def look(self, group_id: str, stable: bool) -> None:
        self.cluster.fetch(group_id, require_stable=stable)
        self.cluster.describe(group_id)
        self.cluster.list_groups()

    # -- time and the log ----------------------------------------------------------------------------------------

    @rule(duration=st.sampled_from(["1ms", "400ms", "1s", "3s", "5s", "10s", "60s"]))
    def time_passes(self, duration: str) -> None:
        self.cluster.advance(duration)

    @precondition(lambda self: self.cluster.flushes_at_once)
    @rule()
    def the_log_becomes_slow(self) -> None:
        self.cluster.flushes_at_once = False

    @rule(at_most=st.sampled_from([1, 2, None]))
    def the_log_flushes(self, at_most: int | None) -> None:
        self.cluster.flush(at_most)

    @precondition(lambda self: not self.cluster.flushes_at_once)
    @rule()
    def the_log_is_quick_again(self) -> None:
        self.cluster.flushes_at_once = True
        self.cluster.flush()

    @rule(error=st.sampled_from([ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_ENOUGH_REPLICAS]))
    def the_log_fails(self, error: ErrorCode) -> None:
        self.cluster.fail_appends(error)

    @rule()
    def crash(self) -> None:
        self._note_answers()
        self.cluster.crash_and_recover()
        self._forget_generations_that_were_not_stored()
        self.sent = [sent for sent in self.sent if not sent.call.is_parked]
        for call in self.cluster.calls:
            if call.is_parked:
                call.answer = LOST
        self._live_state_is_the_last_record_of_each_key()

    # -- invariants ----------------------------------------------------------------------------------------------

    @invariant()
    def generations_only_grow(self) -> None:
        for group_id, group in self.cluster.core.groups.items():
            assert group.generation >= self.generations.get(group_id, 0)
            self.generations[group_id] = group.generation
        for group_id in GROUPS:
            if group_id not in self.cluster.core.groups:
                self.generations.pop(group_id, None)  # deleted: a new group starts again

    @invariant()
    def acknowledged_commits_are_there(self) -> None:
        self._note_answers()
        for (group_id, partition), offset in self.acknowledged.items():
            found = self.cluster.core.partition(self.cluster.core.partition_for(group_id)).offsets.get(
                group_id, "t", partition
            )
            assert found is not None
            assert found.offset >= offset, "an older commit has won"

    @invariant()
    def at_most_one_member_is_named_leader(self) -> None:
        for group in self.cluster.core.groups.values():
            told = {
                call.answer.member_id
                for client in self.clients
                if client.member.group_id == group.group_id
                for call in client.joins
                if not call.is_parked
                and call.answer is not LOST
                and call.error is ErrorCode.NONE
                and call.answer.generation_id == group.generation
                and call.answer.leader == call.answer.member_id
                and call.answer.member_id in group.members
            }
            assert len(told) <= 1 or group.group_id in self.deleted

    @invariant()
    def rows_from_memory_agree_with_the_log(self) -> None:
        """Compare the rows from memory with a part of the log and with all of it, as a compaction does."""
        assert_rows_are_the_log(self.cluster)

    def teardown(self) -> None:
        """Check that all waiting requests are answered with a working log and enough time."""
        cluster = self.cluster
        cluster.flushes_at_once = True
        cluster.flush()
        for _ in range(4):
            cluster.advance("300s")
        waiting = [call for call in cluster.calls if call.is_parked]
        assert waiting == []
        assert all(group.state in (EMPTY, STABLE) or group.members for group in cluster.core.groups.values())

    # -- internal ------------------------------------------------------------------------------------------------

    def _sync(self, member: Member, gives: int) -> None:
        """Send a SyncGroup that may be held. A leader gives partition 0 to one member or to none."""
        assignments = None
        if member.is_leader:
            members = [each.member_id for each in member.last_join.answer.members]
            assignments = {each: given(0) if index < gives else given() for index, each in enumerate(members)}
        member.sync(assignments, can_wait=True)

    @staticmethod
    def _has_joined(member: Member) -> bool:
        return not member.last_join.is_parked and member.last_join.error is ErrorCode.NONE

    def client(self, number: int) -> Client:
        return self.clients[number % len(self.clients)]

    def _take_offset(self) -> int:
        self.next_offset += 1
        return self.next_offset

    def _note_answers(self) -> None:
        waiting = []
        for group_id in self.deleted:
            for partition in PARTITIONS:
                self.acknowledged.pop((group_id, partition), None)
        for sent in self.sent:
            if sent.call.is_parked:
                waiting.append(sent)
                continue
            for partition, offset in sent.offsets.items():
                if sent.call.errors["t", partition] is ErrorCode.NONE and sent.group_id not in self.deleted:
                    key = sent.group_id, partition
                    self.acknowledged[key] = max(offset, self.acknowledged.get(key, 0))
        self.sent = waiting

    def _forget_generations_that_were_not_stored(self) -> None:
        """Drop generations that were not synced and so not stored; their numbers may be used again."""
        self.generations = {}
        for client in self.clients:
            group = self.cluster.core.groups.get(client.member.group_id)
            stored = group.generation if group is not None else 0
            client.joins = [call for call in client.joins if call.is_parked or call.answer.generation_id <= stored]

    def _live_state_is_the_last_record_of_each_key(self) -> None:
        cluster = self.cluster
        for group_id in GROUPS:
            last = {record.key: record.value for record in cluster.written(group_id)}
            value = last.get(GroupKey(group_id))
            if isinstance(value, GroupValue):
                group = cluster.group(group_id)
                assert group.generation == value.generation
                assert list(group.members) == [member.member_id for member in value.members]
                assert [member.assignment for member in group.members.values()] == [
                    member.assignment for member in value.members
                ]
            plain = {
                (key.topic, key.partition): value.offset
                for key, value in last.items()
                if isinstance(key, OffsetKey) and isinstance(value, OffsetValue) and key.topic == "t"
            }
            store = cluster.core.partition(cluster.core.partition_for(group_id)).offsets
            live = {
                (topic, partition): offset.offset
                for topic, partitions in store.of_group(group_id).items()
                for partition, offset in partitions.items()
                if topic == "t"
            }
            assert live == plain


class _Lost:
    """Answer of a request whose connection was closed by a crash."""

    error_code = -1
    member_id = leader = ""
    generation_id = -1
    protocol_name = None
    topics: tuple[()] = ()


LOST = _Lost()


class RandomGroupsByBytes(RandomGroups):
    """Random histories in which commits that differ in their offsets only use the template."""

    by_bytes = True


TestRandomGroups = RandomGroups.TestCase
TestRandomGroupsByBytes = RandomGroupsByBytes.TestCase
