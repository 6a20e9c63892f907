"""The table of rules. The first one that has a verdict gives the headline; the others may add what else is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from coordinator.core.events.model import Story
from coordinator.explain import loops, past, refusals, waiting
from coordinator.explain.verdict import Finding, GroupVerdict


class Rule(NamedTuple):
    """A rule and its priority: 1 for the present and for what never ends by itself, 4 for what is only to be known."""

    priority: int
    verdict: Callable[[Story], GroupVerdict | None]


# By priority; within one priority the order of the table decides. The last rule has a verdict for every group.
RULES: Final = (
    Rule(1, past.no_such_group),
    Rule(1, waiting.disk),
    Rule(1, refusals.shared_instance_id),
    Rule(1, waiting.slow_joiner),
    Rule(1, waiting.slow_leader),
    Rule(2, loops.poll_interval),
    Rule(2, loops.session_too_short),
    Rule(2, loops.crash_loop),
    Rule(2, loops.restart_loop),
    Rule(2, loops.subscription_flapping),
    Rule(2, loops.leader_rejoins),
    Rule(2, refusals.assignors_disjoint),
    Rule(2, refusals.group_full),
    Rule(2, refusals.unknown_member_loop),
    Rule(2, waiting.silent_member),
    Rule(3, loops.rolling_deploy),
    Rule(3, waiting.initial_delay),
    Rule(3, waiting.rebalancing),
    Rule(3, refusals.stale_commits),
    Rule(3, past.member_lost),
    Rule(3, past.past_slow_joiner),
    Rule(3, past.past_slow_leader),
    Rule(4, past.just_restarted),
    Rule(4, past.idle_members),
    Rule(4, past.empty),
    Rule(4, past.healthy),
)

# Verdicts that say nothing beside another one.
ALONE: Final = frozenset({Finding.HEALTHY, Finding.REBALANCING, Finding.EMPTY, Finding.INITIAL_DELAY})


def explain(story: Story) -> list[GroupVerdict]:
    """Return the verdicts about a group, the headline first. There is always one."""
    found = [verdict for rule in RULES if (verdict := rule.verdict(story)) is not None]
    return [verdict for number, verdict in enumerate(found) if not number or verdict.code not in ALONE]
