"""The open transactions of the console's list, and the partitions of a group that one of them holds back."""

from __future__ import annotations

from coordinator.console.lag import UNKNOWN, lag_of, note_held
from coordinator.console.open_transactions import shown_transactions
from coordinator.core.events.model import HeldPartition, HoldingTransaction, Story
from coordinator.core.transactions.commands import AddToTransaction
from coordinator.core.transactions.metadata import TopicPartition
from coordinator.core.transactions.open_rows import MOST_ROWS, OpenRow, decode, encode, open_rows
from protocol.error_codes import ErrorCode
from tests.support.transaction_world import T0, TIMEOUT_MS, TransactionWorld


def row(name: str, start_ms: int) -> OpenRow:
    return OpenRow(transactional_id=name, producer_id=1, state="Ongoing", start_ms=start_ms, timeout_ms=60_000)


def begin(world: TransactionWorld, name: str, *partitions: TopicPartition) -> None:
    producer = world.init(name)
    assert not isinstance(producer, ErrorCode)
    assert world.add(producer, *partitions, transactional_id=name) is ErrorCode.NONE


def test_the_oldest_of_all_nodes_are_shown_and_short_ones_are_not() -> None:
    rows = [row("b", 8_000), row("c", 9_500), row("a", 7_000)]
    assert [each.transactional_id for each in shown_transactions(rows, at_ms=10_000)] == ["a", "b"]
    many = [row(f"{number:03}", number) for number in reversed(range(2 * MOST_ROWS))]
    shown = shown_transactions(many, at_ms=10_000)
    assert [each.start_ms for each in shown] == list(range(MOST_ROWS))


def test_a_node_tells_the_oldest_of_its_open_transactions() -> None:
    world = TransactionWorld()
    for number in range(MOST_ROWS + 2):
        name = f"tx-{number:02}"
        begin(world, name, ("t", 1), ("t", 0), *(("u", each) for each in range(number)))
        world.sleep(10)
    rows = decode(encode(open_rows(world.core.open)))
    assert len(world.core.open) == MOST_ROWS + 2 and len(rows) == MOST_ROWS
    oldest, second, *_ = rows
    assert (oldest.transactional_id, oldest.state, oldest.timeout_ms) == ("tx-00", "Ongoing", TIMEOUT_MS)
    assert (oldest.count, oldest.partitions) == (2, ["t-0", "t-1"])
    assert second.start_ms - oldest.start_ms == 10
    assert (rows[-1].count, len(rows[-1].partitions)) == (MOST_ROWS + 1, 10)


def test_what_is_not_durable_is_not_told() -> None:
    world = TransactionWorld()
    producer = world.init("tx")
    assert not isinstance(producer, ErrorCode)
    world.holds_appends = True
    world.send(AddToTransaction("tx", *producer, frozenset({T0}), 0, lambda error: error))
    assert len(world.core.open) == 1 and open_rows(world.core.open) == []
    world.flush()
    assert [each.transactional_id for each in open_rows(world.core.open)] == ["tx"]


def test_a_partition_is_marked_when_a_long_transaction_holds_the_group_back_there() -> None:
    committed = {("t", number): (5, UNKNOWN) for number in range(3)}
    lag = lag_of(committed, {("t", number): 12 for number in range(3)}, [])
    assert lag is not None

    def held(partition: int, start_ms: int) -> HeldPartition:
        transaction = HoldingTransaction(producer_id=1, transactional_id=f"tx-{partition}", start_ms=start_ms)
        return HeldPartition(
            topic="t",
            partition=partition,
            committed=5,
            last_stable_offset=6,
            high_watermark=12,
            transaction=transaction,
        )

    note_held(lag, Story(at_ms=10_000, held=[held(0, 9_000), held(1, 1_000)]))
    assert [(each.held_at, each.held_by) for each in lag.partitions] == [(-1, ""), (6, "tx-1"), (-1, "")]
    note_held(None, Story(at_ms=1))
