"""A schedule: steps that a server under test takes while copies of an application consume from it.

A step is a verb of `coordinator.testing`, or something that happens to a copy of the application. Schedules are values:
they are generated from a seed, made shorter, written to a file and read again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

FIRST_COPY: Final = 1


class Step(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One step, `after_ms` behind the one before. `copy`, `node`: those that it concerns; 0: none, or all of them."""

    do: str
    after_ms: int = 0
    copy: int = 0
    api: str = ""
    error: str = ""
    times: int = 1
    ms: int = 0
    node: int = 0
    file: str = ""
    at: str = ""  # a stage of a transaction

    def __post_init__(self) -> None:
        """Raise ValueError for a step that there is not."""
        if self.do not in STEPS:
            raise ValueError(f"there is no step {self.do!r}; there are: {', '.join(STEPS)}")

    def text(self) -> str:
        """Say the step in words."""
        return STEPS[self.do].format(
            copy=f"copy {self.copy}" if self.copy else "any copy",
            api=self.api,
            error=self.error,
            count="the next" if self.times == 1 else f"the next {self.times}",
            times=self.times,
            requests="request" if self.times == 1 else "requests",
            are="is" if self.times == 1 else "are",
            ms=self.ms,
            file=self.file or "any file",
            stage=f"{self.at} (time {self.times})" if self.times > 1 else self.at,
            node=f"node {self.node}" if self.node else "any node",
        )


STEPS: Final = {
    "rebalance": "the group is forced to rebalance",
    "kick": "{copy} is removed from the group",
    "expire": "the session of {copy} ends",
    "fail_next": "{count} {api} {requests} of {copy} {are} answered {error}",
    "delay": "{count} {api} {requests} of {copy} {are} delayed by {ms} ms",
    "lose_reply": "{count} {api} {requests} of {copy} {are} handled, and the connection closes before the answer",
    "drop_connection": "the connections of {copy} are closed",
    "move_coordinator": "the coordinator of the group moves to another node",
    "loading": "the groups are loaded for {ms} ms",
    "restart": "the server is stopped, and starts {ms} ms later",
    "crash": "the server crashes, and starts {ms} ms later",
    "pause": "the server stands still for {ms} ms",
    "kill_copy": "{copy} is killed",
    "stop_copy": "{copy} is told to end (SIGTERM)",
    "start_copy": "{copy} is started",
    "pause_copy": "{copy} is stopped (SIGSTOP) for {ms} ms",
    "produce": "records arrive",
    # at a stage of a transaction of the application, which comes later
    "crash_at": "when a transaction of {copy} is at {stage}, the server crashes, and starts {ms} ms later",
    "kill_copy_at": "when a transaction of {copy} is at {stage}, its copy is killed, and started {ms} ms later",
    "pause_copy_at": "when a transaction of {copy} is at {stage}, its copy is stopped (SIGSTOP) for {ms} ms",
    "fence_at": "when a transaction of {copy} is at {stage}, a rival takes its transactional id",
    "expire_at": "when a transaction of {copy} is at {stage}, it is aborted, as if it had passed its timeout",
    # of a simulation (`coordinator.simulation`) only
    "kill_node": "{node} is killed (SIGKILL), and starts {ms} ms later",
    "stop_node": "{node} is told to end (SIGTERM), and starts {ms} ms later",
    "pause_node": "{node} stands still for {ms} ms",
    "lose_power": "the machine of {node} loses power, and {node} starts {ms} ms later",
    "lose_power_within": "the machine of {node} loses power at its {times}th operation on {file} from now",
    "fail_disk": "{count} {api} of {file} on the disk of {node} {are} answered EIO",
    "rot_disk": "{times} bits of {file} of the offsets log rot on the disk of {node}, and are restored {ms} ms later",
    "fill_disk": "the disk of {node} is full for {ms} ms",
    "compact_node": "the offsets log of {node} is compacted; tombstones stay for {ms} ms",
    "lose_power_in_compaction": "the offsets log of {node} is compacted; tombstones stay for {ms} ms; "
    "its machine loses power when it is to {api} for the {times}th time",
    "jump_clock": "the wall clock of {node} jumps by {ms} ms",
    "cut_node": "{node} is cut off from all others for {ms} ms",
    "double_copy": "another process is started with the group.instance.id of {copy}",
    "cut_copy": "{copy} is cut off from {node} for {ms} ms",
    "slow_network": "the network is slow for {ms} ms",
    "lose_replies": "{count} answers of {node} are lost with their connections",
    "reset_connections": "all connections of {node} are reset",
    "cut_store": "{node} does not reach the store for {ms} ms: {api}",
    "spoil_store_calls": "{count} {file} {requests} of {node} to the store {are} {api}",
    "pause_in_call": "{node} stands still for {ms} ms from its next {file} in the store on",
    "kill_in_call": "{node} is killed (SIGKILL) in its next {file} in the store, and starts {ms} ms later",
    "slow_store": "the store answers {node} slowly for {ms} ms",
    "drain_node": "{node} is drained, and takes partitions again {ms} ms later",
}


