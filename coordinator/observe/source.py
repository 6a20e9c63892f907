"""The console's answers about an observed cluster, from the state that its offsets log gives.

Lag is the distance from the committed offsets, which the log has, to the ends of the logs, which the cluster is asked
for. It is sampled for all groups at regular moments. Nothing here writes to the cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from coordinator.console.facts import facts, seams
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
    RibbonMember,
)
from coordinator.console.names import member_names
from coordinator.console.past import Past
from coordinator.console.ribbon import ribbon
from coordinator.console.shared_answers import GroupAnswers
from coordinator.console.source import ConsoleError, ListQuestion
from coordinator.core.events.model import ClientInfo, Story
from coordinator.explain.rules import explain
from coordinator.observe.offsets import Committed, TopicPartition
from coordinator.observe.progress import FollowProgress
from coordinator.observe.state import ObservedGroups
from coordinator.processes.wall_clock import wall_ms
from coordinator.version import build

ROWS_MS: Final = 1_000  # for which a list of the groups is current
FACTS_S: Final = 2.0  # for which an answer about open transactions is
SLICE: Final = 200  # groups; the loop goes on in between

Ends = Mapping[TopicPartition, int]
ONLY_READ: Final = "this cluster is only observed: remove members with Kafka's own tools, or a console of its own"


@dataclass(frozen=True, slots=True)
class Observed:
    """The parts of an observation that the console asks. `state` and `cluster_id` may change while it runs."""

    bootstrap_servers: str
    state: Callable[[], ObservedGroups]
    cluster_id: Callable[[], str]
    progress: FollowProgress
    ends: Callable[[Iterable[TopicPartition]], Awaitable[Ends]]
    # Notes the transactions that hold a group back, by its committed offsets, in its story.
    note_transactions: Callable[[Story, Mapping[TopicPartition, int]], Awaitable[None]] | None = None
    watch: Callable[[str], None] = lambda group: None  # called with each group that is shown
    nodes: Callable[[], list[str]] = list
    now_ms: Callable[[], int] = wall_ms


class ObservedConsole:
    """A `ConsoleSource` for an observed cluster. `run` samples the lag, and must run beside it."""

    def __init__(self, observed: Observed, past: Past | None = None) -> None:
        self._observed = observed
        self._past = past
        self._samples = LagSamples()
        self._lags: dict[str, tuple[int, int]] = {}  # by group: the lag at the last sample, and unknown partitions
        self._facts: GroupAnswers[Story] = GroupAnswers(FACTS_S)
        self._rows: list[GroupRow] = []
        self._rows_ms = -ROWS_MS

    async def run(self) -> None:
        """Sample the lag until cancelled."""
        while True:
            await self.sample()
            await asyncio.sleep(SAMPLE_S)

    async def cluster(self) -> ClusterView:
        observed, progress = self._observed, self._observed.progress
        now_ms = observed.now_ms()
        history = self._past.why_not() if self._past is not None else "this observer keeps no files to look back into"
        return ClusterView(
            at_ms=now_ms,
            kind="observed",
            cluster_id=observed.cluster_id(),
            bootstrap_servers=observed.bootstrap_servers,
            nodes=observed.nodes(),
            groups=len(observed.state().groups()),
            can_kick=False,
            history=history,
            history_from_ms=-1 if history or self._past is None else await self._past.from_ms(),
            behind_ms=int(progress.seconds_behind(now_ms) * 1000) if progress.caught_up else -1,
            problem=self._problem(),
            version=build(),
        )

    async def groups(self, question: ListQuestion) -> GroupList:
        found = page(
            await self.rows(),
            question,
            at_ms=self._observed.now_ms(),
            sample_ms=SAMPLE_MS,
            problem=self._problem(),
        )
        for row in found.groups:
            row.lags = self._samples.of(row.group)
        return found

    async def group(self, group: str, at_ms: int | None = None) -> GroupPage:
        if at_ms is not None:
            if self._past is None:
                raise ConsoleError("this observer keeps no files to look back into", 404)
            return await self._past.group(group, at_ms)
        observed = self._observed
        observed.watch(group)
        state, now_ms = observed.state(), observed.now_ms()
        story = state.story(group, now_ms)
        if story is None:
            raise ConsoleError("the log has no group of this name", 404)
        owners = _ribbon(state, group, story)
        lag = await self._lag(group, state.offsets(group))
        facts_of = await self._facts.get(group, lambda: self._ask_transactions(story, lag))
        story.held = facts_of.held
        note_owners(lag, owners)
        note_held(lag, story)
        return GroupPage(
            group=group,
            at_ms=now_ms,
            verdicts=explain(story),
            story=story,
            type=state.type_of(group),
            facts=facts(story),
            ribbon=owners,
            lag=lag,
            unknown=story.unknown,
            problem=self._problem(),
        )

    async def kick(self, group: str, member_id: str, reason: str) -> Kicked:
        raise ConsoleError(ONLY_READ, 409)

    def _problem(self) -> str:
        progress = self._observed.progress
        if progress.problem:
            return progress.problem
        return "" if progress.caught_up else "the log is still being read; what is shown may be old"

    # -- the list ------------------------------------------------------------------------------------------------

    async def rows(self) -> list[GroupRow]:
        """Return the rows of all groups, at most ROWS_MS old."""
        now_ms = self._observed.now_ms()
        if now_ms - self._rows_ms < ROWS_MS:
            return self._rows
        self._rows_ms = now_ms
        state, rows = self._observed.state(), []
        for number, group in enumerate(state.groups()):
            row = state.row(group, now_ms)
            row.lag, row.unknown_partitions = self._lags.get(group, (UNKNOWN, 0))
            rows.append(row)
            if number % SLICE == SLICE - 1:
                await asyncio.sleep(0)
        self._rows = rows
        return rows

    async def sample(self) -> None:
        """Note the lag of all groups once."""
        state = self._observed.state()
        groups = state.groups()[:MOST_SAMPLED]
        ends = await self._observed.ends({place: None for group in groups for place in state.offsets(group)})
        lags: dict[str, tuple[int, int]] = {}
        for number, group in enumerate(groups):
            offsets = state.offsets(group)
            known = [max(ends[place] - offset, 0) for place, (offset, _) in offsets.items() if place in ends]
            lag = sum(known) if known else UNKNOWN
            lags[group] = lag, len(offsets) - len(known)
            self._samples.add(group, lag)
            if number % SLICE == SLICE - 1:
                await asyncio.sleep(0)
        self._lags = lags

    # -- one group -----------------------------------------------------------------------------------------------

    async def _ask_transactions(self, story: Story, lag: Lag | None) -> Story:
        if lag is not None and self._observed.note_transactions is not None:
            committed = {(each.topic, each.partition): each.committed for each in lag.partitions}
            await self._observed.note_transactions(story, committed)
        return story

    async def _lag(self, group: str, offsets: Mapping[TopicPartition, Committed]) -> Lag | None:
        if not offsets:
            return None
        committed = dict(offsets)
        return lag_of(committed, await self._observed.ends(committed), self._samples.of(group))


def _ribbon(state: ObservedGroups, group: str, story: Story) -> Ribbon | None:
    """Return the ribbon of all owner changes that are kept; None if there are none."""
    since_ms = state.owners_known_from_ms(group)
    if since_ms < 0:
        return None
    clients, now = state.owners(group), state.owned_now(group)
    names = _names(clients)
    members = {
        key: RibbonMember(key=key, name=names[key], client_id=client.client_id, host=client.host, is_member=key in now)
        for key, client in clients.items()
    }
    return ribbon(
        state.ownership(group),
        members,
        seams(story),
        from_ms=since_ms,
        until_ms=max(story.at_ms, since_ms),
        known_from_ms=since_ms,
    )


def _names(clients: Mapping[str, ClientInfo]) -> dict[str, str]:
    """Return a short name for each key. Member ids of KIP-848 groups do not begin with the client id."""
    long = {
        key: key if client.instance_id or key.startswith(client.client_id) else f"{client.client_id}-{key}"
        for key, client in clients.items()
    }
    names = member_names((long[key], client.client_id) for key, client in clients.items())
    return {key: names[long[key]] for key in clients}
