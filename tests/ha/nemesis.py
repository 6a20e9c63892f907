"""The nemesis: a schedule of faults from a seed, and the log of when each began and was healed.

Faults come one after the other, with a pause in which the cluster must serve again. The schedule depends on the seed
alone. What a fault needs (proxies, a standby) decides whether an engine can have it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.ha.engines import SharedEngine
from tests.ha.nodes import EngineNode, EngineNodes
from tests.ha.proxy import Way


class Kind(Enum):
    """Kinds of faults."""

    KILL = "node killed"
    FREEZE = "node frozen"
    FREEZE_ALL = "all nodes frozen"
    SILENCE = "engine silent to a node"
    REFUSE = "engine refuses a node"
    ANSWERLESS = "answers of the engine lost"
    SLOW = "engine slow for a node"
    STOP = "node stopped"
    ADD = "node added and removed"
    RESTART_ALL = "all nodes killed"
    RESTART_EACH = "nodes restarted in turn"
    FAIL_OVER = "primary of the engine killed"
    STANDBY = "standby of the engine killed"
    FULL = "disk of the engine full"


LONGEST_S = {
    Kind.KILL: 5.0,
    Kind.FREEZE: 10.0,
    Kind.FREEZE_ALL: 6.0,
    Kind.SILENCE: 8.0,
    Kind.REFUSE: 8.0,
    Kind.ANSWERLESS: 3.0,
    Kind.SLOW: 5.0,
    Kind.STOP: 4.0,
    Kind.ADD: 8.0,
    Kind.RESTART_ALL: 2.0,
    Kind.RESTART_EACH: 2.0,
    Kind.FAIL_OVER: 1.0,
    Kind.STANDBY: 5.0,
    Kind.FULL: 5.0,
}
SHORTEST = 0.1  # of the longest duration
PAUSE_S = (2.0, 5.0)
LINK_FAULTS = {Kind.SILENCE: Way.SILENT, Kind.REFUSE: Way.REFUSING, Kind.ANSWERLESS: Way.ANSWERLESS}


class Fault(NamedTuple):
    """A fault to come. Durations in seconds."""

    kind: Kind
    node: int
    lasts_s: float
    pause_s: float


@dataclass(frozen=True)
class PastFault:
    """A fault that is over. Times are ns of the monotonic clock; `until_ns` is the end of the pause after it."""

    kind: str
    node: int
    began_ns: int
    healed_ns: int
    until_ns: int


def schedule(seed: int, count: int, kinds: Sequence[Kind], nodes: Sequence[int]) -> list[Fault]:
    """Return so many faults: each kind about equally often, in any order."""
    random = Random(seed)
    drawn: list[Kind] = []
    while len(drawn) < count:
        drawn += random.sample(kinds, len(kinds))
    return [
        Fault(kind, random.choice(nodes), LONGEST_S[kind] * random.uniform(SHORTEST, 1.0), random.uniform(*PAUSE_S))
        for kind in drawn[:count]
    ]


class Nemesis:
    """Carries faults out, one at a time. Each is healed before `run` goes on."""

    def __init__(self, engine: SharedEngine, nodes: EngineNodes, log: Path) -> None:
        self._engine = engine
        self._nodes = nodes
        self._log = log
        self.past: list[PastFault] = []
        self._acts: dict[Kind, Callable[[EngineNode, float], Awaitable[None]]] = {
            Kind.KILL: self._kill,
            Kind.FREEZE: self._freeze,
            Kind.FREEZE_ALL: self._freeze_all,
            Kind.SLOW: self._slow,
            Kind.STOP: self._stop,
            Kind.ADD: self._add,
            Kind.RESTART_ALL: self._restart_all,
            Kind.RESTART_EACH: self._restart_each,
            Kind.FAIL_OVER: self._fail_over,
            Kind.STANDBY: self._lose_standby,
            Kind.FULL: self._fill_disk,
        }

    async def run(self, faults: Sequence[Fault], say: Callable[[str], None]) -> None:
        """Carry out all faults. Raises AssertionError if a node does not start again or ended by itself."""
        for number, fault in enumerate(faults, 1):
            say(f"{number}/{len(faults)} {fault.kind.value}: node {fault.node}, {fault.lasts_s:.1f} s")
            await self._carry_out(fault)
            complaints = self._nodes.complaints()
            assert not complaints, "\n".join(complaints)

    async def _carry_out(self, fault: Fault) -> None:
        node = self._nodes.nodes[fault.node]
        began = time.monotonic_ns()
        if fault.kind in LINK_FAULTS:
            await self._break_link(node, LINK_FAULTS[fault.kind], fault.lasts_s)
        else:
            await self._acts[fault.kind](node, fault.lasts_s)
        healed = time.monotonic_ns()
        await asyncio.sleep(fault.pause_s)
        past = PastFault(fault.kind.value, fault.node, began, healed, time.monotonic_ns())
        self.past.append(past)
        with self._log.open("a") as file:
            file.write(json.dumps(asdict(past)) + "\n")

    async def _kill(self, node: EngineNode, seconds: float) -> None:
        node.kill()
        await asyncio.sleep(seconds)
        await node.start()

    async def _freeze(self, node: EngineNode, seconds: float) -> None:
        node.freeze()
        try:
            await asyncio.sleep(seconds)
        finally:
            node.thaw()

    async def _freeze_all(self, node: EngineNode, seconds: float) -> None:
        """Freeze all nodes: after the lease each of them believes that the others are dead."""
        running = [self._nodes.nodes[number] for number in self._nodes.first]
        for each in running:
            each.freeze()
        try:
            await asyncio.sleep(seconds)
        finally:
            for each in running:
                each.thaw()

    async def _break_link(self, node: EngineNode, way: Way, seconds: float) -> None:
        for proxy in node.proxies:
            proxy.break_off(way)
        try:
            await asyncio.sleep(seconds)
        finally:
            for proxy in node.proxies:
                proxy.heal()

    async def _slow(self, node: EngineNode, seconds: float) -> None:
        for proxy in node.proxies:
            proxy.delay_s = min(0.5, seconds / 10)
        try:
            await asyncio.sleep(seconds)
        finally:
            for proxy in node.proxies:
                proxy.heal()

    async def _stop(self, node: EngineNode, seconds: float) -> None:
        code = await node.terminate()
        assert code == 0, f"node {node.number} ended with {code} after SIGTERM: {node.daemon.log_tail()}"
        await asyncio.sleep(seconds)
        await node.start()

    async def _add(self, node: EngineNode, seconds: float) -> None:
        """Add the spare node, and remove it again."""
        spare = self._nodes.nodes[self._nodes.spare]
        await spare.start()
        await asyncio.sleep(seconds)
        code = await spare.terminate()
        assert code == 0, f"node {spare.number} ended with {code} after SIGTERM: {spare.daemon.log_tail()}"

    async def _restart_all(self, node: EngineNode, seconds: float) -> None:
        running = [self._nodes.nodes[number] for number in self._nodes.first]
        for each in running:
            each.kill()
        await asyncio.sleep(seconds)
        await asyncio.gather(*(each.start() for each in running))

    async def _restart_each(self, node: EngineNode, seconds: float) -> None:
        """Stop and start each node, with so many seconds before the next one: a rolling restart."""
        for number in self._nodes.first:
            await self._stop(self._nodes.nodes[number], 0.0)
            await asyncio.sleep(seconds)

    async def _fail_over(self, node: EngineNode, seconds: float) -> None:
        """Kill the primary and promote the standby after so many seconds; then make a new standby."""
        await asyncio.to_thread(self._engine.fail_over, seconds)
        self._nodes.aim()

    async def _lose_standby(self, node: EngineNode, seconds: float) -> None:
        await asyncio.to_thread(self._engine.lose_standby, seconds)

    async def _fill_disk(self, node: EngineNode, seconds: float) -> None:
        await asyncio.to_thread(self._engine.fill_disk, seconds)
