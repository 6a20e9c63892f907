"""The rules of transactional ids, one by one: InitProducerId, AddPartitionsToTxn, EndTxn, timeouts, recovery."""

from __future__ import annotations

from itertools import islice

import pytest

from coordinator.core.transactions.commands import TimeOutTransaction
from coordinator.core.transactions.coordinator import APPENDS_AT_ONCE
from coordinator.core.transactions.metadata import EXHAUSTED_FROM
from coordinator.core.transactions.states import TransactionState
from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.support.transaction_world import NONE, T0, T1, TIMEOUT_MS, Identity, TransactionWorld

FENCED = ErrorCode.PRODUCER_FENCED
WRONG_STATE = ErrorCode.INVALID_TXN_STATE
RUNNING = ErrorCode.CONCURRENT_TRANSACTIONS
WRONG_ID = ErrorCode.INVALID_PRODUCER_ID_MAPPING
State = TransactionState


@pytest.fixture
def world() -> TransactionWorld:
    return TransactionWorld()


def started(world: TransactionWorld) -> Identity:
    """Start a producer."""
    producer = world.init()
    assert isinstance(producer, tuple)
    return producer


def in_state(world: TransactionWorld, state: TransactionState, *, raises_epoch: bool = False) -> Identity:
    """Bring `tx1` into a state. Returns the producer of the transaction that ended last, or that is open."""
    producer = started(world)
    if state is State.EMPTY:
        return producer
    assert world.add(producer) is NONE
    if state is State.ONGOING:
        return producer
    world.holds_markers = state in (State.PREPARE_COMMIT, State.PREPARE_ABORT)
    commit = state in (State.PREPARE_COMMIT, State.COMPLETE_COMMIT)
    from coordinator.core.transactions.commands import EndTxn
    from protocol.messages.end_txn import EndTxnRequest

    world.send(EndTxn(EndTxnRequest("tx1", *producer, commit), raises_epoch))
    assert world.state().state is state
    return producer


def test_very_many_durable_appends_are_applied_in_steps() -> None:
    world = TransactionWorld()
    world.holds_appends = True
    names = (f"tx{each}" for each in range(100 * APPENDS_AT_ONCE))
    for name in islice((name for name in names if world.core.partition_of(name) == 0), APPENDS_AT_ONCE + 1):
        world.send(InitProducerIdRequest(name, TIMEOUT_MS))
    number, high_watermark = 0, APPENDS_AT_ONCE + 1
    assert not world.answers
    world.execute(world.core.appended(number, high_watermark, world.now_ms))
    assert len(world.answers) == APPENDS_AT_ONCE
    assert world.core.is_behind(number, high_watermark)
    world.execute(world.core.appended(number, high_watermark, world.now_ms))
    assert not world.core.is_behind(number, high_watermark)


# -- InitProducerId ---------------------------------------------------------------------------------------------------


def test_each_start_of_a_producer_raises_its_epoch(world: TransactionWorld) -> None:
    assert world.init() == (1000, 0)
    assert world.init() == (1000, 1)
    assert world.init("tx2") == (1001, 0)


