"""Partitions of the transaction log that a node claims and gives up, and the end of its lease."""

from __future__ import annotations

from coordinator.core.shard import PartitionState
from coordinator.core.transactions.commands import EndTxn
from coordinator.core.transactions.coordinator import entries_of
from coordinator.core.transactions.replay import TransactionReplay
from coordinator.core.transactions.states import TransactionState
from protocol.error_codes import ErrorCode
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.record_batch import read_header
from tests.support.transaction_world import NONE, T0, TIMEOUT_MS, TransactionWorld

NOT_COORDINATOR = ErrorCode.NOT_COORDINATOR


def decided() -> TransactionWorld:
    """Return a world with a transaction whose commit is decided, and whose markers are not written."""
    world = TransactionWorld()
    producer = world.init()
    assert isinstance(producer, tuple)
    assert world.add(producer) is NONE
    world.holds_markers = True
    world.send(EndTxn(EndTxnRequest("tx1", *producer, committed=True), raises_epoch=False))
    return world


def give_up(world: TransactionWorld) -> None:
    """Give all partitions up. What is on its way to the log is lost to this node."""
    for number in range(len(world.log)):
        world.execute(world.core.given_up(number, world.now_ms))
    world.queued, world.held_markers = [], []


def claim(world: TransactionWorld, *, epoch: int = 1) -> None:
    """Claim and load all partitions again."""
    core = world.core
    for number, batches in enumerate(world.log):
        core.load_begin(number)
        assert core.partitions[number].error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        replay = TransactionReplay()
        for batch in batches:
            replay.add_batch(read_header(batch), batch)
        entries, unfinished = entries_of(core.partitions[number], replay.settle())
        world.execute(core.loaded(number, entries, unfinished, len(batches), world.now_ms, coordinator_epoch=epoch))


def test_requests_that_wait_go_to_the_next_coordinator() -> None:
    world = TransactionWorld()
    producer = world.init()
    assert isinstance(producer, tuple)
    assert world.add(producer) is NONE
    world.holds_markers = True
    ending = world.send(EndTxn(EndTxnRequest("tx1", *producer, committed=True), raises_epoch=False))
    world.holds_appends = True
    starting = world.send(InitProducerIdRequest("tx2", TIMEOUT_MS))
    assert not {ending, starting} & world.answers.keys()
    give_up(world)
    assert world.answers[ending].error_code == world.answers[starting].error_code == NOT_COORDINATOR
    assert world.init("tx3") is NOT_COORDINATOR
    assert {each.state for each in world.core.partitions} == {PartitionState.NOT_OWNED}
    assert not world.core.open
    assert world.core.ids == 0


def test_markers_of_a_partition_that_was_given_up_change_nothing() -> None:
    world = decided()
    ((_, entry),) = held = world.held_markers
    give_up(world)
    assert held
    before = [len(batches) for batches in world.log]
    world.execute(world.core.markers_written(entry, dict.fromkeys(entry.current.partitions, NONE), world.now_ms))
    world.sleep(10 * TIMEOUT_MS)
    assert [len(batches) for batches in world.log] == before


def test_the_next_claim_goes_on_with_a_higher_epoch() -> None:
    world = decided()
    give_up(world)
    world.markers.clear()
    claim(world, epoch=5)
    (marker,) = world.markers
    assert (marker.coordinator_epoch, marker.transaction_result) == (5, True)
    world.write_markers()
    assert world.state().state is TransactionState.COMPLETE_COMMIT


def test_an_open_transaction_of_another_node_times_out_here() -> None:
    world = TransactionWorld()
    producer = world.init()
    assert isinstance(producer, tuple)
    assert world.add(producer) is NONE
    give_up(world)
    claim(world)
    assert world.state().state is TransactionState.ONGOING
    world.sleep(TIMEOUT_MS + 1)
    assert world.state().state is TransactionState.COMPLETE_ABORT


def test_nothing_is_answered_while_the_lease_is_over() -> None:
    world = TransactionWorld()
    producer = world.init()
    assert isinstance(producer, tuple)
    world.core.is_suspended = True
    assert world.init() is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.add(producer) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.end(producer, commit=True) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.described().error_code == world.listed().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.core.is_suspended = False
    assert world.add(producer) is NONE


def test_a_topic_that_this_node_does_not_know_yet_is_no_deleted_one() -> None:
    """The marker is tried again: another node may have begun the transaction soon after the topic was created."""
    world = decided()
    give_up(world)
    world.marker_errors[T0] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    claim(world)
    world.write_markers()
    assert world.state().state is TransactionState.PREPARE_COMMIT
    world.gone_topics.add(T0[0])
    world.holds_markers = False
    world.sleep(1000)
    assert world.state().state is TransactionState.COMPLETE_COMMIT
