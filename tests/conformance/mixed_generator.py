"""Scripts with members of both protocols in one group: groups change their kind with their first and last members.

Members of the classic protocol subscribe to the topics of the script. Where Kafka's choice of partitions must be
determined they have instance ids, because the member ids that a server makes would decide it.
"""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.consumer_generator import TOPICS, ConsumerGenerator
from tests.conformance.consumer_lockstep import ConsumerLockstep
from tests.conformance.embedded import GIVEN, META
from tests.conformance.generator import Slot
from tests.conformance.lockstep import CONSUMER_MAX_SIZE, Lockstep
from tests.conformance.script import Step

CLASSIC: Final = 0  # the type of a member
SUBSCRIPTIONS: Final = ("t0", "t0", "t1", "t0,t1", "t0,t1", "t1,t2", "")
LISTS: Final = (("range",), ("range", "roundrobin"), ("roundrobin", "range"))


class MixedGenerator(ConsumerGenerator):
    """One script's worth of decisions."""

    def __init__(self, seed: str, steps: int, versions: dict[str, range], *, has_short_sessions: bool = False) -> None:
        super().__init__(seed, steps, versions, has_short_sessions=has_short_sessions)
        if self.flavour == "whole":
            self.flavour, self._votes = "range", ("range",)
        self.kind = "plain"
        self._rebalance_short = False

    # --- members of the classic protocol ---

    def _new_slot(self, group: str) -> Slot:
        slot = super()._new_slot(group)
        slot.protocols = self._random.choice(LISTS)
        if self.flavour == "range" and slot.instance is None:
            slot.instance = f"k{len(self._slots)}"
        elif slot.instance is not None and self._random.random() < 0.4:
            slot.instance = f"i{self._random.choice((0, 1, 2))}"  # which may be that of a member of the other protocol
        self._subscribe_slot(slot)
        return slot

    def _subscribe_slot(self, slot: Slot) -> None:
        version = self._random.choice((0, 1, 1, 2, 3))
        slot.metadata = f"{META}{version}:{self._random.choice(SUBSCRIPTIONS)}:{slot.name}"

    def _changed(self, slot: Slot, often: float = 0.6) -> Slot:
        if self._random.random() < often:
            self._subscribe_slot(slot)
        return slot

    def _sync(self, run: Lockstep, slot: Slot, *, leads: bool) -> Step:
        step = super()._sync(run, slot, leads=leads)
        shares = step["body"]["assignments"]
        for number, each in enumerate(shares):
            each["assignment"] = self._share(number, len(shares))
        return step

    def _share(self, number: int, count: int) -> str:
        """Return what the leader of a classic group gives to one of its members."""
        if self._random.random() < 0.05:
            return self._random.choice(("", "?", f"{GIVEN}1:gone=0"))
        parts = []
        for topic, partitions in self._topics.items():
            own = [str(each) for each in range(partitions) if each % count == number]
            parts += [f"{topic}={','.join(own)}"] if own else []
        return f"{GIVEN}{self._random.choice((0, 1, 3))}:{';'.join(parts)}"

    # --- groups of both ---

    def _consumer_step(self, run: ConsumerLockstep, group: str) -> Step:
        described = run.kafka.consumers.get(group, {}).get("members", [])
        ids = {each["member_id"] for each in described if each.get("member_type", -1) == CLASSIC}
        present = [each for each in self._slots if each.group == group and self._newest_id(run, each) in ids]
        waiting = [each for each in self._slots if each.group == group and each.sent_join and each not in present]
        chance = self._random.random()
        if present and chance < 0.45:
            return self._classic_member_step(run, self._random.choice(present))
        if waiting and chance < 0.55:
            return self._join(run, self._random.choice(waiting))
        if described and chance < (0.65 if len(described) < CONSUMER_MAX_SIZE else 0.56):
            return self._join(run, self._new_slot(group), member_id="")
        return super()._consumer_step(run, group)

    def _classic_member_step(self, run: ConsumerLockstep, slot: Slot) -> Step:
        """The steps of a member of the classic protocol in a group of the other one."""
        chance = self._random.random()
        if chance < 0.3:
            return self._heartbeat(run, slot)
        if chance < 0.55:
            return self._join(run, self._changed(slot, often=0.3))
        if chance < 0.85:
            return self._sync(run, slot, leads=False)
        if chance < 0.93:
            return self._leave(run, [slot])
        body: dict[str, Any] = {"member_id": f"$id:{slot.name}", "generation_id_or_member_epoch": f"$gen:{slot.name}"}
        partitions = [{"partition_index": each, "committed_offset": self._left} for each in (0, 1, 2)]
        body |= {"group_id": f"${slot.group}", "topics": [{"name": f"${TOPICS[0]}", "partitions": partitions}]}
        return self._send(slot.connection, "OffsetCommit", body, v=self._random.choice((2, 7, 8, 9)))

    def _classic_step(self, run: ConsumerLockstep, group: str) -> Step:
        """A step about a group of the classic protocol: perhaps a member of the other one joins it."""
        if self._random.random() < 0.15:
            return self._loose(self._some_join(run, group))
        return super()._classic_step(run, group)
