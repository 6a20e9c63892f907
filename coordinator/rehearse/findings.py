"""Rules from the record of a rehearsal to findings, each with what to do next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from coordinator.rehearse.callbacks import CallbackKind
from coordinator.rehearse.output import REFUSED, RefusedSetting
from coordinator.rehearse.phases import CLASSIC, CONSUMER
from coordinator.rehearse.record import FindingKind, MigrationFinding, PhaseRecord, Rehearsal, WrongCommit

# Assignors that clients bring, whose work an assignor of the coordinator takes over.
BUILT_IN: Final = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})
SLOW_S: Final = 2.0  # in a callback, while another member waits for the partitions
LONGER_S: Final = 2.0  # without a commit, than under the classic protocol
AGAIN: Final = 2  # phases in which records are sent again
LONGEST_QUOTED: Final = 3

ADVICE: Final = {
    FindingKind.EXITED: "read its last lines, mend what they name, and rehearse again.",
    FindingKind.NOT_JOINED: "read its last lines and the answer of the coordinator, and rehearse again.",
    FindingKind.CUSTOM_ASSIGNOR: (
        "the coordinator assigns there: take uniform or range (group.remote.assignor), or "
        "give the coordinator an assignor of your own (docs/consumer-groups.md). A group whose assignor adds user data "
        "is converted only while it has no members."
    ),
    FindingKind.STUCK: "look at what the owner waits for in its callbacks and its poll loop.",
    FindingKind.KEPT_UNREAD: (
        "under the consumer protocol the list of on_assign has only what is new, and may be empty. Add it to what the "
        "application has, and remove what on_revoke names."
    ),
    FindingKind.LOOPING: "look for a copy that joins again and again: `coordinator groups explain` names it.",
    FindingKind.STALE_EPOCH: (
        "commit by the consumer itself and before the revocation callback returns; take consumer_group_metadata() "
        "anew for each transaction."
    ),
    FindingKind.NOT_OWNER: (
        "commit in the revocation callback, synchronously, and nothing of these partitions after it: the next owner "
        "has begun from what was committed then."
    ),
    FindingKind.WENT_BACK: "commit only what this member has, and positions that grow.",
    FindingKind.READ_AGAIN: "begin from the committed offset: look for a seek, or auto.offset.reset, in a callback.",
    FindingKind.LOST: "commit a record after it was processed, not when it is fetched.",
    FindingKind.PROCESSED_TWICE: "commit in the revocation callback and before close(), synchronously.",
    FindingKind.SLOW_REVOCATION: (
        "stop the work on these partitions at once in the callback, commit, and return; the next owner waits for it."
    ),
    FindingKind.LONGER_STANDSTILL: "compare its callbacks in both protocols, above; a callback or a timeout holds it.",
}


def findings(rehearsal: Rehearsal) -> list[MigrationFinding]:
    """Return all findings, the gravest kinds first."""
    return [finding for rule in RULES for finding in rule(rehearsal)]


def refused_settings(rehearsal: Rehearsal) -> Iterator[MigrationFinding]:
    """Yield the settings that the client refused under the consumer protocol."""
    found: dict[str, tuple[RefusedSetting, str, list[str]]] = {}
    for phase in rehearsal.played:
        for client, settings in phase.refused_settings.items():
            for refused in settings:
                phases = found.setdefault(refused.setting, (refused, client, []))[2]
                if phase.name not in phases:
                    phases.append(phase.name)
    for name, (refused, client, phases) in found.items():
        advice = f"do not set {name} under group.protocol=consumer; {REFUSED[name]}."
        sentence = f'the client of {client} refuses {name}: "{refused.line}"'
        yield MigrationFinding(FindingKind.REFUSED_SETTING, sentence, tuple(phases), advice)


def ended_and_absent(rehearsal: Rehearsal) -> Iterator[MigrationFinding]:
    """Yield the copies that ended, and those that became no members, unless a refused setting is the reason."""
    for phase in rehearsal.played:
        for ended in (each for each in phase.ended if each.client not in phase.refused_settings):
            sentence = (
                f"{ended.client} ended by itself under group.protocol={ended.protocol}, with exit code "
                f"{ended.exit_code}; its last lines:\n{ended.last_lines}"
            )
            yield _finding(FindingKind.EXITED, sentence, phase.name)
        for absent in (each for each in phase.absent if each.client not in phase.refused_settings):
            answer = f"; the coordinator answered {absent.refusal}" if absent.refusal else ""
            sentence = (
                f"{absent.client} runs with group.protocol={absent.protocol} and became no member within "
                f"{absent.waited_s:g} s{answer}; its last lines:\n{absent.last_lines}"
            )
            yield _finding(FindingKind.NOT_JOINED, sentence, phase.name)


def custom_assignors(rehearsal: Rehearsal) -> Iterator[MigrationFinding]:
    """Yield the assignors that are no built-in ones of clients."""
    offered = {name: phase.name for phase in reversed(rehearsal.played) for name in phase.assignors}
    if custom := sorted(offered.keys() - BUILT_IN):
        is_one = len(custom) == 1
        names = f"assignor{'s' * (not is_one)} {', '.join(custom)}"
        sentence = f"the {names} of the client {'is' if is_one else 'are'} not used under the consumer protocol"
        yield _finding(FindingKind.CUSTOM_ASSIGNOR, sentence, offered[custom[0]])


def standing_still(rehearsal: Rehearsal) -> Iterator[MigrationFinding]:
    """Yield the partitions that were not read, and rebalances without an end."""
    for kind, is_kept in ((FindingKind.KEPT_UNREAD, True), (FindingKind.STUCK, False)):
        stuck = [(phase, each) for phase in rehearsal.played for each in phase.unread if each.is_kept is is_kept]
        if stuck:
            first = stuck[0][1]
            numbers = _numbers({each.partition for _, each in stuck})
            owner = f"the owner is {first.owner}" if first.owner else "there is no owner"
            why = (
                ", which kept what it had when its assignment changed, and does not read it any more" if is_kept else ""
            )
            sentence = (
                f"nothing of {numbers} was committed for {first.waited_s:g} s, while records waited; {owner}{why}"
            )
            yield _finding(kind, sentence, *_names(phase for phase, _ in stuck))
    if looping := [each for each in rehearsal.played if each.rebalances is not None]:
        sentence = f"the group does not come to rest; its epoch is {looping[0].rebalances}"
        yield _finding(FindingKind.LOOPING, sentence, *_names(looping))


def stale_epochs(rehearsal: Rehearsal) -> Iterator[MigrationFinding]:
    """Yield commits that were refused because of an old epoch or generation. Heartbeats are the client's own."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    phases: dict[tuple[str, str], list[PhaseRecord]] = defaultdict(list)
    for phase in rehearsal.played:
        for refused in (each for each in phase.refused if each.request.endswith("OffsetCommit")):
            counts[refused.request, refused.error] += refused.count
            phases[refused.request, refused.error].append(phase)
    for (request, error), count in counts.items():
        sentence = f"{count} {request} {'was' if count == 1 else 'were'} refused with {error}"
        yield _finding(FindingKind.STALE_EPOCH, sentence, *_names(phases[request, error]))


