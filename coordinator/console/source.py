"""The source of the console's answers: a cluster of this project, or one that is observed."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from coordinator.console.model import ClusterView, GroupList, GroupPage, Kicked

MOST_PER_PAGE = 200


class ListQuestion(NamedTuple):
    """A page of the list of groups. `search` is a part of the group id, `sort` the name of a field of GroupRow."""

    search: str = ""
    state: str = ""
    sort: str = "group"
    reverse: bool = False
    offset: int = 0
    limit: int = 50


class ConsoleError(Exception):
    """A question that has no answer, as one sentence that says what to do. `status` is that of HTTP."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


class ConsoleSource(Protocol):
    """Answers the console's questions. All methods are called on the loop of the HTTP port, and may raise ConsoleError.

    While the cluster cannot be reached, a source answers with the last it knew and a sentence in `problem`.
    """

    async def cluster(self) -> ClusterView: ...

    async def groups(self, question: ListQuestion) -> GroupList:
        """Return a page of the list."""
        ...

    async def group(self, group: str, at_ms: int | None = None) -> GroupPage:
        """Return one group, now or at a past moment. ConsoleError with 404 if nothing is known of it."""
        ...

    async def kick(self, group: str, member_id: str, reason: str) -> Kicked:
        """Remove a member. The caller has checked the admin token."""
        ...