@pytest.mark.parametrize(
    ("transactional_id", "timeout_ms", "error"),
    [
        ("", TIMEOUT_MS, ErrorCode.INVALID_REQUEST),
        ("", 0, ErrorCode.INVALID_REQUEST),
        ("tx1", 0, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("tx1", -1, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("tx1", 900_001, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_bad_ids_and_timeouts_are_refused(
    world: TransactionWorld, transactional_id: str, timeout_ms: int, error: ErrorCode
) -> None:
    assert world.init(transactional_id, timeout_ms=timeout_ms) is error
    assert world.core.ids == 0


def test_an_open_transaction_is_aborted_for_a_new_producer(world: TransactionWorld) -> None:
    producer = in_state(world, State.ONGOING)
    assert world.init() is RUNNING
    (marker,) = world.markers
    assert (marker.producer_epoch, marker.transaction_result) == (1, False)
    assert world.init() == (producer[0], 2)
    assert world.end(producer, commit=True) is FENCED


def test_a_decided_transaction_lets_a_new_producer_wait(world: TransactionWorld) -> None:
    in_state(world, State.PREPARE_COMMIT)
    assert world.init() is RUNNING
    world.write_markers()
    assert world.init() == (1000, 1)


def test_a_named_producer_gets_the_next_epoch_and_may_repeat(world: TransactionWorld) -> None:
    producer = started(world)
    assert world.init(producer=producer) == (1000, 1)
    assert world.init(producer=producer) == (1000, 1)
    assert world.init(producer=(1000, 1)) == (1000, 2)
    assert world.init(producer=producer) is FENCED
    assert world.init(producer=(999, 2)) is FENCED


def test_a_new_instance_forgets_the_epoch_that_may_be_repeated(world: TransactionWorld) -> None:
    producer = started(world)
    assert world.init(producer=producer) == (1000, 1)
    assert world.init() == (1000, 2)
    assert world.init(producer=producer) is FENCED


def exhausted(world: TransactionWorld) -> Identity:
    producer = started(world)
    entry = world.entry()
    entry.current = entry.durable = entry.current._replace(producer_epoch=EXHAUSTED_FROM)
    return producer[0], EXHAUSTED_FROM


@pytest.mark.parametrize("is_named", [False, True])
def test_a_new_producer_id_follows_the_last_epoch(world: TransactionWorld, is_named: bool) -> None:
    producer = exhausted(world)
    assert world.init(producer=producer if is_named else (-1, -1)) == (1001, 0)
    if is_named:
        assert world.init(producer=producer) == (1001, 0), "the answer was lost, and the request is repeated"
    else:
        assert world.init(producer=producer) is FENCED


def test_producers_wait_for_their_id(world: TransactionWorld) -> None:
    world.gives_ids = False
    first, second = (world.send(request) for request in map(init_request, ("a", "b")))
    assert world.answers == {}
    world.gives_ids = True
    world.give_id()
    assert {world.answers[first].producer_id, world.answers[second].producer_id} == {1000, 1001}


def init_request(transactional_id: str) -> object:
    from protocol.messages.init_producer_id import InitProducerIdRequest

    return InitProducerIdRequest(transactional_id, TIMEOUT_MS)


def test_a_failed_allocation_is_retriable(world: TransactionWorld) -> None:
    world.gives_ids = False
    number = world.send(init_request("a"))
    world.give_id(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert world.answers[number].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_ids_are_limited() -> None:
    world = TransactionWorld(max_transactional_ids=2)
    assert isinstance(world.init("a"), tuple)
    assert isinstance(world.init("b"), tuple)
    assert world.init("c") is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert isinstance(world.init("a"), tuple)


# -- AddPartitionsToTxn and verification ------------------------------------------------------------------------------


def test_only_the_producer_of_an_id_adds_partitions(world: TransactionWorld) -> None:
    producer = started(world)
    assert world.add((producer[0] + 1, 0)) is WRONG_ID
    assert world.add((producer[0], 1)) is FENCED
    assert world.add(producer, transactional_id="other") is WRONG_ID
    assert world.add(producer, transactional_id="") is ErrorCode.INVALID_REQUEST
    assert world.state().state is State.EMPTY


def test_the_first_partition_begins_a_transaction(world: TransactionWorld) -> None:
    producer = started(world)
    assert world.add(producer, T0) is NONE
    began_ms = world.wall_ms
    world.sleep(10)
    assert world.add(producer, T0, T1) is NONE
    state = world.state()
    assert (state.state, state.partitions, state.start_ms) == (State.ONGOING, frozenset({T0, T1}), began_ms)
    records = len(world.log[0])
    assert world.add(producer, T1) is NONE
    assert len(world.log[0]) == records, "nothing is written for what is known"


def test_known_partitions_are_confirmed_when_they_are_durable(world: TransactionWorld) -> None:
    from coordinator.core.transactions.commands import AddToTransaction

    producer = started(world)
    world.holds_appends = True
    command = AddToTransaction("tx1", *producer, frozenset({T0}), 0, lambda error: error)
    first, second = world.send(command), world.send(command)
    assert not {first, second} & world.answers.keys()
    world.flush()
    assert world.answers[first] is world.answers[second] is NONE


def test_a_partition_is_verified(world: TransactionWorld) -> None:
    producer = started(world)
    assert world.verify(producer, T0) == {T0: ErrorCode.TRANSACTION_ABORTABLE}
    assert world.add(producer, T0) is NONE
    assert world.verify(producer, T0, T1) == {T0: NONE, T1: ErrorCode.TRANSACTION_ABORTABLE}
    assert world.verify((producer[0], 1), T0) == {T0: FENCED}
    assert world.verify((1, 0), T0) == {T0: WRONG_ID}
    world.holds_markers = True
    world.send(end_command(producer, commit=True))
    assert world.verify(producer, T0) == {T0: RUNNING}
    assert world.verify((producer[0], 1), T0) == {T0: FENCED}
    assert world.add((producer[0], 1), T0) is RUNNING, "a producer that begins the next one is told to wait"
    assert world.add((1, 0), T0) is WRONG_ID


def end_command(producer: Identity, *, commit: bool, raises_epoch: bool = False) -> object:
    from coordinator.core.transactions.commands import EndTxn
    from protocol.messages.end_txn import EndTxnRequest

    return EndTxn(EndTxnRequest("tx1", *producer, commit), raises_epoch)


# -- EndTxn -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "on_commit", "on_abort"),
    [
        (State.EMPTY, WRONG_STATE, WRONG_STATE),
        (State.ONGOING, NONE, NONE),
        (State.PREPARE_COMMIT, RUNNING, RUNNING),
        (State.PREPARE_ABORT, RUNNING, RUNNING),
        (State.COMPLETE_COMMIT, NONE, WRONG_STATE),
        (State.COMPLETE_ABORT, WRONG_STATE, NONE),
    ],
)
def test_end_by_a_client_that_keeps_its_epoch(
    state: TransactionState, on_commit: ErrorCode, on_abort: ErrorCode
) -> None:
    for commit, expected in ((True, on_commit), (False, on_abort)):
        world = TransactionWorld()
        producer = in_state(world, state)
        assert world.end((producer[0] + 1, 0), commit=commit) is WRONG_ID
        assert world.end((producer[0], 1), commit=commit) is FENCED
        assert world.end(producer, commit=commit) is expected


EQUAL_EPOCH = {  # verdicts on a commit and an abort with the present epoch; True: it ends, and the epoch is raised
    State.ONGOING: (True, True),
    State.EMPTY: (WRONG_STATE, True),
    State.PREPARE_COMMIT: (RUNNING, RUNNING),
    State.PREPARE_ABORT: (RUNNING, RUNNING),
    State.COMPLETE_COMMIT: (WRONG_STATE, True),
    State.COMPLETE_ABORT: (WRONG_STATE, True),
}
REPEATED = {  # verdicts on a repetition; True: it has ended so
    State.PREPARE_COMMIT: (RUNNING, RUNNING),
    State.PREPARE_ABORT: (RUNNING, RUNNING),
    State.COMPLETE_COMMIT: (True, WRONG_STATE),
    State.COMPLETE_ABORT: (WRONG_STATE, True),
}


@pytest.mark.parametrize("state", EQUAL_EPOCH)
def test_end_with_the_present_epoch(state: TransactionState) -> None:
    for commit, expected in zip((True, False), EQUAL_EPOCH[state], strict=True):
        world = TransactionWorld()
        in_state(world, state, raises_epoch=True)
        now = world.state().producer_id, world.state().producer_epoch
        answer = world.end_and_raise(now, commit=commit)
        assert answer == ((now[0], now[1] + 1) if expected is True else expected)


@pytest.mark.parametrize("state", REPEATED)
def test_a_repeated_end(state: TransactionState) -> None:
    for commit, expected in zip((True, False), REPEATED[state], strict=True):
        world = TransactionWorld()
        producer = in_state(world, state, raises_epoch=True)
        answer = world.end_and_raise(producer, commit=commit)
        assert answer == ((producer[0], producer[1] + 1) if expected is True else expected)


def test_the_marker_carries_the_raised_epoch_and_one_end_is_one_transaction(world: TransactionWorld) -> None:
    producer = in_state(world, State.ONGOING)
    assert world.end_and_raise(producer, commit=True) == (1000, 1)
    assert world.end_and_raise(producer, commit=True) == (1000, 1)
    assert [(marker.producer_epoch, marker.transaction_version) for marker in world.markers] == [(1, 2)]
    assert world.end_and_raise((1000, 1), commit=False) == (1000, 2), "an abort of nothing gives a new epoch"
    assert len(world.markers) == 1, "and needs no marker"


def test_the_last_epoch_leads_to_a_new_producer_id(world: TransactionWorld) -> None:
    producer = exhausted(world)
    assert world.add(producer) is NONE
    assert world.end_and_raise(producer, commit=True) == (1001, 0)
    assert world.markers[-1].producer_epoch == EXHAUSTED_FROM + 1
    assert world.end_and_raise(producer, commit=True) == (1001, 0), "a repetition"
    assert world.end_and_raise(producer, commit=False) is WRONG_STATE
    world.restart()
    assert world.end_and_raise(producer, commit=True) == (1001, 0), "a repetition after a restart"
    assert world.add((1001, 0)) is NONE


# -- markers ----------------------------------------------------------------------------------------------------------


def test_the_end_is_answered_when_its_markers_are_durable(world: TransactionWorld) -> None:
    producer = in_state(world, State.ONGOING)
    world.holds_markers = True
    number = world.send(end_command(producer, commit=True))
    assert number not in world.answers
    assert world.state().state is State.PREPARE_COMMIT
    world.write_markers()
    assert world.answers[number].error_code == NONE
    assert world.state().state is State.COMPLETE_COMMIT
    assert world.state().partitions == frozenset()


def test_a_marker_that_fails_is_tried_again_and_the_end_is_answered(world: TransactionWorld) -> None:
    producer = started(world)
    assert world.add(producer, T0, T1) is NONE
    world.marker_errors[T1] = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert world.end(producer, commit=True) is NONE
    assert world.state().state is State.PREPARE_COMMIT
    assert world.add(producer) is RUNNING
    world.marker_errors.clear()
    world.sleep(1000)
    assert world.state().state is State.COMPLETE_COMMIT
    assert [[(each.name, each.partition_indexes) for each in marker.topics] for marker in world.markers] == [
        [("t", [0, 1])],
        [("t", [1])],
    ], "only the one that failed is sent again"


def test_the_marker_of_a_deleted_topic_is_given_up(world: TransactionWorld) -> None:
    producer = in_state(world, State.ONGOING)
    world.marker_errors[T0] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.end(producer, commit=True) is NONE
    assert world.state().state is State.PREPARE_COMMIT, "the topic exists: its partition is not open yet"
    world.gone_topics.add("t")
    world.sleep(1000)
    assert world.state().state is State.COMPLETE_COMMIT


@pytest.mark.parametrize("error", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
def test_a_marker_that_a_newer_producer_or_coordinator_made_needless_is_given_up(
    world: TransactionWorld, error: ErrorCode
) -> None:
    producer = in_state(world, State.ONGOING)
    world.marker_errors[T0] = error
    assert world.end(producer, commit=False) is NONE
    assert world.state().state is State.COMPLETE_ABORT


# -- timeouts and expiry ----------------------------------------------------------------------------------------------


def test_a_transaction_over_its_timeout_is_aborted(world: TransactionWorld) -> None:
    producer = world.init(timeout_ms=1000)
    assert isinstance(producer, tuple)
    world.sleep(5000)
    assert world.state().state is State.EMPTY, "a producer without a transaction may wait"
    assert world.add(producer) is NONE
    world.sleep(1000)
    assert world.state().state is State.ONGOING
    world.sleep(1)
    assert (world.state().state, world.state().producer_epoch) == (State.COMPLETE_ABORT, 1)
    assert world.end(producer, commit=True) is FENCED
    assert world.init(producer=producer) == (producer[0], 1), "it may go on with the epoch that the abort raised"
    assert world.init() == (producer[0], 2)
    assert world.init(producer=producer) is FENCED


def test_a_transaction_can_be_timed_out_at_once(world: TransactionWorld) -> None:
    assert world.ask(TimeOutTransaction("tx1")) is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    producer = world.init()
    assert isinstance(producer, tuple)
    assert world.ask(TimeOutTransaction("tx1")) is ErrorCode.INVALID_TXN_STATE
    world.add(producer)
    assert world.ask(TimeOutTransaction("tx1")) is NONE
    assert world.state().state is TransactionState.COMPLETE_ABORT
    assert world.end(producer, commit=True) is ErrorCode.PRODUCER_FENCED
    assert world.core.counters.aborted_by["timeout"] == 1
    world.sleep(2 * TIMEOUT_MS)  # its own timer does nothing more
    assert world.core.counters.aborted_by["timeout"] == 1


def test_a_step_of_the_wall_clock_changes_no_timeout(world: TransactionWorld) -> None:
    in_state(world, State.ONGOING)
    world.core.wall_offset_ms -= 3_600_000
    world.sleep(TIMEOUT_MS)
    assert world.state().state is State.ONGOING
    world.sleep(1)
    assert world.state().state is State.COMPLETE_ABORT


def test_a_transaction_that_began_in_the_future_takes_no_longer_than_its_timeout(world: TransactionWorld) -> None:
    producer = started(world)
    world.core.wall_offset_ms += 3_600_000
    assert world.add(producer) is NONE
    world.restart()
    world.sleep(TIMEOUT_MS + 1)
    assert world.state().state is State.COMPLETE_ABORT


def test_a_producer_hears_from_its_end_that_its_transaction_took_too_long(world: TransactionWorld) -> None:
    producer = world.init(timeout_ms=1000)
    assert isinstance(producer, tuple)
    assert world.add(producer) is NONE
    world.sleep(1001)
    assert world.end_and_raise(producer, commit=True) is WRONG_STATE
    assert world.end_and_raise(producer, commit=False) == (producer[0], 1)


def test_the_timeout_counts_from_the_first_partition_of_each_transaction(world: TransactionWorld) -> None:
    producer = world.init(timeout_ms=1000)
    assert isinstance(producer, tuple)
    for _ in range(3):
        assert world.add(producer) is NONE
        world.sleep(800)
        assert world.end(producer, commit=True) is NONE
    assert world.add(producer) is NONE
    world.sleep(999)
    assert world.state().state is State.ONGOING
    world.sleep(2)
    assert world.state().state is State.COMPLETE_ABORT


def test_an_unused_id_expires(world: TransactionWorld) -> None:
    producer = started(world)
    world.sleep(604_800_000 - 3_600_000)
    assert world.core.ids == 1
    world.sleep(2 * 3_600_000)
    assert world.core.ids == 0
    assert world.add(producer) is WRONG_ID
    world.restart()
    assert world.core.ids == 0, "its tombstone is in the log"
    assert world.init() == (1001, 0)


def test_an_open_transaction_does_not_expire() -> None:
    world = TransactionWorld(transactional_id_expiration_ms=1000, transaction_max_timeout_ms=10**9)
    assert isinstance(world.init(timeout_ms=10**9), tuple)
    assert world.add((1000, 0)) is NONE
    world.sleep(8 * 3_600_000)
    assert world.state().state is State.ONGOING


# -- crashes and failed appends ---------------------------------------------------------------------------------------


def test_a_decided_transaction_is_completed_after_a_crash(world: TransactionWorld) -> None:
    in_state(world, State.PREPARE_COMMIT)
    world.markers.clear()
    world.holds_markers = False
    world.restart()
    (marker,) = world.markers
    assert marker.transaction_result
    assert world.state().state is State.COMPLETE_COMMIT


def test_an_open_transaction_goes_on_after_a_crash(world: TransactionWorld) -> None:
    producer = in_state(world, State.ONGOING)
    world.restart()
    assert world.end(producer, commit=True) is NONE


def test_an_open_transaction_times_out_after_a_crash(world: TransactionWorld) -> None:
    in_state(world, State.ONGOING)
    world.sleep(TIMEOUT_MS // 2)
    world.restart()
    world.sleep(TIMEOUT_MS // 2)
    assert world.state().state is State.ONGOING
    world.sleep(1)
    assert world.state().state is State.COMPLETE_ABORT


def test_a_decision_that_is_not_durable_is_none(world: TransactionWorld) -> None:
    producer = in_state(world, State.ONGOING)
    world.holds_appends = True
    number = world.send(end_command(producer, commit=True))
    world.fail()
    assert world.answers[number].error_code == ErrorCode.NOT_COORDINATOR
    assert world.markers == []
    assert world.state().state is State.ONGOING
    world.holds_appends = False
    assert world.end(producer, commit=False) is NONE


def test_a_new_id_that_is_not_durable_is_forgotten(world: TransactionWorld) -> None:
    world.holds_appends = True
    number = world.send(init_request("tx1"))
    world.fail(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert world.answers[number].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.core.ids == 0


def test_a_fence_that_is_not_durable_keeps_its_epoch(world: TransactionWorld) -> None:
    producer = in_state(world, State.ONGOING)
    world.holds_appends = True
    number = world.send(init_request("tx1"))
    world.fail()
    assert world.answers[number].error_code == ErrorCode.NOT_COORDINATOR
    assert world.end(producer, commit=True) is FENCED, "the former producer is fenced all the same"
    world.holds_appends = False
    assert world.init() is RUNNING
    assert world.markers[-1].producer_epoch == 1, "it is not raised again"
    assert world.init() == (producer[0], 2)


def test_the_last_record_is_tried_again(world: TransactionWorld) -> None:
    producer = in_state(world, State.PREPARE_ABORT)
    world.holds_appends = True
    world.write_markers()
    assert world.state().state is State.COMPLETE_ABORT
    world.fail()
    assert world.state().state is State.PREPARE_ABORT
    world.holds_appends = world.holds_markers = False
    assert world.add(producer) is RUNNING
    world.sleep(1000)
    assert world.state().state is State.COMPLETE_ABORT
    assert world.add(producer) is NONE


def test_too_many_partitions_are_refused(world: TransactionWorld) -> None:
    producer = started(world)
    partitions = [("t", number) for number in range(300_000)]
    assert world.add(producer, *partitions) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.state().state is State.EMPTY
    assert world.add(producer) is NONE


# -- admin requests ---------------------------------------------------------------------------------------------------


def test_an_open_transaction_is_described_and_listed(world: TransactionWorld) -> None:
    producer = started(world)
    assert world.add(producer, T1, T0, ("__consumer_offsets", 3)) is NONE
    described = world.described()
    assert (described.error_code, described.transaction_state) == (NONE, "Ongoing")
    assert (described.producer_id, described.producer_epoch) == producer
    assert [(each.topic, each.partitions) for each in described.topics] == [("__consumer_offsets", [3]), ("t", [0, 1])]
    assert world.described("none").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert world.described("").error_code == ErrorCode.INVALID_REQUEST
    listed = world.listed(state_filters=["Ongoing", "Foo"])
    assert listed.unknown_state_filters == ["Foo"]
    assert [each.transactional_id for each in listed.transaction_states] == ["tx1"]


def test_a_list_is_filtered(world: TransactionWorld) -> None:
    for name in "abc":
        producer = world.init(name)
        assert isinstance(producer, tuple)
        if name != "c":
            assert world.add(producer, transactional_id=name) is NONE
        world.sleep(100)

    def names(**filters: object) -> str:
        return "".join(sorted(each.transactional_id for each in world.listed(**filters).transaction_states))

    assert names() == "abc"
    assert names(state_filters=["Empty"]) == "c"
    assert names(state_filters=["Foo"]) == ""
    assert names(producer_id_filters=[1001, 1002]) == "bc"
    assert names(duration_filter=250) == "ac", "an id that had no transaction yet is taken for very old"


# -- figures ----------------------------------------------------------------------------------------------------------


def test_ends_are_counted_by_their_cause(world: TransactionWorld) -> None:
    producer = in_state(world, State.COMPLETE_COMMIT)
    assert world.add(producer) is NONE
    assert world.end(producer, commit=False) is NONE
    assert world.add(producer) is NONE
    assert world.init() is RUNNING
    assert world.add((producer[0], 1)) is NONE
    world.sleep(TIMEOUT_MS + 1)
    counters = world.core.counters
    assert (counters.committed, counters.aborted_by) == (1, {"client": 1, "timeout": 1, "fence": 1})


def test_open_transactions_are_known_oldest_first(world: TransactionWorld) -> None:
    for name in "abc":
        producer = world.init(name)
        assert isinstance(producer, tuple)
        assert world.add(producer, transactional_id=name) is NONE
        world.sleep(1000)
    assert [entry.transactional_id for entry in world.core.open] == ["a", "b", "c"]
    assert world.core.oldest_open_ms(world.now_ms) == 3000
    world.restart()
    assert [entry.transactional_id for entry in world.core.open] == ["a", "b", "c"]
    assert world.end((1000, 0), commit=True, transactional_id="a") is NONE
    assert world.core.oldest_open_ms(world.now_ms) == 2000
    assert [entry.transactional_id for entry in world.core.open] == ["b", "c"]
