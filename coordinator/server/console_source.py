"""The console's answers about this coordinator's own cluster.

They come by requests of the Kafka protocol to all nodes, so that the console is the same for one process, for workers
and for a cluster. An answer is shared by all who ask within a moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.console.facts import facts
from coordinator.console.lag import (
    MOST_SAMPLED,
    SAMPLE_MS,
    SAMPLE_S,
    UNKNOWN,
    LagSamples,
    lag_of,
    note_held,
    note_owners,
)
from coordinator.console.listing import page
from coordinator.console.model import (
    ClusterView,
    GroupList,
    GroupPage,
    GroupRow,
    Kicked,
    Lag,
    Ribbon,
)
from coordinator.console.open_transactions import shown_transactions
from coordinator.console.owners import ribbon_of
from coordinator.console.past import Past
from coordinator.console.shared_answers import GroupAnswers, SharedAnswer
from coordinator.console.source import ConsoleError, ListQuestion
from coordinator.core.events import listed
from coordinator.core.events import owners as owners_json
from coordinator.core.events.model import Story, decode_story
from coordinator.core.transactions import open_rows
from coordinator.core.transactions.open_rows import OpenRow
from coordinator.explain.rules import explain
from coordinator.explain.transaction_facts import NodeRequest, answered, cluster_leaders, transaction_facts
from coordinator.processes.wall_clock import wall_ms
from coordinator.server.cluster_client import TROUBLE, ClusterClient
from coordinator.storage.memory_fs import IN_MEMORY
from coordinator.version import build
from protocol.error_codes import ErrorCode
from protocol.messages.describe_owners import DescribeOwnersRequest
from protocol.messages.explain_group import ExplainGroupRequest
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.list_group_figures import ListGroupFiguresRequest
from protocol.messages.list_open_transactions import ListOpenTransactionsRequest
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.cluster import ClusterNode
    from coordinator.server.node_links import NodeLinks

LIST_S: Final = 1.5  # for which a list of the groups is current
GROUP_S: Final = 0.4  # for which an answer about one group is
LAG_S: Final = 2.0
OFFSET_FETCH_VERSION: Final = 8
LEAVE_GROUP_VERSION: Final = 5
REASON: Final = "member was removed by an admin"  # KafkaAdminClient.DEFAULT_LEAVE_GROUP_REASON
LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}
GONE: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND})


class ClusterConsole:
    """A `ConsoleSource` for the cluster of `client`. Must be made on a running loop."""

    def __init__(self, config: Config, client: ClusterClient, past: Past | None = None) -> None:
        self._client = client
        self._config = config
        self._past = past
        self._list = SharedAnswer(LIST_S, self._ask_figures)
        self._views: GroupAnswers[GroupPage] = GroupAnswers(GROUP_S)
        self._lags: GroupAnswers[Lag | None] = GroupAnswers(LAG_S)
        self._facts: GroupAnswers[Story] = GroupAnswers(LAG_S)
        self._rows: list[GroupRow] = []  # the last list that all nodes answered
        self._transactions: list[OpenRow] = []  # the oldest of each node, with the list
        self._open_transactions = 0
        self._samples = LagSamples()
        self._sampling = asyncio.get_running_loop().create_task(self._sample())

    async def cluster(self) -> ClusterView:
        problem = ""
        try:
            await self._client.metadata()
        except TROUBLE as error:
            problem = _unreachable(error)
        await self._figures()
        history = self._past.why_not() if self._past is not None else "this daemon keeps no files to look back into"
        return ClusterView(
            at_ms=wall_ms(),
            kind="coordinator",
            cluster_id=self._client.cluster_id,
            bootstrap_servers=",".join(str(node).partition("@")[2] for node in self._client.shown),
            nodes=[str(node) for node in self._client.shown],
            groups=len(self._rows),
            can_kick=bool(self._config.http_admin_token),
            history=history,
            history_from_ms=-1 if history or self._past is None else await self._past.from_ms(),
            problem=problem,
            version=build(),
        )

    async def groups(self, question: ListQuestion) -> GroupList:
        problem = await self._figures()
        found = page(self._rows, question, at_ms=wall_ms(), sample_ms=SAMPLE_MS, problem=problem)
        for row in found.groups:
            row.lags = self._samples.of(row.group)
        found.open_transactions = self._open_transactions
        found.transactions = shown_transactions(self._transactions, found.at_ms)
        return found

    async def group(self, group: str, at_ms: int | None = None) -> GroupPage:
        if at_ms is not None:
            if self._past is None:
                raise ConsoleError("this daemon keeps no files to look back into", 404)
            return await self._past.group(group, at_ms)
        return await self._views.get(group, lambda: self._ask_group(group))

    async def kick(self, group: str, member_id: str, reason: str) -> Kicked:
        request = LeaveGroupRequest(
            group_id=group,
            members=[MemberIdentity(member_id=member_id, reason=f"{REASON}: {reason}" if reason else REASON)],
        )
        try:
            node = await self._client.coordinator(group)
            answer = await self._client.ask(node, request, LEAVE_GROUP_VERSION)
        except TROUBLE as error:
            raise ConsoleError(_unreachable(error), 503) from None
        code = answer.error_code or next((each.error_code for each in answer.members), 0)
        if code in GONE:
            raise ConsoleError("the group has no such member; it left, or joined again under another id", 404)
        if code:
            raise ConsoleError(f"the member was not removed: {ErrorCode(code).name}; try again", 409)
        return Kicked(group=group, member_id=member_id)

    # -- the list ------------------------------------------------------------------------------------------------

    async def _figures(self) -> str:
        """Have the list of groups current; returns a sentence if it is not."""
        try:
            await self._list.get()
        except TROUBLE as error:
            return _unreachable(error)
        return ""

    async def _ask_figures(self) -> None:
        client = self._client
        if not client.nodes:
            await client.metadata()
        answers = await asyncio.gather(
            *(client.ask(node, ListGroupFiguresRequest(), 0) for node in client.nodes.values())
        )
        self._rows = [
            GroupRow(
                group=each.group,
                state=each.state,
                type=each.type,
                protocol_type=each.protocol_type,
                members=each.members,
                generation=each.generation,
                lag=each.lag,
                unknown_partitions=each.unknown_partitions,
                rebalances=each.rebalances,
                last_rebalance_ms=each.last_rebalance_ms,
            )
            for answer in answers
            for part in answer.parts
            for each in listed.decode(part)
        ]
        # A node of an older build does not know the request.
        asked = [NodeRequest(node_id, ListOpenTransactionsRequest(), 0) for node_id in client.nodes]
        opened = [each for each in await self._ask_all(asked) if each is not None]
        self._open_transactions = sum(answer.total for answer in opened)
        self._transactions = [row for answer in opened for row in open_rows.decode(answer.oldest)]

    async def _sample(self) -> None:
        """Note the lag of all groups, again and again."""
        while True:
            if not await self._figures():
                for row in self._rows[:MOST_SAMPLED]:
                    self._samples.add(row.group, row.lag)
            await asyncio.sleep(SAMPLE_S)

    # -- one group -----------------------------------------------------------------------------------------------

    async def _ask_group(self, group: str) -> GroupPage:
        client = self._client
        try:
            node = await client.coordinator(group)
            explained = await client.ask(node, ExplainGroupRequest(group_id=group), 0)
            if explained.error_message is not None:
                raise ConsoleError(explained.error_message, 409)
            if explained.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
                raise ConsoleError("there is no group of this name, and nothing is known of one", 404)
            if explained.story is None:
                raise ConsoleError(f"its coordinator answers {ErrorCode(explained.error_code).name}; try again", 503)
            owned = await client.ask(node, DescribeOwnersRequest(group_id=group), 0)
            story = decode_story(explained.story)
            ribbon = None if owned.owners is None else ribbon_of(story, owners_json.decode(owned.owners))
            lag = await self._lags.get(group, lambda: self._ask_lag(group))
            facts_of = await self._facts.get(group, lambda: self._ask_transactions(story, lag))
            story.held, story.offsets_pending_in = facts_of.held, facts_of.offsets_pending_in
        except TROUBLE as error:
            raise ConsoleError(_unreachable(error), 503) from None
        note_owners(lag, ribbon)
        note_held(lag, story)
        return GroupPage(
            group=group,
            at_ms=story.at_ms,
            type=story.state.type if story.state is not None else "classic",
            verdicts=explain(story),
            story=story,
            facts=facts(story),
            ribbon=ribbon,
            lag=lag,
            unknown=_unknown(story, ribbon),
        )

    async def _ask_lag(self, group: str) -> Lag | None:
        node = await self._client.coordinator(group)
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
        answer = await self._client.ask(node, request, OFFSET_FETCH_VERSION)
        committed = {
            (topic.name, each.partition_index): (each.committed_offset, UNKNOWN)
            for found in answer.groups
            for topic in found.topics
            for each in topic.partitions
            if not each.error_code and each.committed_offset >= 0
        }
        if not committed:
            return None
        wanted: dict[str, list[int]] = {}
        for topic, partition in committed:
            wanted.setdefault(topic, []).append(partition)
        ends = await self._client.ends(wanted)
        return lag_of(committed, ends, self._samples.of(group))

    async def _ask_transactions(self, story: Story, lag: Lag | None) -> Story:
        """Note in a story the transactions that hold its group back in the partitions of `lag`, and return it."""
        committed = {(each.topic, each.partition): each.committed for each in lag.partitions} if lag is not None else {}
        if not committed and not (story.state is not None and story.state.pending_offsets):
            return story
        answer = await self._client.metadata(sorted({topic for topic, _ in committed}))
        await answered(transaction_facts(story, committed, cluster_leaders(answer)), self._ask_all)
        return story

    async def _ask_all(self, asked: list[NodeRequest]) -> list[Any]:
        return await asyncio.gather(*map(self._ask_if_up, asked))

    async def _ask_if_up(self, asked: NodeRequest) -> Any:
        node = self._client.nodes.get(asked.node_id)
        try:
            return None if node is None else await self._client.ask(node, asked.request, asked.max_version)
        except TROUBLE:
            return None


def console_of(config: Config, bootstrap: Callable[[], Sequence[ClusterNode]], links: NodeLinks) -> ClusterConsole:
    """Return the console of the cluster of these nodes, one of which must answer. Must be called on a running loop."""
    past = None if config.log_dirs == IN_MEMORY else Past(Path(config.log_dirs), Path(config.history_path))
    client = ClusterClient(lambda: [_from_here(each) for each in bootstrap()], links)
    return ClusterConsole(config, client, past)


def _from_here(node: ClusterNode) -> ClusterNode:
    """Return the address at which this machine reaches one that is listened on."""
    return node._replace(host=LOOPBACK.get(node.host, node.host))


def _unknown(story: Story, ribbon: Ribbon | None) -> list[str]:
    found = []
    state = story.state
    if ribbon is None and state is not None and state.member_count and state.protocol_type == "consumer":
        found.append("The owners of the partitions are known from the next rebalance on.")
    if state is not None and state.member_count > len(state.members):
        found.append(f"Only {len(state.members)} of {state.member_count} members are shown.")
    return found


def _unreachable(error: Exception) -> str:
    return f"the coordinator cannot be asked ({error or type(error).__name__}); what is shown may be old"
