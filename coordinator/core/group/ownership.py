"""Owners of partitions before and after a rebalance: what moved, who lost and gained, and the time without an owner.

The former assignments are kept by reference while a group rebalances, also when one rebalance interrupts another.
A partition has no owner from the moment its former owner gave it up until the assignment that gives it to a member is
durable. A member gives up what its JoinGroup does not list as owned; an eager one lists nothing. A member that is
removed gives up all. (It may have died up to a session timeout earlier, but the coordinator cannot know when.)
A partition that was given to no member is carried into the next rebalance and counted there, unless the group becomes
empty or does not subscribe to its topic. Work is done in steps: it is bounded by the size of the assignments.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING, Final

from coordinator.core.events.model import NAMED_AT_MOST
from coordinator.core.group.group import MAX_CACHED_BYTES
from coordinator.core.group.read_twice import COUNTED_AT_MOST
from protocol import consumer
from protocol.errors import DecodeError

if TYPE_CHECKING:
    from coordinator.core.group.member import Member, Protocols
    from coordinator.core.group.read_twice import ReadTwice

Topics = dict[str, set[int]]  # partitions by topic
Owner = tuple[str, str, str]  # instance id or else member id, client id, client host
Rejoin = tuple[int, "Protocols"]  # when it arrived, and the subscriptions in it
Holding = tuple["Member", bytes, int, "Protocols"]  # a former assignment, and the first JoinGroup since then, or HELD

HELD: Final = -1  # in place of a time: not given up
PER_STEP: Final = 5_000  # partitions in one step, a few milliseconds
MEMBER_COST: Final = 2  # a member takes as long as so many partitions
TOPIC_COST: Final = 4  # each topic of an assignment, too
LOST_COST: Final = 3  # each partition whose records may be read twice, too
BYTES_COST: Final = 16  # bytes that take as long as a partition
MOST_PARTITIONS: Final = 100_000  # assigned, or lost; more are not counted
MOST_BYTES: Final = 16 << 20  # of all assignments of a group, before and after
MOST_BYTES_OF_ONE: Final = 64 << 10  # of one assignment or subscription, which is decoded in one step
MOST_TOPICS_OF_ONE: Final = 2_000  # in one assignment
_INT16: Final = Struct(">h").unpack_from
_START: Final = Struct(">hih").unpack_from  # version, number of topics, length of the first name
_INT32: Final = Struct(">i").unpack_from


class Carried:
    """Partitions that a member had and that no member has been given since.

    `since_ms` is HELD until the member rejoins without them or is removed.
    """

    __slots__ = ("owner", "partitions", "since_ms")

    def __init__(self, owner: Owner, since_ms: int) -> None:
        self.owner = owner
        self.since_ms = since_ms
        self.partitions: Topics = {}


class FormerOwners:
    """The owners of a group's partitions before the current rebalance, by instance id or else member id."""

    __slots__ = ("carried", "counting", "holdings", "last")

    def __init__(self) -> None:
        self.holdings: dict[str, Holding] = {}
        self.last: dict[str, Rejoin] = {}  # of members that sent a second one
        self.carried: list[Carried] = []  # by the last rebalance that was counted
        self.counting = 0  # rebalances that have ended and wait until they are counted

    def joined(self, member: Member, now_ms: int) -> None:
        """Record a JoinGroup of a member."""
        key = member.group_instance_id or member.member_id
        if key in self.holdings:
            self._again(key, now_ms, member.protocols)
        else:
            self.holdings[key] = (member, member.assignment, now_ms, member.protocols)

    def removed(self, member: Member, now_ms: int) -> None:
        """Record the removal of a member, as a JoinGroup that lists nothing.

        A member that owned nothing is forgotten, because rebalances that are interrupted again and again would keep
        each of them.
        """
        key = member.group_instance_id or member.member_id
        assignment = self.holdings[key][1] if key in self.holdings else member.assignment
        if not assignment:
            self.holdings.pop(key, None)
            self.last.pop(key, None)
        elif key in self.holdings:
            self._again(key, now_ms, ())
        else:
            self.holdings[key] = (member, member.assignment, now_ms, ())

    def _again(self, key: str, now_ms: int, protocols: Protocols) -> None:
        former, assignment, first_ms, _ = self.holdings[key]
        if first_ms == HELD:
            self.holdings[key] = (former, assignment, now_ms, protocols)
        else:
            self.last[key] = (now_ms, protocols)

    def keep(self, members: Mapping[str, Member]) -> None:
        """Record the assignments of members that have sent no JoinGroup, before they change."""
        holdings = self.holdings
        for member in members.values():
            key = member.group_instance_id or member.member_id
            if key not in holdings:
                holdings[key] = (member, member.assignment, HELD, ())

    def take(self) -> tuple[dict[str, Holding], dict[str, Rejoin]]:
        """Take out what was recorded since the last time."""
        taken = self.holdings, self.last
        self.holdings, self.last = {}, {}
        return taken

    @property
    def is_idle(self) -> bool:
        """True if nothing is kept for a later rebalance."""
        return not (self.holdings or self.carried or self.counting)


