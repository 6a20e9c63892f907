"""The rules: whether the rows about a group are evidence for a finding. `findings` has their order and their texts.

Thresholds without another word are for seven days, and are scaled to the period of the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from statistics import median
from typing import Final

from coordinator.core.events.words import duration
from coordinator.explain.words import and_more, times
from coordinator.report.cases import (
    DEPARTURES,
    FAULTS,
    FLAP_RATIO,
    FLAPS,
    MOST,
    Case,
    ProblemKind,
    RuleEvidence,
    culprit,
    top,
    total,
)
from coordinator.report.words import counted, day, number, utc_day

CRASH_LIFE_MS: Final = 3_600_000  # a client that lives for less, again and again, is in a crash loop
VERSION_RATIO: Final = 3.0  # departures of a client of one version, against those of a client of the others
REPEATED_DEPARTURES: Final = 3.0  # of one member that lives for long
REFUSALS: Final = 3
REPEATED: Final = 5.0  # changed subscriptions or topics
DEPLOYS: Final = 3.0
SCALINGS: Final = 28.0  # rebalances by members that come or go for good
SPARED_MS: Final = 600_000.0  # partition-time that makes another assignor or protocol worth it
REBALANCES: Final = 14.0  # outside of deploys, before an assignor or a protocol is judged
MOVED_RATIO: Final = 1.6  # partitions moved, against those that had to
LATE: Final = 0.5  # the share of rebalances in which one member joins last
MOVED: Final = 100.0  # partitions that moved without need
LATE_MS: Final = 2_000
SHORT_REBALANCE_MS: Final = 1_000
SLOW_REBALANCE_MS: Final = 5_000
LARGE_GROUP: Final = 8  # members
LAG_RATIO: Final = 3.0
LAG_RECORDS: Final = 1_000

ROUTINE: Final = frozenset({"deploy", "start"})
DEPARTED: Final = frozenset({"expired", "restart"})  # by a crash, a lost network, or a restart
JOIN_ADVICE: Final = {
    "GROUP_MAX_SIZE_REACHED": "Raise group.max.size, or start fewer members",
    "INCONSISTENT_GROUP_PROTOCOL": "Give all members an assignor in common",
}
DUPLICATES: Final = frozenset({"fenced", "static_member_replaced"})


# -- faults of clients


def duplicate_instance(case: Case) -> RuleEvidence | None:
    rows = [row for row in case.past.incidents if row["instance_id"] and row["cause"] in DUPLICATES]
    instance, fights = top(rows, "instance_id", "fights")
    if fights < REFUSALS:
        return None
    own = [row for row in rows if row["instance_id"] == instance and row["fights"]]
    named = {f"{row['client_id']} ({row['host']})" for row in own}
    named |= {f"{row['other_client_id']} ({row['other_host']})" for row in own if row["other_client_id"]}
    names = sorted(named)
    sides = and_more(" and ".join(names[:2]), len(names) - 2)
    return RuleEvidence(
        instance, fights, case.of({"replaced", *DEPARTED, "dropped"}, {instance}), facts={"sides": sides}
    )


def slow_poll(case: Case) -> RuleEvidence | None:
    rows = case.gone({"slow_poll", "dropped"})
    departures = total(rows, "departures")
    if departures < DEPARTURES:
        return None
    client, most = top(rows, "client", "departures")
    others = len({row["client"] for row in rows}) - 1
    subject = client if most >= MOST * departures else and_more(client, others)
    return RuleEvidence(subject, departures, case.of({"slow_poll", "dropped"}))


def subscription(case: Case) -> RuleEvidence | None:
    rows = case.of({"subscription"})
    rebalances = total(rows, "rebalances")
    if rebalances < case.a_week(REPEATED):
        return None
    client, most = top(rows, "client", "rebalances")
    return RuleEvidence(client if most >= MOST * rebalances else "", rebalances, rows)


def topics(case: Case) -> RuleEvidence | None:
    rows = case.of({"topics"})
    rebalances = total(rows, "rebalances")
    return RuleEvidence("", rebalances, rows) if rebalances >= case.a_week(REPEATED) else None


def host(case: Case) -> RuleEvidence | None:
    """Recognise a host on which the sessions of several clients expire, while other hosts are well."""
    rows = case.gone({"expired"})
    name, expired = top(rows, "host", "departures")
    own = sorted((row for row in rows if row["host"] == name), key=lambda row: -row["departures"])
    is_one = expired >= MOST * total(rows, "departures") and (case.past.whole.get("hosts") or 0) > 1
    if expired < DEPARTURES or not is_one or len(own) < 2 or own[1]["departures"] < 2:
        return None
    clients = {row["client"] for row in own}
    return RuleEvidence(name, expired, case.of({"expired"}, clients), facts={"clients": len(clients)})


def version(case: Case) -> RuleEvidence | None:
    """Recognise a client version whose members go far more often than those of the other versions."""
    rows = case.gone(DEPARTED)
    name, departures = top(rows, "software", "departures")
    clients: Mapping[str, int] = case.past.whole.get("clients_of_version") or {}
    own, others = clients.get(name, 0), sum(n for each, n in clients.items() if each and each != name)
    gone_clients = {row["client"] for row in rows if row["software"] == name}
    everything = total(rows, "departures")
    if not name or departures < DEPARTURES or len(gone_clients) < 2 or not others:
        return None
    if departures < MOST * everything or departures / own < VERSION_RATIO * (everything - departures) / others:
        return None
    if top((row for row in rows if row["software"] == name), "client", "departures")[1] >= 0.8 * departures:
        return None  # it is one member
    facts = {"clients": own, "rest": times(everything - departures), "others": others}
    return RuleEvidence(name, departures, case.of(DEPARTED, gone_clients), facts=facts)


def _one_client(case: Case) -> tuple[str, int, float] | None:
    """Return the client behind most departures, how many, and its median life."""
    rows = case.gone(DEPARTED)
    client, departures = top(rows, "client", "departures")
    if departures < DEPARTURES or departures < MOST * total(rows, "departures"):
        return None
    lives = [life_ms for row in rows if row["client"] == client for life_ms in row["lives_ms"] or ()]
    return client, departures, median(lives) if lives else float("inf")


def crash_loop(case: Case) -> RuleEvidence | None:
    found = _one_client(case)
    if found is None or found[2] > CRASH_LIFE_MS:
        return None
    client, departures, life_ms = found
    return RuleEvidence(client, departures, case.of(DEPARTED, {client}), facts={"life": duration(int(life_ms))})


def member(case: Case) -> RuleEvidence | None:
    found = _one_client(case)
    if found is None or case.past.whole["most_members"] < 3 or found[1] < case.a_week(REPEATED_DEPARTURES, DEPARTURES):
        return None
    return RuleEvidence(found[0], found[1], case.of(DEPARTED, {found[0]}))


# -- settings that would help


def slow_join(case: Case) -> RuleEvidence | None:
    for row in case.past.late:
        is_most = row["times"] >= max(DEPARTURES + 1, LATE * row["of_all"])
        if is_most and row["waited_ms"] >= LATE_MS:
            facts = {"of_all": row["of_all"], "waited": duration(int(row["waited_ms"]))}
            return RuleEvidence(row["client"], row["times"], (), row["lost_ms"], facts)
    return None


def static(case: Case) -> RuleEvidence | None:
    """Recognise deploys and restarts of dynamic members; a restart of one member is a part of a deploy."""
    rows = [row for row in case.of({"deploy", "restart"}) if not row["instance_id"]]
    restarts = total((row for row in rows if row["why"] == "restart"), "joins")
    deploys = len(case.past.deploys) + restarts / max((case.past.whole or {}).get("most_members") or 1, 1)
    if not rows or deploys < case.a_week(DEPLOYS):
        return None
    return RuleEvidence(
        "", total(rows, "rebalances"), rows, facts={"deploys": counted(len(case.past.deploys), "deploy")}
    )


def scaling(case: Case) -> RuleEvidence | None:
    rows = case.of({"scaling"})
    rebalances, joins = total(rows, "rebalances"), total(rows, "joins")
    if rebalances < case.a_week(SCALINGS) or not 0.25 <= joins / rebalances <= 0.75:
        return None
    return RuleEvidence("", rebalances, rows, facts={"joins": joins, "goes": rebalances - joins})


def cooperative(case: Case) -> RuleEvidence | None:
    rows = [row for row in case.left if row["spared_ms"] and row["why"] not in ROUTINE]
    spared_ms, rebalances = total(rows, "spared_ms"), total(rows, "rebalances")
    if ProblemKind.SLOW_JOIN in case.kinds or not rows or case.past.whole["took_ms"] < SHORT_REBALANCE_MS:
        return None
    if spared_ms < case.a_week(SPARED_MS, 0) or rebalances < case.a_week(REBALANCES):
        return None
    return RuleEvidence("", rebalances, rows, spared_ms, {"protocol": case.past.whole["protocol"]})


def consumer_protocol(case: Case) -> RuleEvidence | None:
    whole, rows = case.past.whole, [row for row in case.left if row["why"] not in ROUTINE]
    rebalances, lost_ms = total(rows, "rebalances"), total(rows, "lost_ms")
    is_large = whole and whole["type"] == "classic" and whole["most_members"] >= LARGE_GROUP and not whole["is_eager"]
    if not is_large or ProblemKind.SLOW_JOIN in case.kinds or whole["took_ms"] < SLOW_REBALANCE_MS:
        return None
    if rebalances < case.a_week(REBALANCES) or lost_ms < case.a_week(SPARED_MS, 0):
        return None
    facts = {"took": duration(int(whole["took_ms"])), "members": whole["most_members"]}
    return RuleEvidence("", rebalances, rows, facts=facts)


def moves(case: Case) -> RuleEvidence | None:
    rows = [row for row in case.left if row["why"] not in ROUTINE]
    moved, needed, rebalances = total(rows, "moved"), total(rows, "needed"), total(rows, "rebalances")
    if moved < MOVED_RATIO * needed or moved - needed < case.a_week(MOVED) or rebalances < case.a_week(REBALANCES):
        return None
    facts = {"needed": number(needed), "spared": number(moved - needed), "protocol": case.past.whole["protocol"]}
    return RuleEvidence("", moved, rows, facts=facts)


def flapping(case: Case) -> RuleEvidence | None:
    """Recognise days with many more rebalances than the median day, for reasons that no other finding explains."""
    whys = {row["why"] for row in case.left} - ROUTINE - {"replacement"}
    by_day: Counter[int] = Counter()
    for row in case.past.days:
        if row["why"] in whys and (row["why"], row["client"]) not in case.explained:
            by_day[row["day"]] += row["rebalances"]
    usual = max((row["median_day"] for row in case.past.days), default=0)
    worst = {each: n for each, n in by_day.items() if n >= max(FLAPS, FLAP_RATIO * usual)}
    rows = case.of(whys)
    if not worst or total(rows, "rebalances") < FLAPS:
        return None
    date, most = max(worst.items(), key=lambda each: each[1])
    facts = {"date": utc_day(date), "most": most, "usual": number(usual), "days": counted(len(worst), "day")}
    return RuleEvidence(culprit(rows), most, rows, facts=facts)


# -- requests that were refused, lag after deploys


def join_refused(case: Case) -> RuleEvidence | None:
    rows = [row for row in case.past.incidents if row["cause"] == "join_refused"]
    client, most = top(rows, "client_id", "times")
    refused = total(rows, "times")
    if refused < REFUSALS:
        return None
    error = max(rows, key=lambda row: row["times"])["error"]
    facts = {"error": error, "advice": JOIN_ADVICE.get(error, "Read what the client logs")}
    return RuleEvidence(client if most >= MOST * refused else "", refused, facts=facts)


def commit_refused(case: Case) -> RuleEvidence | None:
    rows = [row for row in case.past.incidents if row["cause"] == "commit_refused"]
    refused, read_twice = total(rows, "times"), total(case.past.causes, "read_twice")
    if case.kinds & FAULTS or refused < case.a_week(REPEATED):
        return None
    client, most = top(rows, "client_id", "times")
    again = f"up to {counted(read_twice, 'record')} read twice" if read_twice else counted(refused, "refused commit")
    return RuleEvidence(client if most >= MOST * refused else "", refused, facts={"again": again})


def deploy_lag(case: Case) -> RuleEvidence | None:
    known = [row for row in case.past.deploys if None not in (row["lag_before"], row["lag_after"])]
    bad = [row for row in known if row["lag_after"] >= LAG_RATIO * row["lag_before"] + LAG_RECORDS]
    if not bad:
        return None
    worst = max(bad, key=lambda row: row["lag_after"] - row["lag_before"])
    facts = {"before": number(worst["lag_before"]), "after": number(worst["lag_after"])}
    facts |= {"more": number(worst["lag_after"] - worst["lag_before"])}
    facts |= {"date": day(worst["ended_ms"]), "of_all": number(len(known))}
    return RuleEvidence("", len(bad), facts=facts)
