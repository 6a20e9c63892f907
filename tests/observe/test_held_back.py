"""The transaction that holds an observed group back, asked of the nodes of a real daemon."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from coordinator.core.events.model import Story
from coordinator.explain import transactions
from coordinator.explain.verdict import Finding
from coordinator.observe.client_settings import ClientSettings
from coordinator.observe.cluster import ObservedCluster, parse_bootstrap
from coordinator.observe.held_back import note_transactions
from coordinator.observe.offsets import TopicPartition
from coordinator.observe.progress import FollowProgress
from coordinator.observe.source import Ends, Observed, ObservedConsole
from tests.observe.written import WrittenLog, member
from tests.support.daemon import Daemon
from tests.support.transactional import LIMIT_S, transactional_producer

pytestmark = pytest.mark.integration


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path, topics=["orders:2"]) as running:
        yield running


def observed_log() -> WrittenLog:
    log = WrittenLog()
    log.state.caught_up()
    log.generation(member("web-1", [0, 1]), number=1, group="shop")
    log.commit(0, 1, group="shop", offset=0)
    log.wait(60)
    return log


async def test_the_page_names_the_transaction_and_marks_the_partition(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = transactional_producer(daemon.address, "transfer-7")
    producer.begin_transaction()
    producer.produce("orders", b"1", partition=1)
    assert producer.flush(LIMIT_S) == 0
    log = observed_log()
    monkeypatch.setattr(transactions, "OPEN_FOR_MS", -(2**62))  # the clock of the log is not that of the daemon
    cluster = ObservedCluster(parse_bootstrap(daemon.address), ClientSettings())

    async def ends(wanted: Iterable[TopicPartition]) -> Ends:
        return {("orders", 0): 0, ("orders", 1): 1}

    async def note(story: Story, committed: Mapping[TopicPartition, int]) -> None:
        await note_transactions(cluster, story, committed)

    console = ObservedConsole(
        Observed(
            daemon.address,
            lambda: log.state,
            lambda: "cluster-1",
            FollowProgress(caught_up=True),
            ends,
            note,
            now_ms=lambda: log.now_ms,
        )
    )
    page = await console.group("shop")
    (held,) = page.story.held
    assert (held.name, held.transaction.transactional_id) == ("orders-1", "transfer-7")
    assert page.verdicts[0].code is Finding.HELD_BACK
    assert page.lag is not None
    assert {each.partition: each.held_by for each in page.lag.partitions} == {0: "", 1: "transfer-7"}
    cluster.close()


async def test_a_cluster_that_cannot_be_asked_leaves_it_unknown(daemon: Daemon) -> None:
    daemon.kill()
    cluster = ObservedCluster(parse_bootstrap(daemon.address), ClientSettings())
    story = Story(at_ms=1)
    await note_transactions(cluster, story, {("orders", 0): 0})
    assert story.held == []
    cluster.close()
    daemon.start()