class OwnerChanges:
    """The changes of owners by one rebalance."""

    __slots__ = ("carried", "moved", "partitions", "read_twice", "shares", "unowned_ms")

    def __init__(self) -> None:
        self.partitions = 0  # assigned now
        self.moved = 0  # to another member than their last owner
        self.unowned_ms = 0  # over all partitions
        self.read_twice = -1  # records of partitions that moved, or that the last member left; -1: not known
        self.shares: list[tuple[Member, int, int]] = []  # partitions lost and gained; NAMED_AT_MOST
        self.carried: list[Carried] = []


def changes(
    former: FormerOwners,
    taken: tuple[dict[str, Holding], dict[str, Rejoin]],
    members: Sequence[Member],
    assignments: Mapping[str, bytes],
    protocol: str | None,
    topics: frozenset[str] | None,
    now_ms: int,
    read_twice: ReadTwice,
    most_carried: int,
) -> Generator[None, None, OwnerChanges | None]:
    """Return the changes at `now_ms`, when `assignments` (by member id) became durable; None if they are not known.

    `taken` is from `former`, taken then; what it carries is read when the first step runs. Partitions of other topics
    than `topics` are not carried on; None stands for all topics. If more than `most_carried` have no owner, none is.
    """
    holdings, last = taken
    count = _Count(protocol, last, now_ms)
    eager: Protocols | None = None  # subscriptions without owned partitions; most members have the same object
    spent = size = kept = unowned_ms = 0
    try:
        for each in former.carried:
            spent += count.carried_on(each, holdings.get(each.owner[0]))
        for member in members:
            key = member.group_instance_id or member.member_id
            holding = holdings.pop(key, None)
            given = assignments.get(member.member_id, b"")
            size += len(given)
            if holding is None:
                spent += count.assigned(key, member, None, b"", given)
            else:
                _, held, first_ms, first = holding
                if held == given and (first is eager or first_ms == HELD or _is_eager(metadata_for(first, protocol))):
                    number = count_partitions(given)  # nothing moves
                    kept += number
                    if first_ms != HELD:
                        eager = first
                        unowned_ms += number * (now_ms - first_ms)
                    spent += MEMBER_COST
                else:
                    size += len(held)
                    spent += count.assigned(key, member, holding, held, given)
            if spent >= PER_STEP:
                spent = 0
                yield
                if size > MOST_BYTES or max(count.partitions, count.lost) > MOST_PARTITIONS:
                    return None
        count.partitions += kept
        count.unowned_ms += unowned_ms
        for key, holding in holdings.items():
            size += len(holding[1])
            spent += count.removed(key, holding)
            if spent >= PER_STEP:
                spent = 0
                yield
                if size > MOST_BYTES or max(count.partitions, count.lost) > MOST_PARTITIONS:
                    return None
    except DecodeError:
        return None
    if size > MOST_BYTES or max(count.partitions, count.lost) > MOST_PARTITIONS:
        return None
    holdings.clear()
    for key, topic, partitions in count.gained:
        spent += count.settle(key, topic, partitions)
        if spent >= PER_STEP:
            spent = 0
            yield
    for topic, partition, owner in count.taken_away if members else count.left_alone():
        read_twice.lost(topic, partition, owner[1], owner[2])
        spent += LOST_COST
        if spent >= PER_STEP:
            spent = 0
            yield
    return count.result(topics, read_twice.records, most_carried)


def count_partitions(assignment: bytes) -> int:
    """Return the number of partitions in an assignment, without a list of them. Raises DecodeError."""
    if not assignment:
        return 0
    total = 0
    try:
        _, topics, length = _START(assignment)
        if topics == 1 and length >= 0:
            only: int = _INT32(assignment, 8 + length)[0]
            if only < 0 or 12 + length + 4 * only > len(assignment):
                raise DecodeError("an assignment that is cut short")
            return only
        if not 0 <= topics <= MOST_TOPICS_OF_ONE:
            raise DecodeError("an assignment of too many topics to be counted")
        position = 6
        for _ in range(topics):
            (length,) = _INT16(assignment, position)
            (count,) = _INT32(assignment, position + 2 + length)
            if length < 0 or count < 0:
                raise DecodeError("an assignment with a negative length")
            total += count
            position += 6 + length + 4 * count
    except struct_error:
        raise DecodeError("an assignment that is cut short") from None
    if position > len(assignment):
        raise DecodeError("an assignment that is cut short")
    return total


