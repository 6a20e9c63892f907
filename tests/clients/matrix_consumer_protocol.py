"""The scenarios for members of the consumer protocol (KIP-848), and how the matrix looks at their groups.

Most scenarios are those of classic members (matrix_scenarios.py). ConsumerGroupDescribe shows the group, its settings
decide on session and heartbeats, and a static member is replaced only if it left: so two scenarios are others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.clients import matrix_scenarios
from tests.clients.matrix_members import HEARTBEAT_MS, Member, Program
from tests.clients.matrix_scenarios import PARTITIONS, SCENARIOS, Shown, Stage, reads
from tests.support.eventually import eventually
from tests.support.wire import call

GROUP = 32  # the type of a resource in AlterConfigs
SHORT_SESSION = {
    "group.consumer.min.session.timeout.ms": str(matrix_scenarios.CRASH_SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": str(HEARTBEAT_MS),
}


class ConsumerStage(Stage):
    """A stage for a group of the consumer protocol."""

    __slots__ = ()
    cooperative = "uniform"

    def join(self, program: Program, name: str, **settings: Any) -> Member:
        if settings.get("session_ms") == matrix_scenarios.CRASH_SESSION_MS and not self.members:
            self.configure(
                {
                    "consumer.session.timeout.ms": settings["session_ms"],
                    "consumer.heartbeat.interval.ms": HEARTBEAT_MS,
                }
            )
        return super().join(program, name, **settings)

    def configure(self, settings: dict[str, int]) -> None:
        """Set configurations of the group."""
        configs = [AlterableConfig(name=name, config_operation=0, value=str(value)) for name, value in settings.items()]
        resource = AlterConfigsResource(resource_type=GROUP, resource_name=self.group, configs=configs)
        answer = call(self.daemon.port, IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
        assert answer.responses[0].error_code == 0, answer

    def shown(self) -> tuple[str, str, list[Shown]]:
        request = ConsumerGroupDescribeRequest(group_ids=[self.group], include_authorized_operations=False)
        (found,) = call(self.daemon.port, request, 1).groups
        members = [
            Shown(
                each.client_id,
                each.member_id,
                each.instance_id,
                frozenset(index for topic in each.assignment.topic_partitions for index in topic.partitions),
            )
            for each in found.members
        ]
        return found.group_state, found.assignor_name, members


def static(stage: Stage, program: Program) -> None:
    """A static member that closes and is back within its session has its partitions again; others notice nothing."""
    a = stage.join(program, "a", instance="instance-a")
    stage.settles(a)
    b = stage.join(program, "b", instance="instance-b")
    stage.settles(a, b)
    _, _, before = stage.shown()
    assert sorted(str(each.instance_id) for each in before) == ["instance-a", "instance-b"], before
    had, changes = b.owned, len(a.changes)
    stage.leave(b)
    again = stage.join(program, "b", instance="instance-b")
    stage.settles(a, again)
    assert again.owned == had, f"it had {sorted(had)} and now {sorted(again.owned)}"
    stage.produce(3)
    reads(stage, {partition: set(range(3)) for partition in range(PARTITIONS)}, a, again)
    assert len(a.changes) == changes, f"the other member was disturbed: {a.changes[changes:]}"


def fenced(stage: Stage, program: Program) -> None:
    """While a static member lives, a second process with its instance id is refused and told; the first reads on."""
    first = stage.join(program, "first", instance="instance")
    stage.settles(first)
    changes = len(first.changes)
    second = stage.join(program, "second", instance="instance")
    eventually(lambda: second.errors or not second.is_running(), f"the second is told: {stage.members}", within_s=40.0)
    stage.produce(3)
    reads(stage, {partition: set(range(3)) for partition in range(PARTITIONS)}, first)
    assert len(first.changes) == changes and not second.owned, f"the first was disturbed: {stage.members}"


CONSUMER_SCENARIOS: dict[str, Callable[[Stage, Program], None]] = {**SCENARIOS, "static": static, "fenced": fenced}
