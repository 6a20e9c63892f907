"""Groups whose assignor is one of a user: it runs elsewhere, and its faults are those of its groups only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from coordinator.config.config import Config
from coordinator.core.consumer_group.assignors.interface import ConsumerGroupPartitionAssignor, GroupSpec
from coordinator.core.consumer_group.assignors.plugin import PluginAssignor
from coordinator.core.consumer_group.assignors.uniform import UniformAssignor
from coordinator.core.events.model import Incident, IncidentKind, Wait
from coordinator.explain.rules import explain
from coordinator.explain.verdict import Finding
from protocol.error_codes import ErrorCode
from tests.support.consumer_world import ConsumerWorld
from tests.support.offloaded import Offloaded

TIMEOUT_MS = 2_000
SESSION = {"group_consumer_session_timeout_ms": 60_000}


class ToFirst:
    """Gives all partitions to the first member, unless a test lets it fail."""

    name = "to-first"

    def __init__(self) -> None:
        self.asked = 0
        self.instead: Callable[[], Any] | None = None

    def assign(self, spec: GroupSpec) -> Mapping[str, Mapping[bytes, range]]:
        self.asked += 1
        if self.instead is not None:
            result: Mapping[str, Mapping[bytes, range]] = self.instead()
            return result
        return {min(spec.members): {topic_id: range(count) for topic_id, count in spec.topics.items()}}


class PluginWorld(ConsumerWorld):
    """A world whose first assignor is `ToFirst`; its calls run when the test says so."""

    def __init__(self) -> None:
        self.plain = ToFirst()
        self.calls_elsewhere = Offloaded()
        super().__init__({"t": 4}, config=Config(**SESSION))

    def _assignors(self) -> dict[str, ConsumerGroupPartitionAssignor]:
        plugin = PluginAssignor(self.plain, self.calls_elsewhere.submit, TIMEOUT_MS)
        return {plugin.name: plugin, "uniform": UniformAssignor()}

    def run_assignor(self) -> None:
        """Let the calls of the assignor end, and the group hear of it."""
        self.calls_elsewhere.run()
        self.advance("60ms")

    @property
    def waits(self) -> Wait:
        story = self.core.story("g", self.clock.now_ms)
        assert story is not None
        assert story.state is not None
        return story.state.waits

    @property
    def failures(self) -> list[Incident]:
        return [
            event for event in self.events if isinstance(event, Incident) and event.what is IncidentKind.ASSIGNOR_FAILED
        ]


def joined() -> PluginWorld:
    world = PluginWorld()
    assert world.told(world.beat("A", 0, topics=["t"])) == (1, {})
    return world


def test_members_go_on_while_it_computes_and_hear_of_the_result() -> None:
    world = joined()
    assert world.epochs == (2, 1, "Assigning")
    assert world.plain.asked == 0
    assert world.beat("A", 1).answer.heartbeat_interval_ms == 100
    assert world.waits is Wait.ASSIGNOR
    world.run_assignor()
    assert world.plain.asked == 1
    assert world.epochs == (2, 2, "Reconciling")
    assert world.told(world.beat("A", 1)) == (2, {"t": [0, 1, 2, 3]})


def test_a_change_meanwhile_has_it_asked_again() -> None:
    world = joined()
    world.beat("0", 0, topics=["t"])
    world.run_assignor()
    assert world.epochs == (3, 2, "Assigning")
    world.beat("A", 1)
    world.run_assignor()
    assert world.epochs[:2] == (3, 3)
    assert world.plain.asked == 2


def test_a_result_of_a_member_that_is_gone_is_not_written() -> None:
    world = joined()
    world.beat("B", 0, topics=["t"])
    world.leave("g", "A")
    world.run_assignor()
    assert "A" not in world.consumer_group().targets
    epoch, _ = world.told(world.beat("B", 1))
    world.run_assignor()
    assert world.told(world.beat("B", epoch)) == (4, {"t": [0, 1, 2, 3]})


def test_a_group_that_is_gone_meanwhile_is_left_alone() -> None:
    world = joined()
    world.core.given_up(0, world.clock.now_ms)
    world.run_assignor()
    assert world.failures == []


def test_one_that_fails_leaves_the_group_as_it_is_and_is_asked_again() -> None:
    world = joined()
    world.run_assignor()
    world.beat("A", 1)
    world.plain.instead = lambda: {}["rack"]
    assert world.beat("B", 0, topics=["t"]).error is ErrorCode.NONE
    world.run_assignor()
    assert world.epochs[2] == "Assigning"
    assert world.assigned("A") == {"t": [0, 1, 2, 3]}
    (failure,) = world.failures
    assert failure.text() == (
        "Group g keeps its assignment. The assignor 'to-first' failed with KeyError: 'rack', so correct its method "
        "`assign`."
    )
    asked = world.plain.asked
    world.beat("B", 2)
    world.run_assignor()
    assert world.plain.asked == asked, "it is asked again after a second only"
    world.plain.instead = None
    world.advance("1s")
    world.beat("B", 2)
    world.run_assignor()
    assert world.epochs[:2] == (3, 3)
    assert world.waits is not Wait.ASSIGNOR


def test_a_result_that_breaks_a_rule_disturbs_no_other_group() -> None:
    world = PluginWorld()
    world.beat("X", 0, topics=["t"], group_id="other", server_assignor="uniform")
    world.plain.instead = lambda: {"Z": {}}
    world.beat("A", 0, topics=["t"])
    world.run_assignor()
    assert len(world.failures) == 1
    assert world.told(world.beat("X", 2, group_id="other")) == (2, None)
    assert world.core.take_faults() == []


def test_one_that_takes_too_long_is_given_up() -> None:
    world = joined()
    waiting = world.calls_elsewhere.waiting
    world.advance("1900ms")
    assert not waiting[0][0].cancelled()
    world.advance("200ms")
    assert waiting[0][0].cancelled()
    (failure,) = world.failures
    assert "has returned nothing for 2000 ms" in failure.reason
    assert "group.consumer.assignor.timeout.ms" in failure.reason
    world.run_assignor()
    assert world.plain.asked == 0, "it was cancelled before it began"
    world.advance("1s")
    world.beat("A", 1)
    world.run_assignor()
    assert world.epochs[:2] == (2, 2)


def test_one_that_takes_long_holds_up_no_other_group() -> None:
    world = joined()
    world.beat("B", 0, topics=["t"], group_id="other")
    assert len(world.calls_elsewhere.waiting) == 2
    asked, work = world.calls_elsewhere.waiting.pop()
    asked.set_result(work())
    world.advance("60ms")
    assert world.told(world.beat("B", 1, group_id="other")) == (2, {"t": [0, 1, 2, 3]})
    assert world.epochs[2] == "Assigning"


def test_explain_names_the_assignor() -> None:
    world = joined()
    world.plain.instead = lambda: None
    world.run_assignor()
    world.advance("500ms")
    story = world.core.story("g", world.clock.now_ms)
    assert story is not None
    headline = explain(story)[0]
    assert headline.code is Finding.ASSIGNOR_FAILED
    assert "returned builtins.NoneType and no mapping of member ids" in headline.sentence