def _assigned(assignment: bytes) -> Topics:
    """Return the partitions of an assignment. They are shared, so they must not be changed."""
    if len(assignment) <= MAX_CACHED_BYTES:
        return _cached_assigned(assignment)
    if len(assignment) > MOST_BYTES_OF_ONE or int.from_bytes(assignment[2:6], "big") > MOST_TOPICS_OF_ONE:
        raise DecodeError("an assignment that is too long to be counted")
    return _decode_assigned(assignment)


def _decode_assigned(assignment: bytes) -> Topics:
    return _by_topic(consumer.decode_assignment(assignment).assigned_partitions)


# What a member is given is what it gives up next time.
_cached_assigned: Final = lru_cache(256)(_decode_assigned)


def _by_topic(listed: Sequence[consumer.TopicPartitions]) -> Topics:
    topics: Topics = {}
    for each in listed:
        known = topics.get(each.topic)
        if known is None:
            topics[each.topic] = set(each.partitions)
        else:
            known.update(each.partitions)
    return topics


def metadata_for(protocols: Protocols, protocol: str | None) -> bytes:
    """Return the metadata for one protocol; empty if it is not among them."""
    for name, metadata in protocols:
        if name == protocol:
            return metadata
    return b""


def _is_eager(metadata: bytes) -> bool:
    """Return whether a subscription cannot list owned partitions."""
    return metadata[:2] == b"\0\0" or len(metadata) < 2


def owned_in(metadata: bytes) -> Topics:
    """Return the partitions that a subscription lists as owned. They are shared, so they must not be changed.

    Raises DecodeError for a subscription that is too long.
    """
    if _is_eager(metadata):
        return {}
    if len(metadata) <= MAX_CACHED_BYTES:
        return _cached_owned(metadata)
    if len(metadata) > MOST_BYTES_OF_ONE:
        raise DecodeError("a subscription that is too long to be counted")
    return _decode_owned(metadata)


def _decode_owned(metadata: bytes) -> Topics:
    try:
        return _by_topic(consumer.decode_subscription(metadata).owned_partitions)
    except DecodeError:
        return {}  # some clients send a version number without the fields that it requires


_cached_owned: Final = lru_cache(256)(_decode_owned)


class _GivenUp:
    """The times at which a member gave up its partitions."""

    __slots__ = ("_first", "_first_ms", "_last", "_last_ms")

    def __init__(self, holding: Holding, last: Rejoin | None, protocol: str | None) -> None:
        self._first_ms = self._last_ms = holding[2]
        self._first = self._last = owned_in(metadata_for(holding[3], protocol))
        if last is not None:
            self._last_ms = last[0]
            self._last = owned_in(metadata_for(last[1], protocol))

    def times(self, topic: str, partitions: set[int]) -> Iterator[tuple[int, set[int]]]:
        """Yield the partitions by the time at which they were given up, or HELD."""
        if self._first_ms == HELD or not partitions:
            yield HELD, partitions
            return
        held_first = partitions & self._first[topic] if topic in self._first else set()
        held = held_first & self._last[topic] if topic in self._last else set()
        yield self._first_ms, partitions - held_first
        yield self._last_ms, held_first - held
        yield HELD, held


