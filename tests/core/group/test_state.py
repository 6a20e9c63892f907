"""The state machine of groups obeys its table, and docs/states.md is generated from the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.core.context import InvariantError
from coordinator.core.group.group import Group
from coordinator.core.group.state import DEAD, EMPTY, PREPARING_REBALANCE, STABLE, TRANSITIONS, GroupState
from coordinator.core.group.states_doc import text
from coordinator.core.shard import Shard

DOCS = Path(__file__).resolve().parents[3] / "docs"
ALLOWED = {(transition.source, transition.target) for transition in TRANSITIONS}


def group_in(state: GroupState) -> Group:
    counts = dict.fromkeys(GroupState, 0)
    shard = Shard(0, {}, counts)
    group = Group("g", shard, 0)
    group.state = state
    shard.add(group)
    return group


@pytest.mark.parametrize("source", GroupState, ids=lambda state: state.value)
@pytest.mark.parametrize("target", GroupState, ids=lambda state: state.value)
def test_group_changes_its_state_only_as_in_the_table(source: GroupState, target: GroupState) -> None:
    group = group_in(source)
    if (source, target) in ALLOWED:
        group.transition(target, 17)
        assert (group.state, group.previous_state, group.state_timestamp_ms) == (target, source, 17)
        assert group.shard.groups_by_state[target] == 1
        assert sum(group.shard.groups_by_state.values()) == 1
    else:
        with pytest.raises(InvariantError, match="'g'"):
            group.transition(target, 17)


def test_forbidden_transitions_are_not_in_the_table() -> None:
    assert (STABLE, EMPTY) not in ALLOWED
    assert (EMPTY, STABLE) not in ALLOWED
    assert (PREPARING_REBALANCE, PREPARING_REBALANCE) not in ALLOWED
    assert {target for source, target in ALLOWED if source is DEAD} == {DEAD}


def test_page_of_states_is_up_to_date() -> None:
    written = (DOCS / "states.md").read_text(encoding="utf-8")
    assert written == text(), "run: python -m coordinator.core.group.states_doc > docs/states.md"
