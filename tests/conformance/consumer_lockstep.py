"""A lockstep whose scripts may have KIP-848 groups: topics come and go, and simulated clients follow assignments.

`topics` creates, extends or deletes topics, `converge` lets all members of a group follow their assignments until
nothing changes, `wait` may keep the sessions of some clients alive, `pass` waits until regular expressions may be
resolved again (Kafka does so every ten seconds at most).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Final

from tests.conformance.consumer_outline import twice_assigned
from tests.conformance.consumer_side import BEAT, ConsumerSide
from tests.conformance.lockstep import SHORT_MS, FreeChoiceError, Lockstep
from tests.conformance.regex_clock import RegexClock, may_resolve
from tests.conformance.script import Step

KEEP_EVERY_S: Final = SHORT_MS / 1000 / 5


class ConsumerLockstep(Lockstep):
    """One run of a script of any kind."""

    side_class = ConsumerSide
    kafka: ConsumerSide
    ours: ConsumerSide

    def __init__(self, kafka_port: int, our_port: int, *, has_short_sessions: bool = False) -> None:
        super().__init__(kafka_port, our_port)
        self.has_short_sessions = has_short_sessions
        self._regexes = RegexClock()
        self._kept_at = 0.0

    async def _act(self, index: int, step: Step) -> None:
        if step["op"] == "topics":
            await self._both("change_topics", step, self.groups)
        elif step["op"] == "converge":
            await self._both("settle_members", step["g"])
        elif step["op"] == "pass":
            await self._regexes.let_pass()
        else:
            await super()._act(index, step)
        if may_resolve(step, self.kafka, self.ours):
            await self._both("await_regexes")
        if step["op"] in ("topics", "converge", "pass") or may_resolve(step, self.kafka, self.ours):
            await self._converge(index)

    async def _both(self, verb: str, *arguments: Any) -> None:
        """Do the same on both sides, which say what they did not get to know in time."""
        unknown = await asyncio.gather(*(getattr(side, verb)(*arguments) for side in (self.kafka, self.ours)))
        if unknown[0] != unknown[1] and self.outcome.difference is None:
            self._differ(len(self.script) - 1, "one side does not get to know something", unknown[0], unknown[1])

    def regex_age_s(self) -> float:
        """Return how long ago the script subscribed by a regular expression first, or since time had passed."""
        return self._regexes.age_s()

    async def _while_waiting(self) -> None:
        """Keep the sessions of some clients alive, which follow their assignments meanwhile."""
        now = asyncio.get_running_loop().time()
        if self.script[-1].get("keep") and now - self._kept_at > KEEP_EVERY_S:
            self._kept_at = now
            await self._both("keep_alive", self.script[-1]["keep"])

    def _watch_time(self, step: Step) -> None:
        self._short = self._short or (self.has_short_sessions and step.get("api") == BEAT)
        super()._watch_time(step)
        self._regexes.watch(step)

    def _votes_are_equal(self) -> bool:
        """Return whether two assignors have the same number of votes in a group: Kafka is not of one mind then."""
        for group in self.kafka.consumers:
            votes = Counter(self.kafka.votes_in(group))
            if len(votes) > 1 and len({count for _, count in votes.most_common(2)}) == 1:
                return True
        return False

    def _compare(self, index: int) -> None:
        if self._votes_are_equal():
            raise FreeChoiceError
        if self.outcome.difference is not None:
            return
        super()._compare(index)
        for group in self.kafka.consumers:  # if it becomes a classic group, any of its members may lead that
            self._leaders.pop(f"${group}", None)
        for side in (self.kafka, self.ours):
            for group, described in side.consumers.items():
                for field in ("assignment", "target_assignment"):
                    twice = twice_assigned(described, field)
                    if twice and self.outcome.difference is None:
                        self._differ(index, f"group {group}: two members have it in {field}", side.name, twice)