class Schedule(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Steps in their order. `seed`: the number from which they were generated, with the position in its series."""

    steps: tuple[Step, ...]
    seed: int = -1
    number: int = -1

    def text(self) -> str:
        """Say the schedule in words, a line for each step."""
        return "\n".join(
            f"{number}. {f'{step.after_ms} ms later: ' if step.after_ms else ''}{step.text()}"
            for number, step in enumerate(self.steps, 1)
        )

    def without(self, first: int, count: int) -> Schedule:
        """Return the schedule without some of its steps."""
        return Schedule(self.steps[:first] + self.steps[first + count :], self.seed, self.number)


GAPS_MS: Final = (0, 0, 50, 200, 600)
# What a real coordinator may answer to a member. Each is met alone first, then together with other steps.
ANSWERS: Final[tuple[tuple[str, str], ...]] = (
    ("Heartbeat", "ILLEGAL_GENERATION"),
    ("Heartbeat", "REBALANCE_IN_PROGRESS"),
    ("Heartbeat", "NOT_COORDINATOR"),
    ("Heartbeat", "COORDINATOR_NOT_AVAILABLE"),
    ("Heartbeat", "UNKNOWN_MEMBER_ID"),
    ("JoinGroup", "COORDINATOR_NOT_AVAILABLE"),
    ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("JoinGroup", "NOT_COORDINATOR"),
    ("JoinGroup", "UNKNOWN_MEMBER_ID"),
    ("SyncGroup", "REBALANCE_IN_PROGRESS"),
    ("SyncGroup", "COORDINATOR_NOT_AVAILABLE"),
    ("SyncGroup", "NOT_COORDINATOR"),
    ("SyncGroup", "ILLEGAL_GENERATION"),
    ("OffsetFetch", "NOT_COORDINATOR"),
    ("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("OffsetFetch", "COORDINATOR_NOT_AVAILABLE"),
    ("OffsetCommit", "REBALANCE_IN_PROGRESS"),
    ("OffsetCommit", "ILLEGAL_GENERATION"),
    ("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("OffsetCommit", "NOT_COORDINATOR"),
    ("OffsetCommit", "UNKNOWN_MEMBER_ID"),
    ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
    ("Fetch", "NOT_LEADER_OR_FOLLOWER"),
    ("Fetch", "FENCED_LEADER_EPOCH"),
    ("ListOffsets", "NOT_LEADER_OR_FOLLOWER"),
)
REBALANCE: Final = Step("rebalance")
KICK: Final = Step("kick", copy=1)
# Without it, no such request is sent. A client that keeps its partitions in a rebalance keeps its positions, too.
NEEDS: Final = {
    "FindCoordinator": Step("move_coordinator"),
    "JoinGroup": REBALANCE,
    "SyncGroup": REBALANCE,
    "OffsetFetch": KICK,
    "ListOffsets": KICK,
}
# Each is tried alone, in this order, before any are put together.
FIRST: Final[tuple[tuple[Step, ...], ...]] = (
    (REBALANCE,),
    (KICK,),
    (Step("expire", copy=1),),
    (Step("drop_connection", copy=1),),
    (Step("move_coordinator"),),
    (Step("loading", ms=1500),),
    (Step("crash", ms=300),),
    (Step("kill_copy", copy=1), Step("expire", copy=1)),
    (Step("pause", ms=1500),),
    (Step("lose_reply", api="Heartbeat"),),
    (Step("lose_reply", api="OffsetCommit"),),
    (Step("lose_reply", api="JoinGroup"), REBALANCE),
    (Step("lose_reply", api="SyncGroup"), REBALANCE),
    (Step("lose_reply", api="Fetch", times=20), Step("rebalance", after_ms=500)),
    (Step("delay", api="OffsetFetch", times=3, ms=2000), KICK),
    (Step("delay", api="SyncGroup", ms=1500), REBALANCE),
    (Step("delay", api="JoinGroup", ms=1500), REBALANCE),
    *(
        (Step("fail_next", api=api, error=error, copy=NEEDS[api].copy), NEEDS[api])  # of the member that then sends it
        if api in NEEDS
        else (Step("fail_next", api=api, error=error),)
        for api, error in ANSWERS
    ),
)

STAGES: Final = ("Partitions", "Records", "Offsets", "PrepareCommit", "Markers", "CompleteCommit")
OPEN_STAGES: Final = STAGES[:3]  # the transaction is not decided
TRANSACTION_TIMEOUT_MS: Final = 3000
PAUSE_MS: Final = 4500  # longer than that, and longer than a session
NEW_PRODUCER: Final = (Step("kill_copy", copy=1), Step("start_copy", copy=1))
# The same for an application that processes exactly once, with transactions.
FIRST_OF_TRANSACTIONS: Final[tuple[tuple[Step, ...], ...]] = (
    (Step("crash_at", at="ProducerId", copy=1, ms=300), *NEW_PRODUCER),
    *((Step("crash_at", at=stage, copy=1, ms=300),) for stage in STAGES),
    *((Step("kill_copy_at", at=stage, copy=1, ms=300),) for stage in STAGES),
    *((Step("fence_at", at=stage, copy=1),) for stage in OPEN_STAGES),
    *((Step("expire_at", at=stage, copy=1),) for stage in OPEN_STAGES),
    *((Step("pause_copy_at", at=stage, copy=1, ms=PAUSE_MS),) for stage in ("Records", "Offsets", "PrepareCommit")),
)


def schedules(seed: int, *, copies: int, longest: int = 6, exactly_once: bool = False) -> Iterator[Schedule]:
    """Yield schedules without end: first each fault alone, then random ones. The same seed gives the same ones.

    `exactly_once`: faults of transactions are among them, and come first.
    """
    faults = FIRST_OF_TRANSACTIONS + FIRST if exactly_once else FIRST
    for number, steps in enumerate(faults):
        yield Schedule(steps, seed, number)
    number = len(faults)
    while True:
        yield random_schedule(random.Random(f"{seed}-{number}"), seed, number, copies, longest, faults)
        number += 1


def random_schedule(
    chance: random.Random,
    seed: int,
    number: int,
    copies: int,
    longest: int,
    faults: Sequence[tuple[Step, ...]] = FIRST,
) -> Schedule:
    """Return a random schedule of two steps or more."""
    steps: list[Step] = []
    for _ in range(chance.randint(2, longest)):
        for step in chance.choice(faults):
            copy = chance.randint(FIRST_COPY, copies) if step.copy or chance.random() < 0.5 else 0
            changed = msgspec.structs.replace(step, after_ms=chance.choice(GAPS_MS))
            steps.append(msgspec.structs.replace(changed, copy=copy) if step.do not in NOT_OF_A_COPY else changed)
    return Schedule(tuple(steps[:longest]), seed, number)


NOT_OF_A_COPY: Final = frozenset({"rebalance", "move_coordinator", "loading", "restart", "crash", "pause", "produce"})


def read_schedule(text: str) -> Schedule:
    """Read a schedule from a file. Raises msgspec.MsgspecError that names the wrong field, or the wrong character."""
    return msgspec.json.decode(text, type=Schedule)


def write_schedule(schedule: Schedule) -> str:
    """Return a schedule as the text of a file."""
    return msgspec.json.format(msgspec.json.encode(schedule), indent=2).decode() + "\n"
