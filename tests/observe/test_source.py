"""The console's answers about an observed cluster: lists, one group with its ribbon and its lag, and refusals."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from coordinator.console.source import ConsoleError, ListQuestion
from coordinator.observe.offsets import TopicPartition
from coordinator.observe.progress import FollowProgress
from coordinator.observe.source import Ends, Observed, ObservedConsole
from tests.observe.replay import Replay
from tests.observe.written import WrittenLog, member


class Console:
    """A console over a state, and ends of logs that a test sets."""

    def __init__(self, state: object, now_ms: int) -> None:
        self.ends: dict[TopicPartition, int] = {}
        self.watched: list[str] = []
        self.now_ms = now_ms
        self.progress = FollowProgress(caught_up=True)

        async def ends(wanted: Iterable[TopicPartition]) -> Ends:
            return {place: self.ends[place] for place in wanted if place in self.ends}

        self.source = ObservedConsole(
            Observed(
                "kafka:9092",
                lambda: state,  # type: ignore[arg-type, return-value]
                lambda: "cluster-1",
                self.progress,
                ends,
                watch=self.watched.append,
                now_ms=lambda: self.now_ms,
            )
        )


@pytest.fixture
def log() -> WrittenLog:
    log = WrittenLog()
    log.state.caught_up()
    log.generation(member("web-1", [0]), number=1, group="shop")
    log.wait(60)
    log.generation(member("web-1", [0]), member("web-2", [1]), number=2, group="shop")
    log.commit(0, 1, group="shop", offset=10)
    log.commit(0, group="batch", offset=3)
    log.wait(30)
    return log


@pytest.fixture
def console(log: WrittenLog) -> Console:
    return Console(log.state, log.now_ms)


async def test_the_list_has_a_row_for_each_group(console: Console) -> None:
    console.ends = {("orders", 0): 15, ("orders", 1): 10}
    await console.source.sample()
    found = await console.source.groups(ListQuestion(sort="lag", reverse=True))
    assert found.total == 2 and found.states == {"Stable": 1, "Empty": 1}
    assert [(row.group, row.state, row.members, row.lag) for row in found.groups] == [
        ("batch", "Empty", 0, 12),
        ("shop", "Stable", 2, 5),
    ]
    shop = found.groups[1]
    assert (shop.generation, shop.protocol_type, shop.rebalances, shop.lags) == (2, "consumer", 2, [5])
    assert shop.last_rebalance_ms == console.now_ms - 30_000
    assert [row.group for row in (await console.source.groups(ListQuestion(search="SHO"))).groups] == ["shop"]


async def test_a_partition_whose_end_is_not_known_is_counted(console: Console) -> None:
    console.ends = {("orders", 0): 15}
    await console.source.sample()
    rows = {row.group: row for row in (await console.source.groups(ListQuestion())).groups}
    assert (rows["shop"].lag, rows["shop"].unknown_partitions) == (5, 1)


async def test_a_group_has_verdicts_a_ribbon_and_its_lag(console: Console) -> None:
    console.ends = {("orders", 0): 15, ("orders", 1): 10}
    page = await console.source.group("shop")
    assert page.verdicts[0].sentence == "Healthy for 30 s: 2 members, 2 partitions"
    assert page.ribbon is not None and page.lag is not None
    assert [each.name for each in page.ribbon.members] == ["web-1", "web-2"]
    assert all(each.is_member for each in page.ribbon.members)
    first, second = page.ribbon.rows
    assert len(first.spans) == 1 and [position for _, _, position in second.spans] == [-1, 1]
    assert [(each.partition, each.lag, each.owner) for each in page.lag.partitions] == [(0, 5, 0), (1, 0, 1)]
    assert page.lag.total == 5 and page.unknown == page.story.unknown != []
    assert console.watched == ["shop"]
    assert msgspec.json.decode(msgspec.json.encode(page))["group"] == "shop"


async def test_a_group_of_offsets_alone_has_no_ribbon(console: Console) -> None:
    page = await console.source.group("batch")
    assert page.ribbon is None and page.lag is not None and page.lag.total == -1


async def test_what_cannot_be_answered_is_refused_with_a_sentence(console: Console) -> None:
    for question, status in (
        (console.source.group("nothing"), 404),
        (console.source.group("shop", 1), 404),
        (console.source.kick("shop", "web-1-1", ""), 409),
        (console.source.groups(ListQuestion(sort="colour")), 400),
    ):
        with pytest.raises(ConsoleError) as error:
            await question
        assert error.value.status == status


async def test_the_cluster_is_an_observed_one_that_cannot_be_changed(console: Console) -> None:
    view = await console.source.cluster()
    assert (view.kind, view.cluster_id, view.groups, view.can_kick) == ("observed", "cluster-1", 2, False)
    assert view.behind_ms == 0 and not view.problem
    console.progress.caught_up = False
    view = await console.source.cluster()
    assert view.behind_ms == -1 and "still being read" in view.problem


@pytest.mark.parametrize(
    "name", ["classic-rolling", "consumer-rolling", "consumer-slow-revocation", "classic-upgraded"]
)
async def test_recordings_have_ribbons_of_all_partitions(name: str) -> None:
    replay = Replay(name).play()
    page = await Console(replay.state, replay.ended_ms).source.group(name)
    assert page.ribbon is not None and [(row.topic, row.partition) for row in page.ribbon.rows] == [
        ("orders", number) for number in range(6)
    ]
    assert all(row.spans[-1][2] >= 0 for row in page.ribbon.rows)
    assert {each.client_id for each in page.ribbon.members} <= {"web-1", "web-2", "web-3"}
    assert all(each.name.startswith("web-") and len(each.name) <= 14 for each in page.ribbon.members)
    assert len(page.ribbon.seams) == len(replay.rebalances) and page.facts
    assert page.type == ("consumer" if name != "classic-rolling" else "classic")
