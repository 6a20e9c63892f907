"""Runs one script against two servers, step by step, and says where they first differ.

After each step both are asked until they agree on which requests are answered and on what the groups look like, or
until neither can be expected to change: only then are the answers compared. So nothing is called a difference that is
merely later on one side, and a request counts as parked only when both servers are quiet. What Kafka leaves to chance
(which member leads after the leader left, which of two protocols wins a tied vote) ends a script without a verdict, and
so does a short timer that came too near to a step: such a run says nothing and is made again.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.conformance.known import MAX_SIZE, NOT_ANSWERED, Disagreement, known_difference
from tests.conformance.script import CAN_PARK, Script, Step, groups_of, words
from tests.conformance.side import DROPPED, Side

AGREE_S: Final = 4.0  # how long one server may be behind the other
ANSWER_S: Final = 10.0  # a request that never parks is answered by then
QUIET_S: Final = 0.035  # parked, when neither answered in this time and both were asked twice since
PREPARING: Final = "PreparingRebalance"
INITIAL_DELAY_MS: Final = 500
SHORT_MS: Final = 1200  # session and rebalance timeouts of the scripts that wait for them to pass
MARGIN_S: Final = 0.35
MIN_SESSION_MS: Final = 100

CONSUMER_MAX_SIZE: Final = 4
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": str(INITIAL_DELAY_MS),
    "group.max.size": str(MAX_SIZE),
    "group.min.session.timeout.ms": str(MIN_SESSION_MS),
    "group.consumer.max.size": str(CONSUMER_MAX_SIZE),
    "group.consumer.session.timeout.ms": "300000",
    "group.consumer.max.session.timeout.ms": "300000",
    # Ours tells members that wait for partitions a shorter interval, unless another one than the default is configured.
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "4000",
}
# All members of KIP-848 groups on a server have the same session timeout, so scripts that wait for it have their own.
SHORT_SESSIONS: Final = {
    "group.consumer.session.timeout.ms": str(SHORT_MS),
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
}
# Kafka, too, computes an assignment in the event that needs it, and resolves regular expressions in their order.
KAFKA_SETTINGS: Final = {
    **SETTINGS,
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.assignor.offload.enable": "false",
    "group.coordinator.background.threads": "1",
}


def overrides(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return settings as arguments of our daemon."""
    return tuple(f"{key}={value}" for key, value in settings.items())


OUR_OVERRIDES: Final = overrides(SETTINGS)
TOPICS: Final = {"t0": 4, "t1": 2}

_runs = itertools.count()


class InconclusiveError(Exception):
    """The machine was too slow for a short timer: the run says nothing."""


class FreeChoiceError(Exception):
    """The servers chose differently where Kafka leaves the choice open: nothing after that can be compared."""


class InitialDelays:
    """Watches how long groups have been waiting for their first members, so that no step comes near the end of it."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def longest_s(self, step: Step, before: dict[str, Any], changed: dict[str, Any], now: float) -> float:
        """Return after a step the longest time that a group has been waiting. `settle` may take longer."""
        for group, described in changed.items():
            was = before.get(group)
            was_empty = was is None or was["group_state"] in ("Empty", "Dead")
            if described["group_state"] == PREPARING and was_empty:
                self._since[group] = now
            elif described["group_state"] != PREPARING:
                self._since.pop(group, None)
        return 0.0 if step["op"] in ("settle", "wait") else self.age_s(now)

    def age_s(self, now: float) -> float:
        """Return the longest time that a group has been waiting."""
        return max((now - since for since in self._since.values()), default=0.0)


@dataclass(slots=True)
class Difference:
    """The first difference of two servers."""

    index: int
    step: Step
    what: str
    kafka: Any
    ours: Any

    def __str__(self) -> str:
        return f"step {self.index} ({words(self.step)}): {self.what}\n    Kafka: {self.kafka}\n    ours:  {self.ours}"


@dataclass(slots=True)
class Outcome:
    """The result of a run. `seen` holds, for each step, Kafka's answers and its groups at the end of the step."""

    steps: int = 0
    difference: Difference | None = None
    known: Counter[str] = field(default_factory=Counter)
    inconclusive: bool = False
    longest_delay_s: float = 0.0  # how near a step came to the end of an initial delay
    free_choice: bool = False
    seen: list[dict[str, Any]] = field(default_factory=list)


