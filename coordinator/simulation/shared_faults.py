"""Faults of a world whose nodes share a store: those of processes and of the network, and those of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.live_cluster import NodeState
from coordinator.simulation import faults
from coordinator.storage.memory_store import CallOutcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from coordinator.simulation.shared_run import SharedSimulation
    from coordinator.torture.schedule import Step

FATES: Final = {fate.value: fate for fate in CallOutcome}


def _cut_store(simulation: SharedSimulation, step: Step) -> None:
    for number in [step.node] if step.node else simulation.nodes:
        simulation.store.cut(number, step.ms / 1000, FATES.get(step.api))


def _spoil_store_calls(simulation: SharedSimulation, step: Step) -> None:
    simulation.store.spoil(step.node, step.file, FATES[step.api], step.times)


def _pause_in_call(simulation: SharedSimulation, step: Step) -> None:
    node = simulation.nodes[step.node]
    simulation.store.hit(step.node, step.file, lambda: node.pause(step.ms / 1000))


def _kill_in_call(simulation: SharedSimulation, step: Step) -> None:
    def kill() -> None:
        node = simulation.nodes[step.node]
        node.kill()
        simulation.later(step.ms, node.start)

    simulation.store.hit(step.node, step.file, kill)


def _slow_store(simulation: SharedSimulation, step: Step) -> None:
    simulation.store.slow_s[step.node] = SLOW_S
    simulation.later(step.ms, lambda: simulation.store.slow_s.update({step.node: 0.0}))


def _drain_node(simulation: SharedSimulation, step: Step) -> None:
    simulation.store.mark_all(NodeState.DRAINING, step.node)
    simulation.later(step.ms, lambda: simulation.store.mark_all(NodeState.UP, step.node))


SLOW_S: Final = 1.0
STORE: Final[dict[str, Callable[[Any, Step], None]]] = {
    "cut_store": _cut_store,
    "spoil_store_calls": _spoil_store_calls,
    "pause_in_call": _pause_in_call,
    "kill_in_call": _kill_in_call,
    "slow_store": _slow_store,
    "drain_node": _drain_node,
}
PROCESSES: Final = ("kill_node", "stop_node", "pause_node")
CLIENTS: Final = ("kill_copy", "pause_copy")
NETWORK: Final = ("cut_node", "cut_copy", "slow_network", "reset_connections", "lose_replies")
TAKE: Final = {**{name: faults.TAKE[name] for name in (*PROCESSES, *CLIENTS, *NETWORK, "jump_clock")}, **STORE}
THEMES: Final = (
    (*PROCESSES, "pause_node"),
    ("pause_in_call", "pause_in_call", "pause_node", "cut_store"),
    ("pause_in_call", "kill_in_call", "slow_store"),
    ("cut_store", "spoil_store_calls", "spoil_store_calls", "slow_store"),
    ("spoil_store_calls", "spoil_store_calls", "drain_node", "stop_node"),
    ("drain_node", "drain_node", "kill_node", "pause_node"),
    NETWORK,
    (*CLIENTS, "jump_clock", "kill_node"),
)
