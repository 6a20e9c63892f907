"""Takes the steps of a schedule on a simulated world, and generates schedules for it."""

from __future__ import annotations

import errno
import random
from typing import TYPE_CHECKING, Final

from coordinator.compaction.jobs import JobStep
from coordinator.compaction.planning import PlanningStep
from coordinator.compaction.swap_protocol import ProtocolStep
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.simulation import rot
from coordinator.simulation.node import DATA
from coordinator.storage.log.checkpoint import RECOVERY_CHECKPOINT_NAME
from coordinator.storage.log.swap import CLEANED, SwapStep
from coordinator.storage.memory_store import CallOutcome
from coordinator.torture.schedule import Schedule, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordinator.simulation.run import Simulation

GAPS_MS: Final = (0, 0, 100, 100, 200, 200, 500, 500, 500, 1_000, 1_000, 1_000, 2_000, 2_000, 4_000)
PACES: Final = (0.05, 0.1, 0.25, 0.5, 2.0)  # of a world: gaps are so much of those above
CALM_MS: Final = 13_000  # one gap of a hundred: what is stuck shows when nothing disturbs
DOWN_MS: Final = (0, 200, 1_000, 5_000)
OPERATIONS: Final = ("pwrite", "pwrite", "fdatasync", "fdatasync", "fsync", "fsync_dir", "truncate", "open", "rename")
FILES: Final = ("", OFFSETS_TOPIC, OFFSETS_TOPIC, CLEANED)  # part of a path
TOMBSTONES_MS: Final = (0, 0, 1_000, 86_400_000)
COMPACTION_STEPS: Final = (*SwapStep, *SwapStep, ProtocolStep.CHECKPOINT, JobStep.SETTLE, PlanningStep.WRITE)
FATES: Final = tuple(fate.value for fate in CallOutcome if fate is not CallOutcome.DONE)  # of a request to a store
CALLS: Final = (
    "append",
    "append",
    "resolve",
    "save_snapshot",
    "trim",
    "claim",
    "release",
    "renew",
    "batches",
    "load_snapshot",
    "announce",
)
SLOW: Final = 50  # times the usual delay


def _end(simulation: Simulation, step: Step) -> None:
    node = simulation.nodes[step.node]
    simulation.invariants.ending(node)
    node.kill() if step.do == "kill_node" else node.lose_power()
    simulation.later(step.ms, node.start)


def _stop_node(simulation: Simulation, step: Step) -> None:
    node = simulation.nodes[step.node]
    node.stop(lambda: simulation.later(step.ms, node.start))


def _pause_node(simulation: Simulation, step: Step) -> None:
    simulation.nodes[step.node].pause(step.ms / 1000)


def _lose_power_within(simulation: Simulation, step: Step) -> None:
    node = simulation.nodes[step.node]
    node.disturbed()
    node.disk.crash_after(step.times, name=step.file)


def _fail_disk(simulation: Simulation, step: Step) -> None:
    node = simulation.nodes[step.node]
    node.disturbed(20.0)
    node.disk.fail(step.api, errno.EIO, times=step.times, name=step.file)


def _fill_disk(simulation: Simulation, step: Step) -> None:
    node = simulation.nodes[step.node]
    node.disturbed(step.ms / 1000 + 20.0)
    node.disk.capacity = 0
    simulation.later(step.ms, node.disk.heal)


def _rot_disk(simulation: Simulation, step: Step) -> None:
    node = simulation.nodes[step.node]
    if not node.rotten:
        rot.begin(simulation.world, node, simulation.rot_chance, step.file, step.times)
        simulation.later(step.ms, lambda: simulation.restore(node))


def _compact_node(simulation: Simulation, step: Step) -> None:
    from coordinator.simulation import compaction  # late: numpy and pyarrow come with an extra

    node = simulation.nodes[step.node]
    compaction.begin(simulation.world, node, DATA, retention_ms=step.ms)


def _lose_power_in_compaction(simulation: Simulation, step: Step) -> None:
    from coordinator.simulation import compaction

    node = simulation.nodes[step.node]
    left = step.times

    def at_step(name: str) -> None:
        nonlocal left
        left -= name == step.api
        if not left:
            node.disturbed()
            node.disk.crash_after(0)

    compaction.begin(simulation.world, node, DATA, retention_ms=step.ms, at_step=at_step)


def _jump_clock(simulation: Simulation, step: Step) -> None:
    simulation.nodes[step.node].jump(step.ms)


def _cut_node(simulation: Simulation, step: Step) -> None:
    node = simulation.nodes[step.node]
    for host in simulation.hosts():
        if host != node.host:
            simulation.network.cut(node.host, host, step.ms / 1000)
    simulation.disturb_network(step.ms / 1000)


def _cut_copy(simulation: Simulation, step: Step) -> None:
    client = simulation.client(step.copy)
    simulation.network.cut(client.loop.host, simulation.nodes[step.node].host, step.ms / 1000)
    simulation.disturb_network(step.ms / 1000)


def _slow_network(simulation: Simulation, step: Step) -> None:
    simulation.network.delay_s *= SLOW
    simulation.disturb_network(step.ms / 1000)
    simulation.later(step.ms, simulation.network.heal)


def _reset_connections(simulation: Simulation, step: Step) -> None:
    simulation.disturb_network(0.0)
    simulation.network.reset(host=simulation.nodes[step.node].host)


def _lose_replies(simulation: Simulation, step: Step) -> None:
    simulation.disturb_network(10.0)
    simulation.network.lose_next(simulation.nodes[step.node].host, step.times)


def _pause_copy(simulation: Simulation, step: Step) -> None:
    simulation.client(step.copy).loop.pause(step.ms / 1000)


