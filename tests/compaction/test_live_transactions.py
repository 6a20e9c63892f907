"""Compaction of the transaction log beside a running daemon: producers go on, and nothing is lost by kills."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli.main import main
from coordinator.compaction.daemon.dirtiness import SKIPPED_MS
from coordinator.compaction.jobs import read_plan
from coordinator.compaction.plan import JobDir, jobs_dir
from coordinator.compaction.request import outcome_of
from coordinator.core.topics.names import TRANSACTIONS_TOPIC
from coordinator.core.transactions.states import TransactionState
from coordinator.storage.file_names import log_dir
from coordinator.storage.log import swap
from coordinator.storage.log.fs import RealFileSystem
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.record_batch import iter_batches
from tests.compaction.live import Died, SteppingDaemon, ask, compact, fill, outcome
from tests.compaction.logs import Segment
from tests.compaction.plain_job import do_job
from tests.compaction.test_transactions import without_an_id
from tests.compaction.transactions import loaded, write
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.transaction_records import state_record
from tests.support.wire import call

pytestmark = pytest.mark.integration

SMALL = ("transaction.state.log.segment.bytes=16384", "transaction.state.log.num.partitions=1")
IDS = tuple(f"id-{number}" for number in range(4))
OPEN = "id-open"


KILLS = (
    swap.SwapStep.STAGE_DRAFT,
    swap.SwapStep.COMMIT_RENAME,
    swap.SwapStep.COMMIT_SYNC,
    swap.SwapStep.APPLY_RENAME,
    swap.SwapStep.APPLY_REMOVE,
    swap.SwapStep.FINISH_REMOVE,
)


class Producer:
    """A transactional producer on raw connections; each transaction takes three records of the log."""

    def __init__(self, daemon: Daemon, transactional_id: str) -> None:
        self.daemon = daemon
        self.id = transactional_id
        response = eventually(self._initialized, f"{transactional_id} has a producer id")
        self.producer_id, self.epoch = response.producer_id, response.producer_epoch

    def _initialized(self) -> Any:
        response = call(self.daemon.port, InitProducerIdRequest(self.id, 600_000), 4)
        return response if response.error_code == 0 else None

    def begin(self) -> None:
        topics = [AddPartitionsToTxnTopic("t", [0, 1])]
        request = AddPartitionsToTxnRequest([], self.id, self.producer_id, self.epoch, topics)
        (topic,) = call(self.daemon.port, request, 3).results_by_topic_v3_and_below
        assert {each.partition_error_code for each in topic.results_by_partition} == {0}

    def commit(self) -> None:
        response = call(self.daemon.port, EndTxnRequest(self.id, self.producer_id, self.epoch, True), 3)
        assert response.error_code == 0

    def transact(self, times: int = 1) -> None:
        for _ in range(times):
            self.begin()
            self.commit()


def described(daemon: Daemon, *more: str) -> dict[str, Any]:
    """Return the state of each id."""
    states = call(daemon.port, DescribeTransactionsRequest([*IDS, OPEN, *more]), 0).transaction_states
    return {each.transactional_id: each for each in states}


def all_complete(daemon: Daemon, *transactional_ids: str) -> None:
    """Wait for the last record of each transaction: EndTxn is answered before it."""

    def complete() -> bool:
        found = described(daemon, *transactional_ids)
        return {found[each].transaction_state for each in transactional_ids} == {"CompleteCommit"}

    eventually(complete, "all transactions are complete")


@pytest.fixture
def served(start: Callable[..., SteppingDaemon]) -> Iterator[SteppingDaemon]:
    """A daemon with some hundred complete transactions in its log, and an open one."""
    daemon = start(*SMALL)
    producers = [Producer(daemon, transactional_id) for transactional_id in IDS]
    for _ in range(40):
        for producer in producers:
            producer.transact()
    Producer(daemon, OPEN).begin()
    all_complete(daemon, *IDS)
    yield daemon


def finish_open(daemon: Daemon) -> None:
    """Commit the open transaction, as its producer does that knows nothing of a compaction."""
    state = described(daemon)[OPEN]
    assert state.transaction_state == "Ongoing"
    request = EndTxnRequest(OPEN, state.producer_id, state.producer_epoch, True)
    assert call(daemon.port, request, 3).error_code == 0
    all_complete(daemon, OPEN)


def test_a_compacted_log_is_what_the_daemon_and_its_next_start_know(served: SteppingDaemon) -> None:
    before = described(served)
    manifest = compact(served, topic=TRANSACTIONS_TOPIC)
    assert sum(result.stats.records_after for result in manifest.partitions) == len(IDS) + 1
    eventually(lambda: "compaction swapped" in served.log_text(), "one line tells of it")
    assert "topic=__transaction_state partitions=" in served.log_text()
    assert described(served) == before
    served.restart()
    assert described(served) == before
    finish_open(served)
    assert main(["log", "verify", str(served.data_dir)]) == 0


def test_producers_go_on_while_their_log_is_compacted(served: SteppingDaemon) -> None:
    stopping = threading.Event()
    done: dict[str, int] = {}
    failures: list[BaseException] = []

    def work(transactional_id: str) -> None:
        try:
            producer = Producer(served, transactional_id)
            while not stopping.is_set():
                producer.transact()
                done[transactional_id] = done.get(transactional_id, 0) + 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"busy-{number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(4):
        count = sum(done.values())
        eventually(lambda count=count: sum(done.values()) > count + 30, "producers are at work")
        compact(served, topic=TRANSACTIONS_TOPIC)
    stopping.set()
    for thread in threads:
        thread.join()
    assert not failures
    all_complete(served, *done)
    before = described(served, *done)
    served.restart()
    assert described(served, *done) == before


@pytest.mark.parametrize("step", KILLS)
def test_a_daemon_that_is_killed_in_the_swap_knows_every_transactional_id(
    served: SteppingDaemon, step: swap.SwapStep
) -> None:
    before = described(served)
    served.die_at(step)
    served.restart()
    with suppress(Died):
        plan_id = ask(served, topic=TRANSACTIONS_TOPIC)
        do_job(served.data_dir, plan_id)
    eventually(lambda: served.is_dead, f"the daemon was killed at {step.name}")
    served.stop()
    served.die_at("")
    served.start()
    assert described(served) == before
    Producer(served, "one-more").transact(20)
    compact(served, topic=TRANSACTIONS_TOPIC)
    assert described(served) == before
    finish_open(served)


def test_a_result_without_a_transactional_id_is_refused(served: SteppingDaemon) -> None:
    before = described(served)
    plan_id = ask(served, topic=TRANSACTIONS_TOPIC)
    do_job(served.data_dir, plan_id, without_an_id)
    found = outcome(served, plan_id)
    assert not found.is_done
    assert "the newest record with the key" in found.sentence
    served.restart()
    assert described(served) == before
    compact(served, topic=TRANSACTIONS_TOPIC)


def test_the_leader_epoch_of_an_earlier_kafka_outlives_its_batches(start: Callable[..., SteppingDaemon]) -> None:
    """Markers have the highest epoch of the log; partitions refuse those with a lower one."""
    daemon = start(*SMALL)
    Producer(daemon, IDS[0])
    daemon.stop()
    directory = log_dir(daemon.data_dir, TRANSACTIONS_TOPIC, 0)
    write(RealFileSystem(), directory, [state_record(IDS[0], 2)], leader_epoch=5)
    daemon.start()
    Producer(daemon, IDS[0]).transact()
    all_complete(daemon, IDS[0])
    compact(daemon, topic=TRANSACTIONS_TOPIC)
    daemon.stop()
    segments = [Segment(int(path.stem), path.read_bytes()) for path in sorted(directory.glob("*.log"))]
    headers = [header for segment in segments for _, header in iter_batches(segment.data) if header.record_count]
    assert [header.partition_leader_epoch for header in headers] == [5]
    assert loaded(segments)[IDS[0]].state is TransactionState.COMPLETE_COMMIT
    daemon.start()
    Producer(daemon, IDS[0]).transact()
    all_complete(daemon, IDS[0])


def test_the_schedule_plans_one_log_after_the_other(start: Callable[..., SteppingDaemon]) -> None:
    daemon = start(*SMALL, "compaction.interval.ms=500", f"log.cleaner.max.compaction.lag.ms={SKIPPED_MS}")
    Producer(daemon, IDS[0]).transact(150)
    fill(daemon)
    fs, planned = RealFileSystem(), set[str]()

    def done() -> bool:
        directory = jobs_dir(daemon.data_dir)
        for path in directory.iterdir() if directory.is_dir() else ():
            job = JobDir(path)
            if job.plan.exists() and not job.manifest.exists() and outcome_of(job) is None:
                do_job(daemon.data_dir, path.name)
            if (found := outcome_of(job)) is not None and found.is_done:
                planned.add(read_plan(fs, job).topic)
        return len(planned) == 2

    eventually(done, "both logs were compacted", within_s=60)


def test_the_command_compacts_both_logs_of_a_daemon(
    served: SteppingDaemon, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fill(served)
    before = described(served)
    words = ["--mode", "single", "--roll", "--min-cleanable-dirty-ratio", "0"]
    assert main(["compact", "--data-dir", str(served.data_dir), "--dry-run", "--min-cleanable-dirty-ratio", "0"]) == 0
    assert "__transaction_state-0" in capsys.readouterr().out
    assert main(["compact", "--data-dir", str(served.data_dir), *words]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("compacted 2 partitions: ")
    assert second.startswith("__transaction_state: compacted 1 partition: ")
    assert described(served) == before


def test_a_daemon_without_transactions_has_no_such_log_to_compact(
    start: Callable[..., SteppingDaemon], capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = start(*SMALL)
    words = ["--mode", "single", "--topic", TRANSACTIONS_TOPIC, "--roll"]
    assert main(["compact", "--data-dir", str(daemon.data_dir), *words]) == 0
    assert "__transaction_state: there is no log partition to compact" in capsys.readouterr().out
