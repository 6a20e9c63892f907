"""The promises that the clients of a simulation were given, and the checks of all that they see later.

A committed offset is a register: a value may be seen unless a write that was acknowledged began after the value's own
write had ended. A write that was refused for good must never be seen. One without an answer may take effect until
`UNKNOWN_S` after its client gave up, since the node may still have been at work. Every write has a name of its own as
its metadata, so a value tells which write it is from. This is the check that Jepsen's register tests make.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from coordinator.simulation.world import World

UNKNOWN_S: Final = 30.0  # longer than a pause of a process, and the work of a node on one commit
REFUSED: Final = frozenset(  # a commit that is answered so has not happened
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_GROUP_ID,
    }
)


class Place(NamedTuple):
    """A committed offset: of a group, for a partition."""

    group: str
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.group} {self.topic}-{self.partition}"


@dataclass(slots=True)
class Write:
    """A commit of one partition, or the deletion of one: then `offset` is -1."""

    name: str
    offset: int
    sent_s: float
    settled_s: float = math.inf  # when it had ended; it takes effect before, if at all
    is_refused: bool = False


@dataclass(slots=True)
class Register:
    """All writes to one place."""

    writes: dict[str, Write] = field(default_factory=dict)
    floor_s: float = -math.inf  # a value whose write had ended by then is overwritten


@dataclass(slots=True)
class Generation:
    """The answers that the members of one generation were given."""

    joined: set[str] = field(default_factory=set)  # by instance id, else by member id
    assignments: dict[str, bytes] = field(default_factory=dict)
    owners: dict[tuple[str, int], str] = field(default_factory=dict)


class History:
    """Everything that clients sent and were answered."""

    def __init__(self, world: World) -> None:
        self.is_calm = False  # all faults are over, and clients make no trouble any more
        self.network_disturbed_s = 0.0  # when it last lost or kept back something
        self.registers: dict[Place, Register] = {}
        self.generations: dict[tuple[str, int], Generation] = {}
        self.holders: dict[tuple[str, str], dict[str, tuple[float, float, int]]] = {}  # see `held`
        self.synced: dict[str, int] = {}  # by group: the newest generation in which a SyncGroup was answered
        self.produced: dict[tuple[str, int], dict[int, str]] = {}  # acknowledged values by offset
        self.read: dict[bytes, tuple[str, int, int]] = {}  # where each value was read
        self.acknowledged = 0  # commits, and records
        self.on_answer: Callable[[str, int, Any, Any, float], None] = lambda client, node, request, answer, sent_s: None
        self._world = world
        self._named = 0

    # -- commits -------------------------------------------------------------------------------------------------

    def name(self) -> str:
        """Return a new name for a write."""
        self._named += 1
        return f"w{self._named}"

    def register(self, place: Place) -> Register:
        """Return the register of a place."""
        found = self.registers.get(place)
        if found is None:
            found = self.registers[place] = Register()
        return found

    def sent(self, place: Place, name: str, offset: int) -> Write:
        """Note a commit that is being sent."""
        write = self.register(place).writes[name] = Write(name, offset, self._world.now_s)
        return write

    def answered(self, place: Place, write: Write, error: ErrorCode) -> None:
        """Note the answer to a commit."""
        now_s = self._world.now_s
        if error is ErrorCode.NONE:
            write.settled_s = now_s
            register = self.registers[place]
            register.floor_s = max(register.floor_s, write.sent_s)
            self.acknowledged += 1
        elif error in REFUSED:
            write.settled_s = now_s
            write.is_refused = True
        else:
            write.settled_s = now_s + UNKNOWN_S

    def unanswered(self, write: Write) -> None:
        """Note that the client of a commit gave up."""
        write.settled_s = self._world.now_s + UNKNOWN_S

    def seen(self, place: Place, name: str, offset: int, floor_s: float, where: str) -> None:
        """Check a value: `name` is empty if there is none. `floor_s`: that of the register when the look began."""
        register = self.registers.get(place)
        if register is None:
            if name:
                self._world.violated(f"{where} has {name} for {place}, to which nothing was ever committed")
            return
        if not name:
            if floor_s > -math.inf and not any(
                each.offset < 0 and each.settled_s >= floor_s for each in register.writes.values()
            ):
                self._world.violated(f"{where} has no offset for {place}: an acknowledged commit is lost")
            return
        write = register.writes.get(name)
        if write is None:
            self._world.violated(f"{where} has {name} at {offset} for {place}, which was never committed there")
        elif write.is_refused:
            self._world.violated(f"{where} has {name} at {offset} for {place}: that commit was refused")
        elif write.offset != offset:
            self._world.violated(f"{where} has offset {offset} for {place}, and {name} committed {write.offset}")
        elif write.settled_s < floor_s:
            self._world.violated(
                f"{where} went back to {name} at {offset} for {place}: a later commit was acknowledged"
            )

    # -- generations ---------------------------------------------------------------------------------------------

    def joined(self, group: str, generation: int, member: str, others: Iterable[str], newest: int) -> None:
        """Check the answer to a JoinGroup. `newest`: the newest synced generation when it was sent.

        `others`: the members that a leader is told of. One with an old version is told no instance ids, only member
        ids, which begin with them.
        """
        known = self.generations.setdefault((group, generation), Generation())
        if generation <= newest and not any(each == member or each.startswith(f"{member}-") for each in known.joined):
            self._world.violated(
                f"{member} was given generation {generation} of {group}, in which others already had their assignment"
            )
        known.joined.add(member)
        known.joined.update(others)

    def assigned(
        self, group: str, generation: int, member: str, data: bytes, partitions: list[tuple[str, int]], *, honest: bool
    ) -> None:
        """Check the answer to a SyncGroup."""
        known = self.generations.setdefault((group, generation), Generation())
        before = known.assignments.setdefault(member, data)
        if before != data:
            self._world.violated(f"{member} has two assignments in generation {generation} of {group}")
        self.synced[group] = max(self.synced.get(group, -1), generation)
        for partition in partitions if honest else ():
            owner = known.owners.setdefault(partition, member)
            if owner != member:
                self._world.violated(
                    f"{owner} and {member} both own {partition[0]}-{partition[1]} in generation {generation} of {group}"
                )

    def held(self, group: str, instance_id: str, member_id: str, generation: int, sent_s: float) -> None:
        """Note that a JoinGroup that was sent then gave a member id to the process of a static member."""
        self.holders.setdefault((group, instance_id), {})[member_id] = sent_s, self._world.now_s, generation

    def joined_since(self, group: str, members: Iterable[str], at_s: float) -> bool:
        """Return whether a JoinGroup that was sent since then gave one of these member ids to a static member."""
        held = {
            member_id: sent_s
            for (of, _), known in self.holders.items()
            if of == group
            for member_id, (sent_s, _, _) in known.items()
        }
        return any(held.get(each, -math.inf) > at_s for each in members)

    def restarted(self) -> None:
        """Forget the member ids of generations without a SyncGroup: a node that ends has not kept them."""
        for (group, _), known in self.holders.items():
            for member_id, (_, _, generation) in list(known.items()):
                if generation > self.synced.get(group, -1):
                    del known[member_id]

    def unfenced(self, group: str, instance_id: str, member_id: str, sent_s: float, what: str) -> None:
        """Check a good answer to a static member: no process may have taken its place before it sent its request.

        Two processes may have joined at once; only one that began after the other had its member id counts.
        """
        known = self.holders.get((group, instance_id), {})
        _, joined_s, _ = known.get(member_id, (math.inf, math.inf, 0))
        for other, (began_s, answered_s, _) in known.items():
            if other != member_id and began_s > joined_s and answered_s < sent_s:
                self._world.violated(f"{what} of {member_id} in {group} was good, but {other} has replaced it")

    def committed_in(self, group: str, generation: int, member: str, newest: int) -> None:
        """Check an acknowledged commit of a member. `newest`: the newest synced generation when it was sent."""
        if 0 <= generation < newest:
            self._world.violated(
                f"{member} committed in generation {generation} of {group}, when {newest} had its assignment"
            )

    def beat_in(self, group: str, generation: int, member: str, newest: int) -> None:
        """Check a Heartbeat without an error. `newest`: the newest synced generation when it was sent."""
        if generation < newest:
            self._world.violated(
                f"a heartbeat of {member} in generation {generation} of {group} was good, when {newest} had begun"
            )
