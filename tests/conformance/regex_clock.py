"""The clock of regular expressions: a group resolves them at most once in ten seconds. No step may come near that."""

from __future__ import annotations

import asyncio
from typing import Final

from tests.conformance.consumer_side import BEAT, ConsumerSide
from tests.conformance.lockstep import InconclusiveError
from tests.conformance.script import Step

RESOLVED_AGAIN_S: Final = 10.0
SAFE_S: Final = 8.0


class RegexClock:
    """The time since a script subscribed by a regular expression first, or since the ten seconds were over."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._has_regexes = False

    def age_s(self) -> float:
        return 0.0 if self._since is None else asyncio.get_running_loop().time() - self._since

    def watch(self, step: Step) -> None:
        """Take note of a step that is about to be done. Raises InconclusiveError if it is too late for it."""
        if step["op"] != "pass" and self.age_s() > SAFE_S:
            raise InconclusiveError
        self._has_regexes = self._has_regexes or bool(step.get("body", {}).get("subscribed_topic_regex"))
        if self._since is None and self._has_regexes:
            self._since = asyncio.get_running_loop().time()

    async def let_pass(self) -> None:
        """Wait until each regular expression may be resolved again."""
        await asyncio.sleep(RESOLVED_AGAIN_S + 0.5)
        self._since = None


def may_resolve(step: Step, *sides: ConsumerSide) -> bool:
    """Return whether a step may have made a server look for what matches regular expressions."""
    if step.get("api") != BEAT and step["op"] != "converge":
        return False
    members = [member for side in sides for each in side.consumers.values() for member in each.get("members", [])]
    return any(member.get("subscribed_topic_regex") for member in members)
