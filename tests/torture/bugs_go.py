"""Bugs of consumer libraries of Go, which torture finds in one release and not in a later one."""

from __future__ import annotations

from typing import Final

from coordinator.torture.schedule import Step
from coordinator.torture.verdict import FailureKind
from tests.torture.bug import Bug

BUGS: Final[tuple[Bug, ...]] = (
    Bug(
        client="sarama",
        faulty="v1.30.0",
        fixed="v1.33.0",
        kind=FailureKind.EXITED,
        steps=(Step("fail_next", api="JoinGroup", error="COORDINATOR_LOAD_IN_PROGRESS"), Step("rebalance")),
        about="While the coordinator loads the group, Consume() fails at once, and the application ends.",
        link="IBM/sarama#2214",
    ),
    Bug(
        client="sarama",
        faulty="v1.49.0",
        fixed="v1.50.0",
        kind=FailureKind.EXITED,
        steps=(Step("fail_next", api="OffsetFetch", error="NOT_COORDINATOR", copy=1), Step("kick", copy=1)),
        about="When the coordinator moves before the offsets are fetched, Consume() fails at once instead of retrying.",
        link="IBM/sarama#3574",
    ),
    Bug(
        client="sarama",
        faulty="v1.61.0",
        fixed="v1.61.1",
        kind=FailureKind.EXITED,
        steps=(Step("fail_next", api="JoinGroup", error="COORDINATOR_NOT_AVAILABLE"), Step("rebalance")),
        about="When the coordinator is away for a moment, Consume() fails at once, and the application ends.",
        link="IBM/sarama@v1.61.1",
    ),
    Bug(
        client="franz-go",
        faulty="v1.15.3",
        fixed="v1.16.1",
        kind=FailureKind.STUCK,
        steps=(Step("delay", api="SyncGroup", ms=1500), Step("rebalance")),
        about="A commit whose timeout ends while the group rebalances never returns: the copy stands still for ever.",
        link="twmb/franz-go#668",
    ),
)
