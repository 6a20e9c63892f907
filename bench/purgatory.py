"""`make bench-purgatory`: waiting requests, as in "Apache Kafka, Purgatory, and Hierarchical Timing Wheels".

The workload of that article (Kafka's TestPurgatoryPerformance): requests arrive at a rate, with exponentially
distributed gaps; each watches the same three keys and times out after 200 ms; something satisfies it after a time drawn
from a log-normal distribution. Low timeout rate: half within 20 ms, three quarters within 60 ms. High: half within
200 ms, three quarters within 400 ms, so that half of all time out.

Four designs keep the same watch lists: ours (`coordinator.core.purgatory`); a heap from which completed requests are
only purged now and then (what Kafka had before, a DelayQueue); and `loop.call_later` of asyncio and of uvloop. The
first two run on a virtual clock, as fast as they can; the last two need real time, and ours stands beside them there. A
design that does nothing shows what the driver costs, and is taken off. The figure is CPU time per request, from arrival
to completion, minimum of the runs; memory is the peak of what Python's allocator was asked for.
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import math
import random
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import uvloop

from bench.findings import Findings, parser
from bench.report import markdown_table
from coordinator.core.purgatory.purgatory import DelayedOperation, Purgatory, run_due
from coordinator.core.purgatory.timing_wheel import TimingWheel

TIMEOUT_MS: Final = 200
KEYS: Final = ("first", "second", "third")
Z75: Final = 0.6744897501960817  # three quarters of a normal distribution lie below it
PURGE_EVERY: Final = (
    10_000  # requests between two purges of the heap design; Kafka's purgatory.purge.interval was 1,000
)
NEVER: Final = 1 << 60


@dataclass(frozen=True, slots=True)
class Workload:
    """Times until requests are satisfied: (name, 50th and 75th percentile in ms)."""

    name: str
    p50_ms: float
    p75_ms: float

    def events(self, rate: int, seconds: float, seed: int = 1) -> tuple[list[tuple[float, bool, int]], int]:
        """(ms, whether it is satisfied, request), ascending; and how many requests there are."""
        chance = random.Random(seed)
        mu, sigma = math.log(self.p50_ms), math.log(self.p75_ms / self.p50_ms) / Z75
        events, now_ms, number = [], 0.0, 0
        while now_ms < seconds * 1000:
            events.append((now_ms, False, number))
            satisfied_ms = now_ms + chance.lognormvariate(mu, sigma)
            if satisfied_ms < now_ms + 2 * TIMEOUT_MS:  # an error in the others would not be seen
                events.append((satisfied_ms, True, number))
            number += 1
            now_ms += chance.expovariate(rate / 1000)
        events.sort()
        return events, number


LOW: Final = Workload("low", 20, 60)
HIGH: Final = Workload("high", 200, 400)


class Design(Protocol):
    """A purgatory. Its driver hands in the clock."""

    satisfied: int
    expired: int

    def arrive(self, number: int, now_ms: int) -> None: ...

    def satisfy(self, number: int) -> None: ...

    def run_until(self, now_ms: int) -> None:
        """Let time pass; designs that sit on an event loop have their own."""

    def next_ms(self) -> int: ...


class Nothing:
    """The cost of the driver alone."""

    def __init__(self) -> None:
        self.satisfied = self.expired = 0

    def arrive(self, number: int, now_ms: int) -> None:
        self.expired += 1

    def satisfy(self, number: int) -> None:
        return

    def run_until(self, now_ms: int) -> None:
        return

    def next_ms(self) -> int:
        return NEVER


class _Request(DelayedOperation["Ours"]):
    __slots__ = ("number",)

    def __init__(self, number: int, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.number = number

    def on_complete(self, context: Ours) -> None:
        del context.waiting[self.number]
        context.satisfied += 1

    def on_expiration(self, context: Ours) -> None:
        context.expired += 1
        context.satisfied -= 1


class Ours:
    def __init__(self) -> None:
        self.satisfied = self.expired = 0
        self.wheel: TimingWheel[DelayedOperation[Ours]] = TimingWheel()
        self.purgatory: Purgatory[Ours] = Purgatory("Bench", self.wheel)
        self.waiting: dict[int, _Request] = {}

    def arrive(self, number: int, now_ms: int) -> None:
        self.waiting[number] = operation = _Request(number, now_ms + TIMEOUT_MS)
        self.purgatory.try_complete_else_watch(operation, KEYS, self)

    def satisfy(self, number: int) -> None:
        operation = self.waiting.get(number)
        if operation is not None:
            operation.force_complete(self)

    def run_until(self, now_ms: int) -> None:
        run_due(self.wheel, now_ms, self, NEVER)

    def next_ms(self) -> int:
        due_ms = self.wheel.next_deadline_ms()
        return NEVER if due_ms is None else due_ms


class _Waiting:
    __slots__ = ("handle", "is_completed", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_completed = False
        self.handle: asyncio.TimerHandle | None = None


class Heap:
    """Completed requests stay in the heap and in the watch lists until a purge, or until their time is up."""

    def __init__(self) -> None:
        self.satisfied = self.expired = 0
        self.waiting: dict[int, _Waiting] = {}
        self.queue: list[tuple[int, int, _Waiting]] = []
        self.watchers: dict[str, list[_Waiting]] = {key: [] for key in KEYS}
        self.since_purge = 0

    def arrive(self, number: int, now_ms: int) -> None:
        self.waiting[number] = request = _Waiting(number)
        for key in KEYS:
            self.watchers[key].append(request)
        heapq.heappush(self.queue, (now_ms + TIMEOUT_MS, number, request))
        self.since_purge += 1
        if self.since_purge >= PURGE_EVERY:
            self.since_purge = 0
            self.queue = [each for each in self.queue if not each[2].is_completed]
            heapq.heapify(self.queue)
            for key, watching in self.watchers.items():
                self.watchers[key] = [each for each in watching if not each.is_completed]

    def satisfy(self, number: int) -> None:
        request = self.waiting.pop(number, None)
        if request is not None:
            request.is_completed = True
            self.satisfied += 1

    def run_until(self, now_ms: int) -> None:
        queue = self.queue
        while queue and queue[0][0] <= now_ms:
            request = heapq.heappop(queue)[2]
            if not request.is_completed:
                request.is_completed = True
                del self.waiting[request.number]
                self.expired += 1

    def next_ms(self) -> int:
        return self.queue[0][0] if self.queue else NEVER


class CallLater:
    """One timer of the event loop for each request; watch lists from which a request goes at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.satisfied = self.expired = 0
        self.loop = loop
        self.waiting: dict[int, _Waiting] = {}
        self.watchers: dict[str, dict[_Waiting, None]] = {key: {} for key in KEYS}

    def arrive(self, number: int, now_ms: int) -> None:
        self.waiting[number] = request = _Waiting(number)
        for key in KEYS:
            self.watchers[key][request] = None
        request.handle = self.loop.call_later(TIMEOUT_MS / 1000, self._expire, request)

    def _leave(self, request: _Waiting) -> None:
        request.is_completed = True
        for key in KEYS:
            del self.watchers[key][request]

    def satisfy(self, number: int) -> None:
        request = self.waiting.pop(number, None)
        if request is not None:
            assert request.handle is not None
            request.handle.cancel()
            self._leave(request)
            self.satisfied += 1

    def _expire(self, request: _Waiting) -> None:
        del self.waiting[request.number]
        self._leave(request)
        self.expired += 1

    def run_until(self, now_ms: int) -> None:
        return

    def next_ms(self) -> int:
        return NEVER


