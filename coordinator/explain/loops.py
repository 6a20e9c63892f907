"""Rules about clients that come and go again and again, and about a restart that only looks like it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from coordinator.core.events.model import (
    Cause,
    ChangeKind,
    ClientInfo,
    Incident,
    IncidentKind,
    Rebalance,
    RebalanceOutcome,
    Story,
)
from coordinator.core.events.words import duration
from coordinator.explain.clues import ADVICE, Likely, clue, likely
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.explain.visits import (
    Key,
    Visit,
    by_client,
    incidents,
    is_present,
    key_of,
    latest,
    loops,
    rebalances,
    visits,
)
from coordinator.explain.waiting import RECENT_MS, session_setting
from coordinator.explain.words import clock_time, count, since, times

POLL_TIMEOUT: Final = "poll timeout"  # in Java's reason for leaving: "consumer poll timeout has expired."
DEPLOY_WITHIN_MS: Final = 180_000  # a deploy is over if there was no change for so long
FLAPS: Final = 3
SOON_MS: Final = 1_000
LONGEST_PERIOD_MS: Final = 3_600_000  # what happens less often is no loop: deploys come once a day, or in an hour


def poll_interval(story: Story) -> GroupVerdict | None:
    """Recognise a consumer that leaves because it did not poll for max.poll.interval.ms, and returns when it polls."""
    for key, its, departures in departures_of(story, _may_be_a_poll_timeout):
        last = departures[-1]
        unpolled = _unpolled_ms(story, last)
        told = POLL_TIMEOUT in last.reason or unpolled >= 0
        cycles = loops(its, departures)
        at_limit = _is_at_limit(last) and not _others_left(story, key)
        if not told and not (cycles and all(map(_is_plausible, departures))) and not at_limit:
            continue
        sure = "it exceeded its max.poll.interval.ms" if told else "looks like max.poll.interval.ms"
        sure += f", as it had last polled {duration(unpolled)} before" if unpolled >= 0 else ""
        limit = f" ({duration(last.poll_interval_ms)} now)" if last.poll_interval_ms else ""
        advice = (
            f"{last.member.name} works for longer than that between two polls. Let it take less at once "
            f"(max.poll.records, a smaller batch, a timeout on what it calls), or raise max.poll.interval.ms{limit} "
            "above its longest work."
        )
        sentence = f"{_repeatedly(story, key, departures)}; {sure}{_whereabouts(story, key, its)}"
        return _verdict(Finding.POLL_INTERVAL, sentence, advice, departures)
    return None


def _unpolled_ms(story: Story, visit: Visit) -> int:
    """Return how long before its departure a client had polled last, if it told so and it was too long; else -1."""
    for _, incident in incidents(story, IncidentKind.NOT_POLLING, within_ms=3 * RECENT_MS):
        if incident.member.member_id == visit.member.member_id:
            unpolled_ms = incident.waited_ms + visit.ended_ms - latest(incident)
            if incident.waited_ms >= 0 and unpolled_ms >= visit.poll_interval_ms * 0.9:
                return unpolled_ms
    return -1


def _may_be_a_poll_timeout(visit: Visit) -> bool:
    if visit.how is ChangeKind.DROPPED:  # its session went on, but it did not rejoin
        return not visit.sent_no_sync
    if visit.silent_ms >= 0:
        return likely(visit) is Likely.POLL_TIMEOUT
    return visit.how is ChangeKind.LEFT and (not visit.reason or POLL_TIMEOUT in visit.reason)


def _is_plausible(visit: Visit) -> bool:
    """Return whether the client held its partitions for long enough."""
    return visit.how is ChangeKind.DROPPED or visit.owned_for_ms >= visit.poll_interval_ms // 2


def _is_at_limit(visit: Visit) -> bool:
    """Return whether it left just when max.poll.interval.ms, counted from its assignment, was over."""
    if likely(visit) is Likely.POLL_TIMEOUT:
        return True
    limit_ms = visit.poll_interval_ms
    return visit.how is ChangeKind.LEFT and 0 < limit_ms * 0.99 <= visit.owned_for_ms <= limit_ms * 1.05


def _others_left(story: Story, key: Key) -> bool:
    """Return whether another client left lately, so that all may have been stopped in good order."""
    return any(
        visit.how is ChangeKind.LEFT and story.at_ms - visit.ended_ms <= LONGEST_PERIOD_MS
        for visit in visits(story)
        if key_of(visit.member) != key
    )


def session_too_short(story: Story) -> GroupVerdict | None:
    """Recognise a member whose session ended while it lived: it was heard again under its former id."""
    heard = incidents(
        story, IncidentKind.UNKNOWN_MEMBER, IncidentKind.COMMIT_REFUSED, IncidentKind.FENCED, within_ms=3 * RECENT_MS
    )
    for key, _, departures in departures_of(story, lambda visit: visit.how is ChangeKind.EXPIRED):
        gaps_ms = []
        evidence = []
        for visit in departures:
            after = [
                (at_ms - visit.ended_ms, position)
                for position, incident in heard
                for at_ms in _heard_at(incident, visit)
                if key_of(incident.member) == key and at_ms >= visit.ended_ms
            ]
            if after:
                gap_ms, position = min(after)
                gaps_ms.append(gap_ms + visit.session_timeout_ms)
                evidence += [visit.event, position]
        if not gaps_ms:
            continue
        last = departures[-1]
        session = f" of {duration(last.session_timeout_ms)}" if last.session_timeout_ms else ""
        return GroupVerdict(
            code=Finding.SESSION_TOO_SHORT,
            sentence=(
                f"{last.member.full_name} was removed {times(len(departures))} "
                f"{since(departures[0].ended_ms, story)} although it lived: its session timeout{session} is shorter "
                f"than its gaps, up to {duration(max(gaps_ms))}"
            ),
            advice=(
                f"Raise {_session_setting(story)} above {duration(max(gaps_ms))}, and look for what stops the process "
                "for so long: garbage collection, a CPU limit, a suspended machine, a client whose heartbeats wait "
                "for its handler."
            ),
            culprit=last.member,
            evidence=sorted(set(evidence)),
            since_ms=departures[0].ended_ms,
        )
    return None


def _session_setting(story: Story) -> str:
    setting = session_setting(story.state)
    return setting if " " in setting else f"its {setting}"


def _heard_at(incident: Incident, visit: Visit) -> tuple[int, ...]:
    """Return when an incident may have come from a visit. Of a repeated one the ids but the first are not known."""
    first = (incident.at_ms,) if incident.member.member_id == visit.member.member_id else ()
    return (*first, incident.last_ms) if incident.last_ms else first


def crash_loop(story: Story) -> GroupVerdict | None:
    for key, its, departures in departures_of(story, _has_vanished):
        if len(departures) < 2 or not loops(its, departures):
            continue
        last = departures[-1]
        held = _held(departures) or " suddenly"
        session = (
            f" Each crash stops its partitions for its session timeout of {duration(last.session_timeout_ms)}."
            if last.session_timeout_ms
            else ""
        )
        return _verdict(
            Finding.CRASH_LOOP,
            (
                f"{last.member.full_name} vanished {times(len(departures))} {since(departures[0].ended_ms, story)}"
                f",{held} and without leaving; a new run of it joined each time, so this looks like a crash loop"
                f"{_whereabouts(story, key, its)}"
            ),
            (
                "Look at its own log and exit code: an out-of-memory kill, or a record that its handler cannot take "
                f"and gets again after each restart.{session}"
            ),
            departures,
        )
    return None


def _has_vanished(visit: Visit) -> bool:
    return visit.how is ChangeKind.EXPIRED or visit.sent_no_sync


def restart_loop(story: Story) -> GroupVerdict | None:
    for key, its, departures in departures_of(story, lambda visit: visit.how is ChangeKind.LEFT):
        if len(departures) < 3 or loops(its, departures) < 2:
            continue
        return _verdict(
            Finding.RESTART_LOOP,
            f"{_repeatedly(story, key, departures)}{_whereabouts(story, key, its)}",
            (
                "It leaves of its own accord: a job that is started again and again, a supervisor that restarts it, or "
                "a consumer that is opened for each piece of work. Keep one consumer open, or give it a "
                "group.instance.id and let it not leave when it stops."
            ),
            departures,
        )
    return None


def comes_and_goes(story: Story) -> GroupVerdict | None:
    """Recognise a client that goes and comes again and again, where it is not known how it goes."""
    for key, its, departures in departures_of(story, lambda visit: visit.how in (ChangeKind.GONE, ChangeKind.LEFT)):
        if len(departures) < 2 or not loops(its, departures):
            continue
        unclear = [visit for visit in departures if visit.how is ChangeKind.GONE]
        if not unclear:
            continue
        seems = {likely(visit) for visit in unclear}
        looks = clue(unclear[-1]) if len(seems) == 1 else ""
        advice = ADVICE[likely(unclear[-1]) if len(seems) == 1 else Likely.NOT_KNOWN]
        return _verdict(
            Finding.COMES_AND_GOES,
            f"{_repeatedly(story, key, departures)}{looks}{_whereabouts(story, key, its)}",
            advice.format(name=departures[-1].member.name),
            departures,
        )
    return None


def subscription_flapping(story: Story) -> GroupVerdict | None:
    return _self_caused(
        story,
        Finding.SUBSCRIPTION_FLAPPING,
        lambda event: event.trigger.cause is Cause.PROTOCOLS_CHANGED and event.trigger.subscription_changed,
        "rejoined with other topics or assignors",
        "Let it subscribe once, with all its topics, or by one pattern; a program that calls subscribe() in its loop, "
        "or a pattern that matches topics which come and go, does this.",
    )


def leader_rejoins(story: Story) -> GroupVerdict | None:
    advice = (
        "It does so when its metadata changes: topics that are created or get partitions, brokers whose metadata "
        "differ, or a program that calls enforceRebalance()."
    )
    did = "asked for a new assignment as the leader"
    known = _self_caused(
        story, Finding.LEADER_REJOINS, lambda event: event.trigger.cause is Cause.LEADER_REJOINED, did, advice
    )
    probably = "with the same members and subscriptions, probably because"
    return known or _self_caused(story, Finding.LEADER_REJOINS, _is_by_leader, did, advice, probably)


def _is_by_leader(event: Rebalance) -> bool:
    """Return whether the leader rejoined. If the log does not tell, nothing else that begins a rebalance is left."""
    cause = event.trigger.cause
    is_only_suspect = cause is Cause.UNKNOWN and not event.changes and event.trigger.member.is_known
    return cause is Cause.LEADER_REJOINED or is_only_suspect


def _self_caused(
    story: Story, code: Finding, counts: Callable[[Rebalance], bool], did: str, advice: str, because: str = "because"
) -> GroupVerdict | None:
    """Recognise a member that causes rebalances by its own requests."""
    by_key: dict[Key, list[tuple[int, Rebalance]]] = {}
    for position, event in rebalances(story):
        if counts(event) and story.at_ms - event.at_ms <= RECENT_MS:
            by_key.setdefault(key_of(event.trigger.member), []).append((position, event))
    most = max(by_key.values(), key=len, default=[])
    if len(most) < FLAPS:
        return None
    member, first = most[-1][1].trigger.member, most[0][1]
    return GroupVerdict(
        code=code,
        sentence=f"Rebalanced {times(len(most))} {since(first.at_ms, story)} {because} {member.full_name} {did}",
        advice=advice,
        culprit=member,
        evidence=[position for position, _ in most],
        since_ms=first.at_ms,
    )


def rolling_deploy(story: Story) -> GroupVerdict | None:
    """Recognise that clients are replaced one after another, each once."""
    recent = [each for each in visits(story) if story.at_ms - max(each.joined_ms, each.ended_ms) <= 3 * RECENT_MS]
    gone = [each for each in recent if each.how is not None]
    if len({each.member.member_id for each in gone}) < 2:
        return None
    begin_ms = min(each.ended_ms for each in gone)
    come = [each for each in recent if each.joined_ms > begin_ms - SOON_MS]
    if len(come) < len(gone) - 1 or any(each.how is not None for each in come):
        return None
    if any(loops(its, [each for each in its if each in gone]) for its in by_client(story).values()):
        return None
    end_ms = max(*(each.ended_ms for each in gone), *(each.joined_ms for each in come))
    if story.at_ms - end_ms > DEPLOY_WITHIN_MS:
        return None
    before, after = {each.member.software for each in gone}, {each.member.software for each in come}
    returned = {key_of(each.member) for each in come} <= {key_of(each.member) for each in gone}
    same_clients = {each.member.client_id for each in come} & {each.member.client_id for each in gone}
    if not same_clients and not returned:
        return None
    events = [
        (position, event)
        for position, event in rebalances(story)
        if event.at_ms + event.took_ms >= begin_ms and event.outcome is not RebalanceOutcome.RUNNING
    ]
    is_timed = all(event.join_ms >= 0 or event.sync_ms >= 0 for _, event in events)
    took = f" took {duration(sum(event.took_ms for _, event in events))} together" if is_timed else ""
    versions = f", {_named(before - after)} by {_named(after - before)}" if before - after and after - before else ""
    last = max(come, key=lambda each: each.joined_ms)
    return GroupVerdict(
        code=Finding.ROLLING_DEPLOY,
        sentence=(
            f"Rolling restart {since(begin_ms, story)}: replaced so far: {count(len(come), 'client')}, each once"
            f"{versions}; {count(len(events), 'rebalance')}{took}"
        ),
        advice=(
            "This ends with the deployment. Static members (group.instance.id, and a session.timeout.ms longer than a "
            "restart) would do it without any rebalance."
        ),
        culprit=last.member,
        evidence=[position for position, _ in events],
        since_ms=begin_ms,
    )


def _named(software: set[str]) -> str:
    return ", ".join(sorted(filter(None, software))) or "other software"


def departures_of(story: Story, wanted: Callable[[Visit], bool]) -> Iterator[tuple[Key, list[Visit], list[Visit]]]:
    """Yield each client with its visits and its departures of this kind, if they go on; those with most come first."""
    for key, its in sorted(by_client(story).items(), key=lambda item: -len(item[1])):
        departures = _last_in_a_row(sorted(filter(wanted, its), key=lambda visit: visit.ended_ms))
        if not departures:
            continue
        last_ms = max(max(visit.joined_ms, visit.ended_ms) for visit in its)
        if story.at_ms - last_ms <= min(max(RECENT_MS, 3 * _period_ms(departures)), LONGEST_PERIOD_MS):
            yield key, its, departures


def _last_in_a_row(departures: list[Visit]) -> list[Visit]:
    """Return the newest departures between which less than LONGEST_PERIOD_MS passed."""
    first = len(departures)
    while first > 0 and (
        first == len(departures) or departures[first].ended_ms - departures[first - 1].ended_ms <= LONGEST_PERIOD_MS
    ):
        first -= 1
    return departures[first:]


def _period_ms(departures: list[Visit]) -> int:
    if len(departures) < 2:
        return 0
    return (departures[-1].ended_ms - departures[0].ended_ms) // (len(departures) - 1)


def _held(departures: list[Visit]) -> str:
    held = [
        max(visit.owned_for_ms - (visit.session_timeout_ms if visit.how is ChangeKind.EXPIRED else 0), 0)
        for visit in departures
        if visit.owned_for_ms >= 0
    ]
    if not held:
        return ""
    if max(held) <= 1.5 * min(held) + 1_000:
        return f" {duration(sorted(held)[len(held) // 2])} after it got its partitions"
    return f" {duration(min(held))} to {duration(max(held))} after it got its partitions"


def _repeatedly(story: Story, key: Key, departures: list[Visit]) -> str:
    """Return who caused how many rebalances since when, by leaving when."""
    first, last = departures[0], departures[-1]
    held = _held(departures)
    left = "went" if any(visit.how is ChangeKind.GONE for visit in departures) else "left"
    if len(departures) == 1:
        return f"{last.member.full_name} {left} at {clock_time(last.ended_ms, story.at_ms)}{held}"
    events = [event for _, event in rebalances(story) if event.at_ms >= first.ended_ms]
    caused = sum(key_of(event.trigger.member) == key for event in events)
    share = "each time" if caused == len(events) else f"{times(caused)} of them"
    name = last.member.full_name
    return (
        f"Rebalanced {times(len(events))} {since(first.ended_ms, story)}, {share} because {name} {left} or came back; "
        f"it {left} {times(len(departures))}{held and ','}{held}, every {duration(_period_ms(departures))}"
    )


def _whereabouts(story: Story, key: Key, its: list[Visit]) -> str:
    if is_present(story, key):
        return ""
    last_ms = max(visit.ended_ms for visit in its)
    return f"; it has been away for {duration(story.at_ms - last_ms)}"


def _verdict(code: Finding, sentence: str, advice: str, departures: list[Visit]) -> GroupVerdict:
    culprit: ClientInfo = departures[-1].member
    return GroupVerdict(
        code=code,
        sentence=sentence,
        advice=advice,
        culprit=culprit,
        evidence=[visit.event for visit in departures],
        since_ms=departures[0].ended_ms,
    )