def _kill_copy(simulation: Simulation, step: Step) -> None:
    simulation.replace(step.copy)


def _double_copy(simulation: Simulation, step: Step) -> None:
    simulation.replace(step.copy, lives_on=True)


TAKE: Final[dict[str, Callable[[Simulation, Step], None]]] = {
    "kill_node": _end,
    "lose_power": _end,
    "lose_power_within": _lose_power_within,
    "stop_node": _stop_node,
    "pause_node": _pause_node,
    "fail_disk": _fail_disk,
    "fill_disk": _fill_disk,
    "rot_disk": _rot_disk,
    "compact_node": _compact_node,
    "lose_power_in_compaction": _lose_power_in_compaction,
    "jump_clock": _jump_clock,
    "cut_node": _cut_node,
    "cut_copy": _cut_copy,
    "slow_network": _slow_network,
    "reset_connections": _reset_connections,
    "lose_replies": _lose_replies,
    "pause_copy": _pause_copy,
    "kill_copy": _kill_copy,
    "double_copy": _double_copy,
}


# A world has some of these, or all: faults of few kinds meet each other more often (Groce et al., "Swarm Testing").
THEMES: Final = (
    ("fail_disk", "fail_disk", "fill_disk"),
    ("lose_power", "lose_power_within", "lose_power_within"),
    ("kill_node", "kill_node", "stop_node", "pause_node"),
    ("kill_copy", "double_copy", "double_copy", "pause_copy"),
    ("cut_node", "cut_copy", "slow_network", "reset_connections", "lose_replies"),
    ("compact_node", "compact_node", "jump_clock"),
    ("compact_node", "lose_power_in_compaction", "lose_power_in_compaction"),
    ("rot_disk", "rot_disk", "kill_node"),
)


def schedule(
    seed: int,
    *,
    nodes: int,
    copies: int,
    count: int,
    faults: Sequence[str] = (),
    themes: Sequence[Sequence[str]] = THEMES,
) -> Schedule:
    """Return a random schedule. The same seed gives the same one. Each has its own pace and its own kinds of faults.

    `faults`: the only kinds.
    """
    chance = random.Random(f"{seed}-schedule")
    pace = chance.choice(PACES)
    chosen = chance.sample(themes, chance.choice((1, 2, 3, 4, len(themes))))
    choices = faults or [each for theme in chosen for each in theme]
    steps = [_step(chance, chance.choice(choices), nodes, copies, pace) for _ in range(count)]
    return Schedule(tuple(steps), seed)


def _step(chance: random.Random, do: str, nodes: int, copies: int, pace: float) -> Step:
    node, copy = chance.randint(1, nodes), chance.randint(1, copies)
    after_ms = int(chance.choice(GAPS_MS) * pace) if chance.random() < 0.99 else CALM_MS
    if do == "fail_disk":
        file, api = chance.choice(FILES), chance.choice(OPERATIONS)
        return Step(do, after_ms, api=api, times=chance.choice((1, 1, 2, 5)), node=node, file=file)
    if do == "rot_disk":
        times, ms = chance.choice((1, 1, 1, 2, 3)), chance.choice((500, 1_000, 2_000, 5_000))
        return Step(do, after_ms, times=times, ms=ms, node=node, file=chance.choice(rot.FILES))
    if do == "lose_power_within":
        file = chance.choice(("", "", RECOVERY_CHECKPOINT_NAME, CLEANED))
        most = 8 if file == RECOVERY_CHECKPOINT_NAME else 40
        return Step(do, after_ms, times=chance.randint(1, most), node=node, file=file)
    if do == "jump_clock":
        return Step(do, after_ms, ms=chance.choice((-3_600_000, -60_000, -1_000, 1_000, 60_000, 3_600_000)), node=node)
    if do in ("pause_copy", "kill_copy", "double_copy", "cut_copy"):
        return Step(
            do, after_ms, copy=copy, ms=chance.choice((500, 3_000, 9_000)), node=node if do == "cut_copy" else 0
        )
    if do in ("kill_node", "lose_power", "stop_node"):
        return Step(do, after_ms, ms=chance.choice(DOWN_MS), node=node)
    if do == "compact_node":
        return Step(do, after_ms, ms=chance.choice(TOMBSTONES_MS), node=node)
    if do == "lose_power_in_compaction":
        api, times = chance.choice(COMPACTION_STEPS), chance.choice((1, 1, 2))
        return Step(do, after_ms, api=api, times=times, ms=chance.choice(TOMBSTONES_MS), node=node)
    if do == "reset_connections":
        return Step(do, after_ms, node=node)
    if do == "lose_replies":
        return Step(do, after_ms, times=chance.choice((1, 3, 10, 30)), node=node)
    if do == "cut_store":
        api, ms = chance.choice(("in any way", *FATES)), chance.choice((200, 1_000, 3_000, 7_000))
        return Step(do, after_ms, api=api, ms=ms, node=node if chance.random() < 0.7 else 0)
    if do == "spoil_store_calls":
        api, times = chance.choice(FATES), chance.choice((1, 1, 2, 5))
        return Step(do, after_ms, api=api, times=times, node=node, file=chance.choice(CALLS))
    if do in ("pause_in_call", "kill_in_call"):
        return Step(do, after_ms, ms=chance.choice((1_000, 4_000, 7_000)), node=node, file=chance.choice(CALLS))
    if do == "slow_network":
        return Step(do, after_ms, ms=chance.choice((500, 3_000)))
    return Step(do, after_ms, ms=chance.choice((100, 1_000, 3_000, 7_000)), node=node)