def wrong_commits(rehearsal: Rehearsal) -> Iterator[MigrationFinding]:
    """Yield commits of partitions that were given up, what went back, and what was lost."""
    rows: tuple[tuple[FindingKind, Callable[[PhaseRecord], list[WrongCommit]], str], ...] = (
        (
            FindingKind.NOT_OWNER,
            lambda phase: phase.late_commits,
            "{count} commits were accepted for partitions that the member had given up, the first of {client}: "
            "partition {partition}, offset {offset}",
        ),
        (
            FindingKind.WENT_BACK,
            lambda phase: phase.went_back,
            "{count} commits were below what was committed, the first of {client}: partition {partition}, offset "
            "{offset}, where {before} was committed",
        ),
        (
            FindingKind.READ_AGAIN,
            lambda phase: phase.read_again,
            "{client} read partition {partition} from offset {offset} again, where {before} was committed",
        ),
    )
    for kind, select, text in rows:
        wrong = [each for phase in rehearsal.played for each in select(phase)]
        if wrong:
            first = wrong[0]
            sentence = text.format(
                count=len(wrong), client=first.client, partition=first.partition, offset=first.offset,
                before=first.before,
            )  # fmt: skip
            yield _finding(kind, sentence, *_names(phase for phase in rehearsal.played if select(phase)))
    if lost := [phase for phase in rehearsal.played if phase.unsent]:
        count = sum(sum(phase.unsent.values()) for phase in lost)
        numbers = _numbers(set().union(*(phase.unsent for phase in lost)))
        sentence = f"{count} records of {numbers} were committed and sent to no copy"
        yield _finding(FindingKind.LOST, sentence, *_names(lost))


