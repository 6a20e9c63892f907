"""Findings: a table of rules with their sentences and advice, asked in this order about each group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from coordinator.explain.words import times
from coordinator.report import rules
from coordinator.report.cases import Case, GroupProblem, ProblemKind, RuleEvidence, total
from coordinator.report.material import GroupPast
from coordinator.report.words import cost, number, partition_time


class ReportRule(NamedTuple):
    """A row of RULES. The texts may name `subject`, `number`, `times`, `cost`, `lost` and the facts of the evidence."""

    kind: ProblemKind
    judge: Callable[[Case], RuleEvidence | None]
    sentence: str
    advice: str


RULES: Final = (
    ReportRule(
        ProblemKind.DUPLICATE_INSTANCE,
        rules.duplicate_instance,
        "{sides} have one group.instance.id, {subject}: one took the place of the other, or was fenced, {times}",
        "Give each process a group.instance.id of its own: {number} fencings and {cost} would not have been.",
    ),
    ReportRule(
        ProblemKind.SLOW_POLL,
        rules.slow_poll,
        "{subject} exceeded max.poll.interval.ms {times}",
        "Lower max.poll.records, or raise max.poll.interval.ms above the longest work between two polls: {cost} would "
        "not have been.",
    ),
    ReportRule(
        ProblemKind.SUBSCRIPTION,
        rules.subscription,
        "members rejoined with another subscription or other metadata {times}{by}",
        "Subscribe once, to all topics or to a pattern, the same in all members: {cost} would not have been.",
    ),
    ReportRule(
        ProblemKind.TOPICS,
        rules.topics,
        "new topics or partitions made it rebalance {times}",
        "Create topics with enough partitions, or add several at a time: up to {cost} less.",
    ),
    ReportRule(
        ProblemKind.HOST,
        rules.host,
        "sessions of {clients} clients on host {subject} expired {times}",
        "Look at its network, CPU limit and memory, as other hosts are well: {cost} would not have been.",
    ),
    ReportRule(
        ProblemKind.VERSION,
        rules.version,
        "{clients} clients of {subject} went {times}, the {others} of other versions {rest}",
        "Give all of them the same version: {cost} would not have been.",
    ),
    ReportRule(
        ProblemKind.CRASH_LOOP,
        rules.crash_loop,
        "{subject} is in a crash loop: it went {times}, after {life} each",
        "Read its log at these times, and let its supervisor wait longer before a start: {cost} would not have been.",
    ),
    ReportRule(
        ProblemKind.MEMBER,
        rules.member,
        "{subject} is behind most of it: it went {times}",
        "Compare its machine, version and load with the other members: {cost} would not have been.",
    ),
    ReportRule(
        ProblemKind.SLOW_JOIN,
        rules.slow_join,
        "{subject} joined last in {number} of {of_all} rebalances, {waited} after all others",
        "Look for long work between its polls or in its rebalance listener: {lost} would not have been lost.",
    ),
    ReportRule(
        ProblemKind.STATIC,
        rules.static,
        "{deploys}, and restarts of single members",
        "Set group.instance.id, and a session.timeout.ms above the time of a restart: {cost} would not have been.",
    ),
    ReportRule(
        ProblemKind.SCALING,
        rules.scaling,
        "it scales up and down, with {joins} rebalances for new members and {goes} for members that left",
        "Let the autoscaler wait longer before it scales down, and scale in larger steps: up to {cost} less.",
    ),
    ReportRule(
        ProblemKind.FLAPPING,
        rules.flapping,
        "it flapped on {days}, with {most} rebalances on {date} and {usual} on its median day{by}",
        "No other finding explains it; `coordinator history rebalances` shows that day: {cost}.",
    ),
    ReportRule(
        ProblemKind.COOPERATIVE,
        rules.cooperative,
        "{protocol} stopped all partitions in {number} rebalances, and most did not have to move",
        "Use the CooperativeStickyAssignor in partition.assignment.strategy: {lost} would not have been lost.",
    ),
    ReportRule(
        ProblemKind.CONSUMER_PROTOCOL,
        rules.consumer_protocol,
        "all of its {members} members wait for each other, for {took} in each of {number} rebalances",
        "Set group.protocol=consumer (KIP-848), where no member waits for all: up to {lost} would not have been lost.",
    ),
    ReportRule(
        ProblemKind.MOVES,
        rules.moves,
        "{protocol} moved {number} partitions where {needed} had to move",
        "Use a sticky assignor, so that members keep their partitions and caches: {spared} moves would not have been.",
    ),
    ReportRule(
        ProblemKind.JOIN_REFUSED,
        rules.join_refused,
        "joins were refused {times} with {error}{by}",
        "{advice}: {number} joins would not have been refused.",
    ),
    ReportRule(
        ProblemKind.COMMIT_REFUSED,
        rules.commit_refused,
        "commits were refused {times}{by}",
        "Commit in the rebalance listener, before partitions are revoked, and more often: {again} would not have been.",
    ),
    ReportRule(
        ProblemKind.DEPLOY_LAG,
        rules.deploy_lag,
        "the lag stayed high after {number} of {of_all} deploys: from {before} to {after} records half an hour after "
        "that of {date}",
        "Deploy one member after another, or give the new version more members: {more} records would not have waited.",
    ),
)


def judge(past: GroupPast, weeks: float) -> list[GroupProblem]:
    """Return the findings about one group, in the order of the rules."""
    case = Case(past, weeks, list(past.causes))
    found = []
    for rule in RULES:
        evidence = rule.judge(case)
        if evidence is None:
            continue
        case.kinds.add(rule.kind)
        case.take(evidence.taken)
        found.append(_problem(past.group, rule, evidence))
    return found


def _problem(group: str, rule: ReportRule, evidence: RuleEvidence) -> GroupProblem:
    taken = evidence.taken
    rebalances, read_twice = total(taken, "rebalances"), total(taken, "read_twice")
    lost_ms = total(taken, "lost_ms") if evidence.lost_ms is None else int(evidence.lost_ms)
    facts = {
        "subject": evidence.subject,
        "number": number(evidence.number),
        "times": times(evidence.number),
        "cost": cost(rebalances, lost_ms, read_twice),
        "lost": partition_time(lost_ms),
        "by": f", most by {evidence.subject}" if evidence.subject else "",
        **evidence.facts,
    }
    sentence, advice = rule.sentence.format(**facts), rule.advice.format(**facts)
    return GroupProblem(
        rule.kind, group, evidence.subject, evidence.number, rebalances, lost_ms, read_twice, sentence, advice
    )


def judge_all(pasts: Mapping[str, GroupPast], weeks: float) -> list[GroupProblem]:
    """Return the findings about all groups, the most costly first."""
    found = [problem for past in pasts.values() for problem in judge(past, weeks)]
    return sorted(found, key=lambda each: (-each.lost_ms, -each.rebalances, -each.number, each.group))
