"""Rules about open transactions: who holds readers of committed records back, since when, and how to end it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from coordinator.core.events.model import HeldPartition, HoldingTransaction, Story, decode_story, encode
from coordinator.explain.rules import explain
from coordinator.explain.verdict import Finding, GroupVerdict
from tests.explain.play import Play


def transaction(story: Story, open_s: int = 130, **about: Any) -> HoldingTransaction:
    facts: dict[str, Any] = {
        "producer_id": 4,
        "transactional_id": "transfer-7",
        "state": "Ongoing",
        "start_ms": story.at_ms - open_s * 1_000,
        "timeout_ms": 900_000,
    }
    return HoldingTransaction(**facts | about)


def held(transaction: HoldingTransaction, partition: int = 0) -> HeldPartition:
    return HeldPartition(
        topic="payments",
        partition=partition,
        committed=5,
        last_stable_offset=5,
        high_watermark=12,
        transaction=transaction,
    )


def reading(play: Play) -> Story:
    play.wait("70s", *play.clients("web-1", "web-2"))
    return play.story()


def headline(story: Story) -> GroupVerdict:
    return explain(decode_story(encode(story)))[0]


def test_the_partition_the_transaction_its_age_and_its_end_are_told(play: Play) -> None:
    story = reading(play)
    story.held = [held(transaction(story))]
    verdict = headline(story)
    assert verdict.code is Finding.HELD_BACK
    assert verdict.sentence == (
        "Readers of committed records are held back at offset 5 of payments-0, the last stable offset, 7 offsets "
        "before the high watermark 12: transactional id 'transfer-7' has a transaction open for 2 m 10 s, since 22:12; "
        "its timeout aborts it in 12 m 50 s"
    )
    assert verdict.advice.startswith("`coordinator transactions abort transfer-7` aborts it now, and fences")
    assert (verdict.since_ms, verdict.at_most_ms) == (story.at_ms - 130_000, 770_000)


def test_the_oldest_transaction_is_told_and_other_partitions_are_counted(play: Play) -> None:
    story = reading(play)
    newer, older = transaction(story, 20, transactional_id="new"), transaction(story, 80, transactional_id="old id")
    story.held = [held(newer, 0), held(older, 1), held(newer, 2)]
    verdict = headline(story)
    assert "payments-1" in verdict.sentence and verdict.sentence.endswith("; the same holds for 2 other partitions")
    assert verdict.advice.startswith("`coordinator transactions abort 'old id'` ")


def test_short_transactions_are_no_finding(play: Play) -> None:
    story = reading(play)
    story.held = [held(transaction(story, 4))]
    story.offsets_pending_in = [transaction(story, 4)]
    assert [each.code for each in explain(story)] == [Finding.HEALTHY]


def test_a_hanging_transaction_is_ended_in_its_partition(play: Play) -> None:
    story = reading(play)
    story.held = [held(transaction(story, transactional_id="", state="", timeout_ms=-1, is_hanging=True))]
    verdict = headline(story)
    assert verdict.sentence.endswith(
        "producer 4, which no transactional id has open, has a transaction open there, and wrote to it last 2 m 10 s "
        "ago, since 22:12"
    )
    assert "coordinator transactions abort --topic payments --partition 0 --start-offset 5`" in verdict.advice
    assert verdict.at_most_ms == -1


def test_a_transaction_of_an_unknown_id_is_not_called_hanging(play: Play) -> None:
    story = reading(play)
    story.held = [held(transaction(story, transactional_id="", state="", timeout_ms=-1))]
    verdict = headline(story)
    assert "whose transactional id is not known" in verdict.sentence
    assert "abort" not in verdict.advice


@pytest.mark.parametrize(("state", "word"), [("PrepareCommit", "commit"), ("PrepareAbort", "abort")])
def test_a_decided_transaction_waits_for_its_marker_and_cannot_be_aborted(play: Play, state: str, word: str) -> None:
    story = reading(play)
    story.held = [held(transaction(story, state=state))]
    verdict = headline(story)
    assert f"the {word} of 'transfer-7' is decided, but its marker is not there yet" in verdict.sentence
    assert "transactions abort" not in verdict.advice and verdict.at_most_ms == -1


def test_a_group_that_lost_its_members_is_empty_in_the_first_place(play: Play) -> None:
    (web,) = play.clients("web-1")
    web.leave()
    story = play.story()
    story.held = [held(transaction(story))]
    assert headline(story).code is Finding.EMPTY


def test_offsets_that_a_long_transaction_keeps_pending_are_named(play: Play) -> None:
    (web,) = play.clients("web-1")
    play.cluster.txn_commit("g", {("orders", 3): 7, ("orders", 4): 8}, producer_id=4)
    assert [verdict.code for verdict in explain(play.story())] == [Finding.HEALTHY]  # it is not known whose
    play.wait("42s", web)
    story = play.story()
    assert story.state is not None
    (pending,) = story.state.pending_offsets
    assert (pending.producer_id, pending.count, pending.partitions) == (4, 2, ["orders-3", "orders-4"])
    assert story.at_ms - pending.since_ms == 42_000
    story.offsets_pending_in = [transaction(story, 43)]
    verdict = headline(story)
    assert verdict.code is Finding.OFFSETS_PENDING
    assert verdict.sentence == (
        "The offset of orders-3 and 1 more is pending in a transaction, and a consumer that is given this partition "
        "waits for its end (UNSTABLE_OFFSET_COMMIT): transactional id 'transfer-7' has a transaction open for 43 s, "
        "since 22:13; its timeout aborts it in 14 m 17 s"
    )
    play.cluster.end_transaction("g", commit=True, producer_id=4)
    state = play.story().state
    assert state is not None and state.pending_offsets == []


def test_a_transaction_that_ended_between_the_two_questions_is_not_told(play: Play) -> None:
    story = reading(play)
    story.offsets_pending_in = [transaction(story, 43)]
    assert headline(story).code is Finding.HEALTHY


def test_a_story_of_an_older_build_has_no_such_facts() -> None:
    story = msgspec.json.decode(b'{"at_ms":1,"state":{"group":"g","at_ms":1,"state":"Stable"}}', type=Story)
    assert story.held == [] and story.state is not None and story.state.pending_offsets == []