class Lockstep:
    """One run. `next_step` is asked for each step with this object, so that a generator can look at the groups."""

    side_class: type[Side] = Side

    def __init__(self, kafka_port: int, our_port: int, sasl_ports: tuple[int, int] = (0, 0)) -> None:
        prefix = f"x{os.getpid()}.{next(_runs)}."
        self.kafka = self.side_class("Kafka", kafka_port, prefix, sasl_ports[0])
        self.ours = self.side_class("ours", our_port, prefix, sasl_ports[1])
        self.script: Script = []
        self.outcome = Outcome()
        self.groups: list[str] = []
        self._ignored: set[int] = set()  # requests that differ in a known way
        self._compared: set[int] = set()
        self._leaders: dict[str, str] = {}
        self._armed_at: float | None = None
        self._short = False
        self._kept: set[int] = set()
        self._delays = InitialDelays()
        self._before: dict[str, Any] = {}
        self._stuck: set[int] = set()  # connections that a known difference has blocked on one side

    async def run(self, next_step: Callable[[Lockstep], Step | None]) -> Outcome:
        try:
            while (step := next_step(self)) is not None:
                await self._step(step)
                if self.outcome.difference is not None:
                    break
        except InconclusiveError:
            self.outcome.inconclusive = True
        except FreeChoiceError:
            self.outcome.free_choice = True
        finally:
            await asyncio.gather(self.kafka.close(), self.ours.close())
        return self.outcome

    async def replay(self, script: Script) -> Outcome:
        steps = iter(script)
        return await self.run(lambda _: next(steps, None))

    # --- one step ---

    async def _step(self, step: Step) -> None:
        index = len(self.script)
        self.script.append(step)
        for group in groups_of([step]):
            if group not in self.groups:
                self.groups.append(group)
        self._watch_time(step)
        await self._act(index, step)
        self._compare(index)
        for connection in self._stuck:
            for side in (self.kafka, self.ours):
                self._ignored.update(each for each, sent in side.pending.items() if sent.connection == connection)
                await side.end(connection)
            self._ignored.update(each for each, answer in self.ours.answers.items() if answer is DROPPED)
        self._stuck.clear()
        self._keep()
        self.outcome.steps += 1

    async def _act(self, index: int, step: Step) -> None:
        """Do on both sides what the step says, and wait for the outcome."""
        if step["op"] == "settle":
            await self._converge(index, until=lambda side: side.state(step["g"]) != PREPARING)
        elif step["op"] == "wait":
            await self._wait()
        else:
            must_answer = step["op"] != "close" and step.get("api") not in CAN_PARK
            must_answer = must_answer and not self.kafka.blocked(step["c"]) and not self.ours.blocked(step["c"])
            if step.get("api") == "ListGroups":
                await self._list_alike()
            await asyncio.gather(self.kafka.execute(index, step), self.ours.execute(index, step))
            await self._converge(index, must_answer=must_answer)

    def _watch_time(self, step: Step) -> None:
        """A step must not come near the moment when a short timer is due."""
        now = asyncio.get_running_loop().time()
        if self._armed_at is not None and now - self._armed_at > 0.6 * SHORT_MS / 1000:
            raise InconclusiveError
        if step["op"] not in ("settle", "wait") and self._delays.age_s(now) > 0.8 * INITIAL_DELAY_MS / 1000:
            raise InconclusiveError
        timeouts = [step.get("body", {}).get(f"{name}_timeout_ms", 60_000) for name in ("session", "rebalance")]
        if step.get("v") == 0 and step.get("api") == "JoinGroup":
            timeouts = timeouts[:1]
        if MIN_SESSION_MS <= min(timeouts) <= SHORT_MS:
            self._short = True
        if step["op"] == "wait":
            self._armed_at = None
        elif self._short and self._armed_at is None:
            self._armed_at = now

    def time_is_short(self) -> bool:
        """Return whether a generator should wait now rather than risk an inconclusive run."""
        now = asyncio.get_running_loop().time()
        return self._armed_at is not None and now - self._armed_at > 0.35 * SHORT_MS / 1000

    async def _look(self) -> None:
        await asyncio.gather(self.kafka.look(self.groups), self.ours.look(self.groups))

    async def _list_alike(self) -> None:
        """Wait until both list the same groups. A new group is listed once its record is durable."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        while loop.time() - started < AGREE_S:
            kafka, ours = await asyncio.gather(self.kafka.listed(), self.ours.listed())
            if kafka == ours:
                return
            await asyncio.sleep(0.005)

    async def _wait(self) -> None:
        """Wait until nothing changes on Kafka for longer than any short timer."""
        loop = asyncio.get_running_loop()
        for _ in range(8):
            await self._look()
            before = (self.kafka.view, set(self.kafka.answers))
            started = loop.time()
            while loop.time() - started < SHORT_MS / 1000 + MARGIN_S:
                await asyncio.sleep(0.05)
                await self._while_waiting()
                await self._look()
                if (self.kafka.view, set(self.kafka.answers)) != before:
                    break
            else:
                break
        await self._converge(len(self.script) - 1)

    async def _while_waiting(self) -> None:
        """Do what goes on during a `wait`: nothing."""

    async def _converge(
        self, index: int, *, must_answer: bool = False, until: Callable[[Side], bool] | None = None
    ) -> None:
        """Wait until both servers agree on the answers and on the groups, up to a time limit."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        step = self.script[index]
        quiet_at = started + (QUIET_S if step.get("api") in CAN_PARK else 0)
        agreed = 0
        while True:
            await self._look()
            now = loop.time()
            kafka, ours = self._answered()
            done = index in kafka and index in ours
            waiting = must_answer and not done
            agrees = kafka == ours and self._same_views()
            if until is not None and not (until(self.kafka) and until(self.ours)):
                agrees, waiting = False, True
            if agrees and not waiting and (done or now >= quiet_at or step["op"] != "send"):
                agreed += 1
                if agreed >= 2:
                    return
            else:
                agreed = 0
            if now - started > (ANSWER_S if waiting else AGREE_S):
                return
            await asyncio.sleep(0.002)

    def _answered(self) -> tuple[set[int], set[int]]:
        return set(self.kafka.answers) - self._ignored, set(self.ours.answers) - self._ignored

    def _same_views(self) -> bool:
        return self.kafka.outlines(self.groups) == self.ours.outlines(self.groups)

    # --- the verdict ---

    def _compare(self, index: int) -> None:
        kafka, ours = self._answered()
        for each in sorted(kafka ^ ours):
            step = self.script[each]
            if step["c"] in self._stuck:
                raise FreeChoiceError  # it waited behind a request that Kafka never answers; here it has run
            what = f"answered by {'Kafka' if each in kafka else 'us'} alone"
            sides = [
                side.comparable(each, step) if each in side.answers else NOT_ANSWERED
                for side in (self.kafka, self.ours)
            ]
            if self._may_choose_another_protocol(step, sides):
                raise FreeChoiceError
            if not self._forgive(each, index, sides[0], sides[1]):
                return self._differ(index if each == index else each, what, sides[0], sides[1])
        for each in sorted((kafka & ours) - self._compared):
            self._compared.add(each)
            step = self.script[each]
            sides = [side.comparable(each, step) for side in (self.kafka, self.ours)]
            if step.get("api") == "JoinGroup":
                self._check_choices(step, sides[0], sides[1])
            if sides[0] != sides[1] and not self._forgive(each, index, sides[0], sides[1]):
                return self._differ(each, "answers differ", sides[0], sides[1])
        for group in self.groups:
            outlines = [side.outlines([group])[group] for side in (self.kafka, self.ours)]
            names = {(outline or {}).get("protocol_data") for outline in outlines}
            if len(names) == 2 and self._is_tied(f"${group}", names):  # a consumer group became a classic one
                raise FreeChoiceError
            if outlines[0] != outlines[1] and not self._forgive(index, index, outlines[0], outlines[1]):
                return self._differ(index, f"group {group} is different afterwards", outlines[0], outlines[1])
        return None

    def _keep(self) -> None:
        """Note for the corpus what Kafka had answered, and what its groups look like, when this step was over."""
        new = sorted(self._compared - self._kept)
        self._kept.update(new)
        groups = self.kafka.outlines(self.groups)
        changed = {name: each for name, each in groups.items() if each != self._before.get(name)}
        now = asyncio.get_running_loop().time()
        delay_s = self._delays.longest_s(self.script[-1], self._before, changed, now)
        self.outcome.longest_delay_s = max(self.outcome.longest_delay_s, delay_s)
        self.outcome.seen.append(
            {
                "answers": {str(each): self.kafka.comparable(each, self.script[each]) for each in new},
                "groups": changed,
            }
        )
        self._before = groups

    def _forgive(self, index: int, now: int, kafka: Any, ours: Any) -> bool:
        """Return whether it is one of the listed differences; some of them end the script."""
        after = self.kafka.outlines(self.groups)
        said = getattr(self.kafka.answers.get(now), "error_code", None)
        found = known_difference(Disagreement(self.script, index, now, kafka, ours, self._before, after, said))
        if found is None:
            return False
        self.outcome.known[found.name] += 1
        self._ignored.add(index)
        if found.ends_script:
            raise FreeChoiceError
        if found.closes:
            self._stuck.add(self.script[index]["c"])
        return True

    def _differ(self, index: int, what: str, kafka: Any, ours: Any) -> None:
        self.outcome.difference = Difference(index, self.script[index], what, kafka, ours)

    def _check_choices(self, step: Step, kafka: Any, ours: Any) -> None:
        """Stop where the servers made different choices that were theirs to make."""
        if kafka.get("error_code") or ours.get("error_code"):
            return
        group = step["body"]["group_id"]
        before = self._leaders.get(group)
        leaders = {kafka.get("leader", ""), ours.get("leader", "")}
        if len(leaders) == 2 and before not in leaders:
            raise FreeChoiceError
        self._leaders[group] = kafka.get("leader", "")
        names = {kafka.get("protocol_name"), ours.get("protocol_name")}
        if len(names) == 2 and self._is_tied(group, names):
            raise FreeChoiceError

    def _may_choose_another_protocol(self, step: Step, sides: Sequence[Any]) -> bool:
        """Return whether a static member replaces its former run, and another protocol has as many votes.

        The group rebalances only if the choice is another one than before.
        """
        body = step["body"]
        if step.get("api") != "JoinGroup" or not body.get("group_instance_id"):
            return False
        names = {side.get("protocol_name") for side in sides if side != NOT_ANSWERED}
        others = {each["name"] for each in body["protocols"]} - names
        return any(self._is_tied(body["group_id"], names | {other}) for other in others)

    def _is_tied(self, group: str, names: set[Any]) -> bool:
        """Return whether the members' newest lists give these two protocols the same number of votes."""
        lists: dict[str, list[str]] = {}
        newest: dict[str, str] = {}  # instance id -> the slot that named it last
        for step in self.script:
            if step.get("api") == "JoinGroup" and step["body"]["group_id"] == group:
                slot, instance = step.get("as", ""), step["body"].get("group_instance_id")
                lists[slot] = [each["name"] for each in step["body"]["protocols"]]
                if instance is not None:
                    newest[instance] = slot
        members = self.kafka.view[group[1:]].get("members", [])
        present = {each.get("member_id", "")[4:].split("#")[0] for each in members}
        # A static member may have got no answer, so that its member id is not known.
        present |= {newest[each["group_instance_id"]] for each in members if each.get("group_instance_id") in newest}
        lists = {slot: names_of for slot, names_of in lists.items() if slot in present}
        votes = Counter(next((each for each in names_of if each in names), None) for names_of in lists.values())
        return len({votes[each] for each in names}) == 1


async def retried(make: Callable[[], Lockstep], script: Script, attempts: int = 3) -> Outcome:
    """Replay a script until a run is conclusive."""
    outcome = Outcome(inconclusive=True)
    for _ in range(attempts):
        outcome = await make().replay(script)
        if not outcome.inconclusive:
            break
    return outcome