def processed_twice(rehearsal: Rehearsal) -> Iterator[MigrationFinding]:
    """Yield what was processed twice. Without an output: what an owner had for a second, and the next one again.

    A machine that stands still for a second does that to any application, but not in phase after phase.
    """
    if rehearsal.has_output:
        twice = [phase for phase in rehearsal.played if phase.processed_twice]
        count = sum(phase.processed_twice or 0 for phase in twice)
        sentence = f"{count} records were written to the output twice"
    else:
        twice = [phase for phase in rehearsal.played if phase.sent_again]
        if len(twice) < AGAIN:
            return
        count = sum(sum(phase.sent_again.values()) for phase in twice)
        numbers = _numbers(set().union(*(phase.sent_again for phase in twice)))
        sentence = (
            f"{count} records of {numbers} were sent to their owner, not committed, and sent again a second later"
        )
    if twice:
        yield _finding(FindingKind.PROCESSED_TWICE, sentence, *_names(twice))


def slow_revocations(rehearsal: Rehearsal) -> Iterator[MigrationFinding]:
    """Yield the longest time in which a member gave up partitions, if it is long."""
    slow = [
        (phase, each)
        for phase in rehearsal.played
        for each in phase.callbacks
        if each.kind is CallbackKind.REVOKED and each.took_s > SLOW_S
    ]
    if slow:
        worst = max((each for _, each in slow), key=lambda each: each.took_s)
        numbers = _numbers(set(worst.partitions))
        sentence = f"{worst.client} gave {numbers} up {worst.took_s:.1f} s after it was told to"
        yield _finding(FindingKind.SLOW_REVOCATION, sentence, *_names(phase for phase, _ in slow))


def longer_standstills(rehearsal: Rehearsal) -> Iterator[MigrationFinding]:
    """Yield partitions that stand still for longer under the consumer protocol, if nothing else says why.

    While both are mixed, classic members hear of a change by their next heartbeat only.
    """
    before = next((each for each in rehearsal.played if each.name == CLASSIC), None)
    if before is None or any(each.unread or each.ended or each.absent for each in rehearsal.played):
        return
    longer = [
        (phase, number, took_s)
        for phase in rehearsal.played
        if phase.name == CONSUMER
        for number, took_s in phase.standstill_s.items()
        if took_s > max(before.standstill_s.values(), default=0.0) + LONGER_S
    ]
    if longer:
        _, number, took_s = max(longer, key=lambda each: each[2])
        was_s = max(before.standstill_s.values())
        sentence = f"{took_s:.1f} s without a commit of partition {number}, {was_s:.1f} s under the classic protocol"
        yield _finding(FindingKind.LONGER_STANDSTILL, sentence, *_names(each for each, _, _ in longer))


RULES: Final[tuple[Callable[[Rehearsal], Iterator[MigrationFinding]], ...]] = (
    refused_settings,
    ended_and_absent,
    custom_assignors,
    standing_still,
    stale_epochs,
    wrong_commits,
    processed_twice,
    slow_revocations,
    longer_standstills,
)


def _finding(kind: FindingKind, sentence: str, *phases: str) -> MigrationFinding:
    return MigrationFinding(kind, sentence, phases, ADVICE[kind])


def _names(phases: Iterable[PhaseRecord]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(phase.name for phase in phases))


def _numbers(partitions: set[int]) -> str:
    some = sorted(partitions)
    more = f" and {len(some) - LONGEST_QUOTED} more" if len(some) > LONGEST_QUOTED + 1 else ""
    shown = some[:LONGEST_QUOTED] if more else some
    return f"partition{'s' * (len(some) != 1)} {', '.join(map(str, shown))}{more}"