def drive_virtually(design: Design, events: list[tuple[float, bool, int]]) -> float:
    """Play the events on a clock that jumps; CPU seconds."""
    begun = time.process_time()
    for at_ms, is_satisfied, number in events:
        now_ms = int(at_ms)
        if design.next_ms() <= now_ms:
            design.run_until(now_ms)
        if is_satisfied:
            design.satisfy(number)
        else:
            design.arrive(number, now_ms)
    design.run_until(int(events[-1][0]) + TIMEOUT_MS + 1)
    return time.process_time() - begun


async def _in_real_time(make: Callable[[], Design], events: list[tuple[float, bool, int]]) -> tuple[Design, float]:
    loop = asyncio.get_running_loop()
    design, done, place = make(), loop.create_future(), 0
    gc.collect()
    begun, cpu = loop.time(), time.process_time()

    def turn() -> None:
        nonlocal place
        now_ms = (loop.time() - begun) * 1000
        design.run_until(int(now_ms))
        while place < len(events) and events[place][0] <= now_ms:
            _, is_satisfied, number = events[place]
            place += 1
            if is_satisfied:
                design.satisfy(number)
            else:
                design.arrive(number, int(now_ms))
        if place < len(events) or now_ms < events[-1][0] + 2 * TIMEOUT_MS:
            loop.call_later(0.001, turn)
        else:
            done.set_result(None)

    turn()
    await done
    return design, time.process_time() - cpu


def drive_really(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], kind: str, events: list[tuple[float, bool, int]]
) -> tuple[Design, float]:
    """Play the events in real time on an event loop; CPU seconds."""
    loop = loop_factory()
    makers: dict[str, Callable[[], Design]] = {
        "nothing": Nothing,
        "ours": Ours,
        "call_later": lambda: CallLater(loop),
    }
    try:
        return loop.run_until_complete(_in_real_time(makers[kind], events))
    finally:
        loop.close()


