"""Questions to the live cluster about what its offsets log does not tell: rebalances that run, and names of topics.

Each second each node is asked for its groups that rebalance (ListGroups), and those, with the groups that a page
shows, are described (DescribeGroups). Groups for which the client has no Describe right are missing in the answers;
then the state has less to tell. Metadata names topic ids that had no name, and DescribeConfigs tells the session
timeout of KIP-848 groups; overrides of single groups are not asked for.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

from coordinator.core.events.model import ClientInfo, shortened
from coordinator.core.shard import partition_for
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.observe.cluster import ObservedCluster
from coordinator.observe.errors import ClusterProblem
from coordinator.observe.link import NodeLink
from coordinator.observe.state import CLASSIC, ObservedGroups
from coordinator.processes.wall_clock import wall_ms
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

LOG: Final = logging.getLogger("coordinator.observe")

POLL_S: Final = 1.0  # a rebalance that runs is seen so late at most
WATCHED_S: Final = 20.0  # a page asks again each few seconds
MOST_WATCHED: Final = 100
MOST_DESCRIBED: Final = 200  # of one node, at once
MOST_NAMED: Final = 200  # topics, at once
CONFIGS_S: Final = 60.0
BROKER: Final = 4  # a type of resource (ConfigResource.Type)
SESSION_TIMEOUT: Final = "group.consumer.session.timeout.ms"
RUNNING: Final = ("PreparingRebalance", "CompletingRebalance")
STATES_SINCE: Final = 4  # the version of ListGroups that has states
BY_ID_SINCE: Final = 12  # the version of Metadata that takes ids


class LiveGroups:
    """Asks one cluster, by links of its own, and hands the answers to the state."""

    def __init__(
        self, cluster: ObservedCluster, state: Callable[[], ObservedGroups], *, poll_s: float = POLL_S
    ) -> None:
        self.problem = ""  # the last one, a sentence
        self._cluster = cluster
        self._state = state
        self._poll_s = poll_s
        self._watched: OrderedDict[str, float] = OrderedDict()  # until when, by the monotonic clock
        self._session_timeout_ms = 0  # of KIP-848 groups; 0: not known
        self._configs_until = 0.0

    def watch(self, group: str) -> None:
        """Describe a group for a while, because it is shown."""
        self._watched[group] = time.monotonic() + WATCHED_S
        self._watched.move_to_end(group)
        if len(self._watched) > MOST_WATCHED:
            self._watched.popitem(last=False)

    async def run(self) -> None:
        """Ask until cancelled. A problem is kept, and does not end it."""
        while True:
            try:
                await self.poll()
                self.problem = ""
            except ClusterProblem as problem:
                if self.problem != str(problem):
                    LOG.info("the live cluster cannot be asked: %s", problem)
                self.problem = str(problem)
            await asyncio.sleep(self._poll_s)

    async def poll(self) -> None:
        """Ask all nodes once. Raises ClusterProblem."""
        layout = (await self._cluster.layouts([OFFSETS_TOPIC])).get(OFFSETS_TOPIC)
        leaders = {} if layout is None else {part: node for part, node in layout.leaders.items() if node >= 0}
        if not leaders:
            return
        for node in sorted(set(leaders.values())):
            link = await self._cluster.node(node)
            groups = [*await _rebalancing(link), *self._watched_on(node, leaders)]
            await self._describe(link, [*dict.fromkeys(groups)][:MOST_DESCRIBED])
        first = min(leaders.values())
        await self._name_topics(await self._cluster.node(first))
        await self._ask_session_timeout(first)

    def _watched_on(self, node: int, leaders: dict[int, int]) -> Iterable[str]:
        now = time.monotonic()
        for group in [group for group, until in self._watched.items() if until < now]:
            del self._watched[group]
        state = self._state()
        for group in self._watched:
            partition = partition_for(group, len(leaders))
            if leaders.get(partition) == node and state.type_of(group) == CLASSIC:
                yield group

    async def _describe(self, link: NodeLink, groups: list[str]) -> None:
        if not groups:
            return
        answer = await link.call(DescribeGroupsRequest(groups=groups), DescribeGroupsResponse)
        state, now_ms = self._state(), wall_ms()
        for each in answer.groups:
            if not each.error_code:
                state.described(now_ms, each.group_id, each.group_state, _members(each))

    async def _ask_session_timeout(self, node: int) -> None:
        """Ask now and then for the session timeout of KIP-848 groups, which no record has."""
        if time.monotonic() >= self._configs_until:
            self._configs_until = time.monotonic() + CONFIGS_S
            resource = DescribeConfigsResource(BROKER, str(node), [SESSION_TIMEOUT])
            link = await self._cluster.node(node)
            answer = await link.call(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse)
            for result in answer.results:  # empty, with an error, if the user may not ask
                for each in result.configs:
                    if each.name == SESSION_TIMEOUT and (each.value or "").isdigit():
                        self._session_timeout_ms = int(each.value or 0)
        if self._session_timeout_ms:
            self._state().consumer_session_timeout(self._session_timeout_ms)

    async def _name_topics(self, link: NodeLink) -> None:
        """Ask for the names of topic ids. One that the cluster does not know is asked for again when it occurs."""
        topics = self._state().topics
        wanted = [*topics.missing][:MOST_NAMED]
        if not wanted:
            return
        request = MetadataRequest(
            topics=[MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in wanted],
            allow_auto_topic_creation=False,
        )
        answer = await link.call(request, MetadataResponse, BY_ID_SINCE)
        self._state().topic_names.update({each.topic_id: each.name for each in answer.topics if each.name})
        topics.missing.difference_update(wanted)

    def close(self) -> None:
        self._cluster.close()


async def _rebalancing(link: NodeLink) -> list[str]:
    """Return the classic groups that rebalance; none if the node is too old to tell."""
    answer = await link.call(ListGroupsRequest(states_filter=list(RUNNING)), ListGroupsResponse)
    return [each.group_id for each in answer.groups if each.group_state in RUNNING]


def _members(described: DescribedGroup) -> list[ClientInfo]:
    return [
        ClientInfo(
            shortened(each.member_id),
            shortened(each.group_instance_id or ""),
            shortened(each.client_id),
            each.client_host.lstrip("/"),
        )
        for each in described.members
    ]
