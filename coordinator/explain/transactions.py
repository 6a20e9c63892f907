"""Rules about open transactions: one holds readers of committed records back, or keeps offsets of the group pending."""

from __future__ import annotations

from shlex import quote
from typing import Final

from coordinator.core.events.model import HeldPartition, HoldingTransaction, LiveGroup, Story
from coordinator.core.events.words import duration
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.explain.words import count, since

OPEN_FOR_MS: Final = 5_000  # most transactions are shorter, and hold every reader back for that long
_DECIDED: Final = {"PrepareCommit": "commit", "PrepareAbort": "abort"}


def held_back(story: Story) -> GroupVerdict | None:
    """Recognise a group that has read up to the last stable offset of a partition, where a transaction is open."""
    state = story.state
    if state is None or _has_lost_its_members(state):
        return None
    held = [each for each in story.held if is_long(each.transaction, story)]
    if not held:
        return None
    oldest = min(held, key=lambda each: each.transaction.start_ms)
    transaction, behind = oldest.transaction, oldest.high_watermark - oldest.last_stable_offset
    others = f"; the same holds for {count(len(held) - 1, 'other partition')}" if len(held) > 1 else ""
    return GroupVerdict(
        code=Finding.HELD_BACK,
        sentence=(
            f"Readers of committed records are held back at offset {oldest.last_stable_offset} of {oldest.name}, the "
            f"last stable offset, {count(behind, 'offset')} before the high watermark {oldest.high_watermark}: "
            f"{_is_open(transaction, story)}{others}"
        ),
        advice=f"{_advice(transaction, _hanging_command(oldest))} Readers of uncommitted records do not wait.",
        since_ms=transaction.start_ms,
        at_most_ms=_ends_in_ms(transaction, story),
    )


def offsets_pending(story: Story) -> GroupVerdict | None:
    """Recognise a long transaction with offsets of the group: a consumer that asks for them waits for its end."""
    state = story.state
    if state is None:
        return None
    sent = {each.producer_id: each for each in state.pending_offsets}  # one may have ended since the other was asked
    open_long = [each for each in story.offsets_pending_in if is_long(each, story) and each.producer_id in sent]
    if not open_long:
        return None
    oldest = min(open_long, key=lambda each: each.start_ms)
    pending = sent[oldest.producer_id]
    more = f" and {pending.count - 1} more" if pending.count > 1 else ""
    others = f"; {count(len(open_long) - 1, 'other transaction')} with offsets" if len(open_long) > 1 else ""
    return GroupVerdict(
        code=Finding.OFFSETS_PENDING,
        sentence=(
            f"The offset of {pending.partitions[0]}{more} is pending in a transaction, and a consumer that is given "
            f"this partition waits for its end (UNSTABLE_OFFSET_COMMIT): {_is_open(oldest, story)}{others}"
        ),
        advice=_advice(
            oldest, "end it by `kafka-transactions.sh abort` with --topic __consumer_offsets and --producer-id"
        ),
        since_ms=oldest.start_ms,
        at_most_ms=_ends_in_ms(oldest, story),
    )


def is_long(transaction: HoldingTransaction, story: Story) -> bool:
    """Return True if a transaction is open for so long that it is worth a word."""
    return _open_ms(transaction, story) >= OPEN_FOR_MS


def _has_lost_its_members(state: LiveGroup) -> bool:
    """Return True if no consumer reads. A group without protocol type has no members even if one does."""
    return not state.member_count and bool(state.protocol_type)


def _open_ms(transaction: HoldingTransaction, story: Story) -> int:
    return story.at_ms - transaction.start_ms if transaction.start_ms >= 0 else 0


def _ends_in_ms(transaction: HoldingTransaction, story: Story) -> int:
    """Return how long the transaction lasts at most; -1 if its timeout does not end it, or is not known."""
    if transaction.state != "Ongoing" or transaction.timeout_ms < 0:
        return -1
    return max(transaction.start_ms + transaction.timeout_ms - story.at_ms, 0)


def _is_open(transaction: HoldingTransaction, story: Story) -> str:
    name, start = transaction.transactional_id, since(transaction.start_ms, story)
    open_for = f"for {duration(_open_ms(transaction, story))}, {start}"
    if decided := _DECIDED.get(transaction.state):
        return f"the {decided} of {name!r} is decided, but its marker is not there yet; it began {start}"
    if name:
        ends = duration(_ends_in_ms(transaction, story))
        return f"transactional id {name!r} has a transaction open {open_for}; its timeout aborts it in {ends}"
    known = "which no transactional id has open" if transaction.is_hanging else "whose transactional id is not known"
    written = f"wrote to it last {duration(_open_ms(transaction, story))} ago, {start}"
    return f"producer {transaction.producer_id}, {known}, has a transaction open there, and {written}"


def _advice(transaction: HoldingTransaction, hanging_command: str) -> str:
    name = transaction.transactional_id
    if transaction.state in _DECIDED:
        return (
            "Its coordinator writes the marker again and again until the leader of the partition takes it: look at "
            f"that node and at the logs. `coordinator transactions describe {quote(name)}` names the coordinator."
        )
    if name:
        return (
            f"`coordinator transactions abort {quote(name)}` aborts it now, and fences its producer. For good: let the "
            "producer commit more often, or lower its transaction.timeout.ms."
        )
    if transaction.is_hanging:
        return f"No timeout ends it. If your login may see all transactional ids, {hanging_command}."
    return "Some transaction coordinators did not answer; ask again when they do."


def _hanging_command(held: HeldPartition) -> str:
    return (
        f"abort it: `coordinator transactions abort --topic {held.topic} --partition {held.partition} --start-offset "
        f"{held.last_stable_offset}`"
    )