def check(name: str, design: Design, requests: int) -> float:
    """Everything completed exactly once; gives the share that timed out."""
    assert design.satisfied + design.expired == requests, f"{name}: {design.satisfied}+{design.expired} of {requests}"
    return design.expired / requests


def peak_bytes(run: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def virtual(findings: Findings, rates: list[int], seconds: float, runs: int) -> None:
    rows = []
    for workload in (LOW, HIGH):
        for rate in rates:
            events, requests = workload.events(rate, seconds)
            best = {}
            for _ in range(runs):  # taking turns
                for make in (Nothing, Ours, Heap):
                    gc.collect()
                    design: Design = make()
                    cpu_s = drive_virtually(design, events)
                    late = check(make.__name__, design, requests)
                    best[make.__name__] = min(cpu_s, best.get(make.__name__, (cpu_s,))[0]), late
            base = best["Nothing"][0]
            cost = {name: (cpu_s - base) / requests * 1e6 for name, (cpu_s, _) in best.items()}
            memory = {make.__name__: peak_bytes(partial(drive_virtually, make(), events)) for make in (Ours, Heap)}
            findings.raw.setdefault("virtual", []).append(
                {
                    "timeouts": workload.name,
                    "rate": rate,
                    "share_late": best["Ours"][1],
                    "cpu_us": cost,
                    "bytes": memory,
                }
            )
            rows.append(
                [workload.name, f"{rate:,}", f"{best['Ours'][1]:.1%}", f"{cost['Ours']:.2f}", f"{cost['Heap']:.2f}"]
            )
            rows[-1] += [f"{memory['Ours'] / 1e6:.2f}", f"{memory['Heap'] / 1e6:.2f}"]
            findings.progress(f"virtual clock, {workload.name} timeouts, {rate:,}/s: {cost['Ours']:.2f} µs (ours)")
    headings = ["timeouts", "requests/s", "timed out", "ours, µs", "heap, µs", "ours, peak MB", "heap, peak MB"]
    findings.table("CPU per request on a virtual clock, three keys, 200 ms", markdown_table(headings, rows))


def real(findings: Findings, rate: int, seconds: float, runs: int) -> None:
    rows = []
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
        "asyncio": asyncio.new_event_loop,
        "uvloop": uvloop.new_event_loop,
    }
    for workload in (LOW, HIGH):
        events, requests = workload.events(rate, seconds)
        for name, loop_factory in loops.items():
            best: dict[str, float] = {}
            memory: dict[str, int] = {}
            for _ in range(runs):
                for kind in ("nothing", "ours", "call_later"):
                    design, cpu_s = drive_really(loop_factory, kind, events)
                    check(f"{kind} on {name}", design, requests)
                    best[kind] = min(cpu_s, best.get(kind, cpu_s))
            for kind in ("ours", "call_later"):
                memory[kind] = peak_bytes(partial(drive_really, loop_factory, kind, events))
            cost = {kind: (best[kind] - best["nothing"]) / requests * 1e6 for kind in ("ours", "call_later")}
            findings.raw.setdefault("real_time", []).append(
                {"timeouts": workload.name, "rate": rate, "loop": name, "cpu_us": cost, "bytes": memory}
            )
            rows.append([workload.name, f"{rate:,}", name, f"{cost['ours']:.2f}", f"{cost['call_later']:.2f}"])
            rows[-1] += [f"{memory['ours'] / 1e6:.2f}", f"{memory['call_later'] / 1e6:.2f}"]
            findings.progress(
                f"{name}, {workload.name}: ours {cost['ours']:.2f}, call_later {cost['call_later']:.2f} µs"
            )
    headings = [
        "timeouts",
        "requests/s",
        "event loop",
        "ours, µs",
        "call_later, µs",
        "ours, peak MB",
        "call_later, peak MB",
    ]
    findings.table("The same in real time, beside the event loop's own timers", markdown_table(headings, rows))


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--runs", type=int, default=3, help="of each; the minimum counts (default 3)")
    args = arguments.parse_args()
    rates, seconds = ([20_000], 1.0) if args.quick else ([10_000, 40_000, 160_000], 3.0)
    findings = Findings("purgatory", "Waiting requests (the purgatory article's workload)")
    findings.attempt("ours and a heap, virtual clock", lambda: virtual(findings, rates, seconds, args.runs))
    findings.attempt("ours and call_later, real time", lambda: real(findings, 20_000, seconds / 1.5, args.runs))
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())
