"""The records of nodes and owners lead every reader to the same state, also a reader who comes after a compaction."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.live_cluster import NO_NODE, NodeState
from coordinator.engine.kafka.cluster_state import LEFT, ClusterState, encode

Log = list[tuple[int, str, dict[str, Any] | None]]


def applied(log: Log, received_s: float = 0.0) -> ClusterState:
    state = ClusterState()
    for offset, key, content in log:
        state.apply(offset, key.encode(), None if content is None else encode(content), received_s)
    return state


def compacted(log: Log, below: int) -> Log:
    """Keep of each key the newest record, except from an offset on, where the active segment begins."""
    newest = {key: offset for offset, key, _ in log if offset < below}
    return [each for each in log if each[0] >= below or newest[each[1]] == each[0]]


def beat(number: int, followed: int, since: int, state: str = "up") -> dict[str, Any]:
    return {"host": "h", "port": 1, "state": state, "since": since, "number": number, "followed": followed}


def owner(node: int, incarnation: str, epoch: int = 0) -> dict[str, Any]:
    return {"node": node, "incarnation": incarnation, "end_offset": 0, "producer": [1, epoch]}


def state_of(state: ClusterState, node_id: int = 1) -> tuple[str, NodeState] | None:
    node = state.map(0.0).nodes.get(node_id)
    return None if node is None else (node.incarnation, node.state)


def test_an_end_is_void_if_the_node_was_heard_of_before_it() -> None:
    log: Log = [(0, "run/1/A", beat(0, 0, -1)), (1, "run/1/A", beat(1, 1, 0)), (2, "end/1/A/x", {"beat": 0})]
    assert state_of(applied(log)) == ("A", NodeState.UP)
    log[2] = (2, "end/1/A/x", {"beat": 1})
    assert state_of(applied(log)) == ("A", NodeState.EXPIRED)


def test_a_beat_that_crosses_an_end_does_not_bring_a_node_back() -> None:
    log: Log = [(0, "run/1/A", beat(0, 0, -1)), (1, "end/1/A/x", {"beat": 0}), (2, "run/1/A", beat(1, 1, 0))]
    assert state_of(applied(log)) == ("A", NodeState.EXPIRED)
    assert state_of(applied(compacted(log, 3))) == ("A", NodeState.EXPIRED)


def test_a_node_that_went_on_after_a_void_end_is_up_after_a_compaction() -> None:
    log: Log = [
        (0, "run/1/A", beat(0, 0, -1)),
        (1, "run/1/A", beat(1, 1, 0)),
        (2, "end/1/A/x", {"beat": 0}),
        (3, "run/1/A", beat(2, 3, 0)),
    ]
    assert compacted(log, 4) == log[2:]
    assert state_of(applied(compacted(log, 4))) == ("A", NodeState.UP)


def test_the_run_that_was_announced_first_counts() -> None:
    log: Log = [
        (0, "run/1/A", beat(0, 0, -1)),
        (1, "run/1/B", beat(0, 0, -1)),
        (2, "run/1/A", beat(1, 2, 0)),
    ]
    assert state_of(applied(log)) == ("A", NodeState.UP)
    assert state_of(applied(compacted(log, 3))) == ("A", NodeState.UP)
    log.append((3, "end/1/A/x", {"beat": LEFT}))
    assert state_of(applied(log)) == ("B", NodeState.UP)


def test_the_highest_claim_counts_in_any_order_and_its_release_stays() -> None:
    log: Log = [
        (0, "owner/4/20", owner(2, "B", 1)),
        (1, "owner/4/10", owner(1, "A")),
        (2, "owner/4/20", owner(NO_NODE, "", 1)),
        (3, "owner/4/20", owner(2, "B", 1)),  # written by another node that found the claim record
    ]
    assert applied(log[:2]).owners[4].node == 2
    owned = applied(log).map(0.0).owners[4]
    assert (owned.epoch, owned.node) == (20, NO_NODE)


def test_the_first_facts_and_the_snapshot_with_the_highest_offset_count() -> None:
    place = {"first_offset": 0, "end_offset": 1, "pieces": 1}
    state = applied(
        [
            (0, "facts/x", {"cluster_id": "first", "offsets_partitions": 8}),
            (1, "facts/y", {"cluster_id": "second", "offsets_partitions": 9}),
            (2, "snapshot/0/7", {"next_offset": 50, **place}),
            (3, "snapshot/0/9", {"next_offset": 40, **place}),
        ]
    )
    assert state.facts is not None
    assert state.facts.cluster_id == "first"
    assert (state.snapshots[0].next_offset, state.snapshots[0].epoch) == (50, 7)


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["beat", "beat", "end", "owner", "release"]), st.integers(0, 2), st.integers(0, 3)),
    max_size=40,
)


@given(OPERATIONS, st.integers(0, 45))
def test_a_compaction_changes_nothing(operations: list[tuple[str, int, int]], below: int) -> None:
    """Writers as they are: a run stops when it has seen its end, and writes once more at most before that."""
    log: Log = []
    live = ClusterState()
    numbers: dict[int, int] = {}
    announced: dict[int, int] = {}
    for kind, who, other in operations:
        offset, run = len(log), live.run(who, "r")
        key: str
        content: dict[str, Any]
        if kind == "beat":
            if run is not None and run.ended_at >= 0:
                continue
            numbers[who] = numbers.get(who, -1) + 1
            since = announced.setdefault(who, offset) if numbers[who] else -1
            announced.setdefault(who, offset)
            key, content = f"run/{who}/r", beat(numbers[who], offset, since)
        elif kind == "end":
            if run is None:
                continue
            key, content = f"end/{who}/r/{offset}", {"beat": max(run.beat.number - (other == 0), 0)}
        else:
            key = f"owner/0/{10 * other + 1}"
            content = owner(who if kind == "owner" else NO_NODE, "r" if kind == "owner" else "", other)
        log.append((offset, key, content))
        live.apply(offset, key.encode(), json.dumps(content).encode(), 0.0)
    fresh = applied(compacted(log, below))
    if any(kind.startswith("end/") for _, kind, _ in log):  # a void end is told from others by the next beat
        for who in numbers:
            run = live.run(who, "r")
            if run is not None and run.ended_at < 0:
                content = beat(numbers[who] + 1, len(log), announced[who])
                for state in (live, fresh):
                    state.apply(len(log), f"run/{who}/r".encode(), encode(content), 0.0)
    assert {who: state_of(fresh, who) for who in numbers} == {who: state_of(live, who) for who in numbers}
    assert fresh.map(0.0).owners.get(0, (0,))[0] == live.map(0.0).owners.get(0, (0,))[0]
