"""The table of rules. The first one that has a verdict gives the headline; the others may add what else is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from coordinator.core.events.model import Story
from coordinator.explain import (
    consumer_groups,
    loops,
    migration,
    observed,
    past,
    polls,
    refusals,
    transactions,
    waiting,
)
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.explain.visits import Key, key_of


class Rule(NamedTuple):
    """A rule and its priority: 1 for the present and for what never ends by itself, 4 for what is only to be known."""

    priority: int
    verdict: Callable[[Story], GroupVerdict | None]


# By priority; within one priority the order of the table decides. The last rule has a verdict for every group.
RULES: Final = (
    Rule(1, past.no_such_group),
    Rule(1, observed.not_explained),
    Rule(1, waiting.disk),
    Rule(1, refusals.shared_instance_id),
    Rule(1, waiting.slow_joiner),
    Rule(1, waiting.slow_leader),
    Rule(1, consumer_groups.failed_assignor),
    Rule(1, consumer_groups.slow_revocation),
    Rule(1, consumer_groups.silent_follower),
    Rule(1, consumer_groups.slow_rejoin),
    Rule(1, migration.instance_taken),
    Rule(1, observed.slow_rebalance),
    Rule(2, polls.not_polling),
    Rule(2, consumer_groups.evicted),
    Rule(2, loops.poll_interval),
    Rule(2, loops.session_too_short),
    Rule(2, loops.crash_loop),
    Rule(2, loops.restart_loop),
    Rule(2, loops.comes_and_goes),
    Rule(2, refusals.static_restarts),
    Rule(2, loops.subscription_flapping),
    Rule(2, loops.leader_rejoins),
    Rule(2, refusals.assignors_disjoint),
    Rule(2, migration.refused_join),
    Rule(2, refusals.group_full),
    Rule(2, refusals.unknown_member_loop),
    Rule(2, waiting.silent_member),
    Rule(2, past.nothing_to_read),
    Rule(2, transactions.held_back),
    Rule(2, transactions.offsets_pending),
    Rule(3, loops.rolling_deploy),
    Rule(3, waiting.initial_delay),
    Rule(3, consumer_groups.static_away),
    Rule(3, consumer_groups.reconciling),
    Rule(3, waiting.rebalancing),
    Rule(3, observed.rebalancing),
    Rule(3, refusals.stale_commits),
    Rule(3, past.member_lost),
    Rule(3, past.past_slow_joiner),
    Rule(3, past.past_slow_leader),
    Rule(3, consumer_groups.past_slow_member),
    Rule(3, observed.past_slow_rebalance),
    Rule(3, migration.went_back),
    Rule(4, migration.mixed),
    Rule(4, past.just_restarted),
    Rule(4, past.idle_members),
    Rule(4, past.empty),
    Rule(4, past.healthy),
)

# Verdicts that say nothing beside another one.
ALONE: Final = frozenset({Finding.HEALTHY, Finding.REBALANCING, Finding.EMPTY, Finding.INITIAL_DELAY})

# Readings of the same departures: of each client only the first one is told.
COMES_AND_GOES: Final = frozenset(
    {
        Finding.REVOCATION_LOOP,
        Finding.NOT_REVOKED,
        Finding.POLL_INTERVAL,
        Finding.SESSION_TOO_SHORT,
        Finding.CRASH_LOOP,
        Finding.RESTART_LOOP,
        Finding.COMES_AND_GOES,
        Finding.ROLLING_DEPLOY,
        Finding.MEMBER_LOST,
    }
)


def explain(story: Story) -> list[GroupVerdict]:
    """Return the verdicts about a group, the headline first. There is always one."""
    found: list[GroupVerdict] = []
    told: set[Key] = set()
    for rule in RULES:
        verdict = rule.verdict(story)
        if verdict is None or (found and verdict.code in ALONE):
            continue
        if verdict.code in COMES_AND_GOES:
            key = key_of(verdict.culprit)
            if key in told:
                continue
            told.add(key)
        found.append(verdict)
    return found