class _Count:
    """The sums and losses that `changes` has found so far."""

    __slots__ = (
        "_last",
        "_left",
        "_losses",
        "_moved",
        "_now_ms",
        "_protocol",
        "_shares",
        "gained",
        "lost",
        "partitions",
        "taken_away",
        "unowned_ms",
    )

    def __init__(self, protocol: str | None, last: dict[str, Rejoin], now_ms: int) -> None:
        self._protocol = protocol
        self._last = last
        self._now_ms = now_ms
        self._losses: dict[str, dict[int, tuple[int, Owner]]] = {}  # by topic and partition: since when, and whose
        self._shares: list[tuple[Member, int, int]] = []
        self._moved = 0
        self.taken_away: list[tuple[str, int, Owner]] = []  # partitions that moved; COUNTED_AT_MOST, and the owners
        self.unowned_ms = 0
        self._left = 0  # lost, and not gained by another member yet
        self.gained: list[tuple[str, str, set[int]]] = []  # key, topic, partitions
        self.lost = 0
        self.partitions = 0

    def carried_on(self, each: Carried, holding: Holding | None) -> int:
        """Take partitions that an earlier rebalance gave to no member. Returns the cost."""
        given_up = None if holding is None or each.since_ms != HELD else self._times(each.owner[0], holding)
        cost = MEMBER_COST
        for topic, partitions in each.partitions.items():
            cost += len(partitions)
            if given_up is None:
                self._lose(each.owner, topic, each.since_ms, partitions)
            else:
                for since_ms, some in given_up.times(topic, partitions):
                    self._lose(each.owner, topic, since_ms, some)
        return cost

    def assigned(self, key: str, member: Member, holding: Holding | None, held: bytes, given: bytes) -> int:
        """Count a member of the new generation, with what it held before. Returns the cost."""
        after = _assigned(given)
        before = after if held == given else _assigned(held)
        self.partitions += sum([len(partitions) for partitions in after.values()])
        gained = 0
        for topic, partitions in after.items():
            new = partitions - before[topic] if topic in before else partitions
            if new:
                gained += len(new)
                self.gained.append((key, topic, new))
        lost = 0 if holding is None else self._given_up(key, holding, before, after)
        if lost or gained:
            self._shares.append((member, lost, gained))
        cost = MEMBER_COST + TOPIC_COST * (len(before) + len(after))
        return cost + gained + (len(held) + len(given)) // BYTES_COST

    def removed(self, key: str, holding: Holding) -> int:
        """Count a member that is no longer in the group. Returns the cost."""
        member, held, _, _ = holding
        before = _assigned(held)
        lost = self._given_up(key, holding, before, {})
        if lost:
            self._shares.append((member, lost, 0))
        return MEMBER_COST + TOPIC_COST * len(before) + lost + len(held) // BYTES_COST

    def _given_up(self, key: str, holding: Holding, before: Topics, after: Topics) -> int:
        """Count what a member had before. Returns how many partitions it lost."""
        lost = 0
        owner = (key, *holding[0].run_as)
        given_up = self._times(key, holding)
        for topic, partitions in before.items():
            kept = partitions & after[topic] if topic in after else set()
            for since_ms, some in given_up.times(topic, kept):
                if since_ms != HELD:
                    self.unowned_ms += len(some) * (self._now_ms - since_ms)
            gone = partitions - kept
            lost += len(gone)
            for since_ms, some in given_up.times(topic, gone):
                self._lose(owner, topic, since_ms, some)
        self.lost += lost
        return lost

    def _times(self, key: str, holding: Holding) -> _GivenUp:
        return _GivenUp(holding, self._last.get(key), self._protocol)

    def _lose(self, owner: Owner, topic: str, since_ms: int, partitions: set[int]) -> None:
        if partitions:
            self._left += len(partitions)
            self._losses.setdefault(topic, {}).update(dict.fromkeys(partitions, (since_ms, owner)))

    def settle(self, key: str, topic: str, partitions: set[int]) -> int:
        """Count partitions that a member has gained, with those who lost them. Returns the cost."""
        losses = self._losses.get(topic)
        if losses is not None:
            for partition in partitions:
                loss = losses.pop(partition, None)
                if loss is not None:
                    self._left -= 1
                    since_ms, former = loss
                    if since_ms != HELD:
                        self.unowned_ms += self._now_ms - since_ms
                    if former[0] != key:
                        self._moved += 1
                        if self._moved <= COUNTED_AT_MOST:
                            self.taken_away.append((topic, partition, former))
        return len(partitions)

    def left_alone(self) -> Iterator[tuple[str, int, Owner]]:
        """Yield the partitions that no member has gained, with their former owners; COUNTED_AT_MOST."""
        left = COUNTED_AT_MOST
        for topic, losses in self._losses.items():
            for partition, (_, owner) in losses.items():
                if left <= 0:
                    return
                left -= 1
                yield topic, partition, owner

    def result(self, topics: frozenset[str] | None, read_twice: int, most_carried: int) -> OwnerChanges:
        found = OwnerChanges()
        found.partitions = self.partitions
        found.moved = self._moved
        found.unowned_ms = self.unowned_ms
        found.read_twice = read_twice
        found.shares = nlargest(NAMED_AT_MOST, self._shares, key=lambda share: share[1] + share[2])
        if self._left <= most_carried:
            carried: dict[tuple[Owner, int], Carried] = {}
            for topic, losses in self._losses.items():
                if topics is not None and topic not in topics:
                    continue
                for partition, (since_ms, owner) in losses.items():
                    each = carried.get((owner, since_ms))
                    if each is None:
                        each = carried[owner, since_ms] = Carried(owner, since_ms)
                    each.partitions.setdefault(topic, set()).add(partition)
            found.carried = list(carried.values())
        return found
