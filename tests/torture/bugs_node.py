"""Bugs of consumer libraries for Node, which torture finds in one release and not in a later one."""

from __future__ import annotations

from typing import Final

from coordinator.torture.schedule import Step
from coordinator.torture.verdict import FailureKind
from tests.torture.bug import Bug

BUGS: Final[tuple[Bug, ...]] = (
    Bug(
        client="kafkajs",
        faulty="2.0.2",
        fixed="2.1.0",
        kind=FailureKind.EXITED,
        steps=(Step("fail_next", api="JoinGroup", error="COORDINATOR_NOT_AVAILABLE"), Step("rebalance")),
        about="When the coordinator is away during a rebalance, an unhandled rejection ends the process.",
        link="tulios/kafkajs#1382",
    ),
    Bug(
        client="kafkajs",
        faulty="2.2.3",
        fixed="2.2.4",
        kind=FailureKind.EXITED,
        steps=(Step("fail_next", api="Heartbeat", error="ILLEGAL_GENERATION"),),
        about="A member that missed a generation gives up for good instead of joining again.",
        link="tulios/kafkajs#1474",
    ),
    Bug(
        client="platformatic",
        faulty="1.33.2",
        fixed="2.11.0",
        kind=FailureKind.EXITED,
        steps=(Step("loading", ms=1500),),
        about="An automatic commit that fails destroys the stream of records, and the application ends.",
        link="platformatic/kafka#268",
    ),
    Bug(
        client="platformatic",
        faulty="1.33.2",
        fixed="1.34.0",
        kind=FailureKind.STUCK,
        steps=(Step("fail_next", api="Heartbeat", error="ILLEGAL_GENERATION"),),
        about="A member that missed a generation sends no heartbeat any more, and never joins again.",
        link="platformatic/kafka#268",
    ),
    Bug(
        client="platformatic",
        faulty="1.35.0",
        fixed="2.11.0",
        kind=FailureKind.STUCK,
        steps=(Step("move_coordinator"),),
        about="The coordinator is looked up once and never again: when it moves, all copies stand still for good.",
        link="platformatic/kafka#291",
    ),
)
