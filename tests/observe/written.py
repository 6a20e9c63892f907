"""A log that a test writes: records of classic groups, encoded by our own codecs, and commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coordinator.core.events.model import ClientInfo, Rebalance, Story
from coordinator.observe.limits import ObserverLimits
from coordinator.observe.state import DEFAULT_LIMITS, ObservedGroups
from protocol.consumer import Assignment, Subscription, TopicPartitions, encode_assignment, encode_subscription
from protocol.offsets_records import GroupValue, MemberValue, encode_group_key, encode_group_value

GROUP = "shop"
BEGIN_MS = 1_700_000_000_000


def member(
    name: str,
    partitions: Sequence[int] = (),
    *,
    run: int = 1,
    instance_id: str | None = None,
    topics: Sequence[str] = ("orders",),
    session_ms: int = 45_000,
    rebalance_ms: int = 300_000,
) -> MemberValue:
    """Return a member of a generation. Another run has another member id."""
    return MemberValue(
        member_id=f"{name}-{run}",
        group_instance_id=instance_id,
        client_id=name,
        client_host="/10.0.0.1",
        rebalance_timeout_ms=rebalance_ms,
        session_timeout_ms=session_ms,
        subscription=encode_subscription(Subscription(topics=list(topics))),
        assignment=encode_assignment(Assignment([TopicPartitions("orders", list(partitions))])),
    )


class WrittenLog:
    """The state, and a clock that a test moves. Names of clients are `web-1` and so on; ids end with their run."""

    def __init__(self, limits: ObserverLimits = DEFAULT_LIMITS) -> None:
        self.state = ObservedGroups(limits=limits)
        self.now_ms = BEGIN_MS
        self.number = 0

    def wait(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)

    def generation(
        self,
        *members: MemberValue,
        number: int = 0,
        protocol: str = "range",
        group: str = GROUP,
        kind: str = "consumer",
    ) -> None:
        """Write the record of the next generation, or of `number`. The first member is the leader."""
        self.number = number or self.number + 1
        value = GroupValue(
            protocol_type=kind,
            generation=self.number,
            protocol=protocol if members else None,
            leader=members[0].member_id if members else None,
            current_state_timestamp_ms=self.now_ms,
            members=list(members),
        )
        self.state.record(self.now_ms, encode_group_key(group), encode_group_value(value))

    def commit(self, *partitions: int, group: str = GROUP, offset: int = 1) -> None:
        count = len(partitions)
        self.state.commits(
            [group] * count, ["orders"] * count, list(partitions), [offset] * count, [self.now_ms] * count
        )

    def delete(self, group: str = GROUP) -> None:
        self.state.record(self.now_ms, encode_group_key(group), None)

    def described(self, state: str, members: Mapping[str, str], group: str = GROUP) -> None:
        """Hand in an answer to DescribeGroups; members are client ids by member id."""
        clients = [ClientInfo(member_id, "", client_id, "10.0.0.1") for member_id, client_id in members.items()]
        self.state.described(self.now_ms, group, state, clients)

    def story(self, group: str = GROUP) -> Story:
        found = self.state.story(group, self.now_ms)
        assert found is not None
        return found

    @property
    def last(self) -> Rebalance:
        event = self.story().events[-1]
        assert isinstance(event, Rebalance)
        return event
