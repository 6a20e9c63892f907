"""The outcome of a check, and the parts that checks have in common.

A check is a function of the request, its version, the rights of the client (`Access`) and the topics of this node. It
returns PASS, an `AnswerNow`, or a request without its refused parts (`Handle`, `HandleInSteps`). Source: `AuthHelper`
of Kafka's server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from coordinator.security.acl.model import CLUSTER, AclOperation, Resource, ResourceType

if TYPE_CHECKING:
    from coordinator.core.topics.topics import Topics
    from coordinator.security.acl.access import Access

T = TypeVar("T")
Amend: TypeAlias = Callable[[Any], Any]

# The messages of Kafka's `Errors`.
TOPIC_DENIED: Final = "Topic authorization failed."
GROUP_DENIED: Final = "Group authorization failed."
CLUSTER_DENIED: Final = "Cluster authorization failed."
TRANSACTIONAL_ID_DENIED: Final = "Transactional Id authorization failed."


class AnswerNow(NamedTuple):
    """Answer at once. `disconnect` says why the connection is closed as well; empty: it stays open."""

    response: Any
    disconnect: str = ""


class Handle(NamedTuple):
    """Have this request handled, and complete its answer with `amend`. `disconnect`: as in `AnswerNow`."""

    request: Any
    amend: Amend
    disconnect: str = ""


class HandleInSteps(NamedTuple):
    """Have this request handled, and complete its answer, which may be very long, by the steps of `amend`."""

    request: Any
    amend: Callable[[Any], Iterator[None]]


Verdict: TypeAlias = AnswerNow | Handle | HandleInSteps | None
PASS: Final = None  # the request is handled as it is
Check: TypeAlias = "Callable[[Any, int, Access, Topics], Verdict]"


def allowed(
    access: Access, operation: AclOperation, kind: ResourceType, names: Iterable[str], *, is_logged: bool = True
) -> set[str]:
    """Return the names of the resources on which the operation is allowed (AuthHelper.filterByAuthorized)."""
    return {
        name
        for name, count in Counter(iter(names)).items()  # of a dict it would take the values for counts
        if access.may(operation, Resource(kind, name), is_logged=is_logged, count=count)
    }


def split(elements: Sequence[T], names: set[str], name_of: Callable[[T], str]) -> tuple[list[T], list[T]]:
    """Return the elements with one of the names, and the others (AuthHelper.partitionSeqByAuthorized)."""
    kept, refused = list[T](), list[T]()
    for element in elements:
        (kept if name_of(element) in names else refused).append(element)
    return kept, refused


def on_cluster(operation: AclOperation, refuse: Callable[[Any], Any]) -> Check:
    """Return the check of a request that needs an operation on the cluster."""

    def check(request: Any, _version: int, access: Access, _topics: Topics) -> Verdict:
        return PASS if access.may(operation, CLUSTER) else AnswerNow(refuse(request))

    return check


def on_group(operation: AclOperation, refuse: Callable[[Any], Any]) -> Check:
    """Return the check of a request that needs an operation on its only group."""

    def check(request: Any, _version: int, access: Access, _topics: Topics) -> Verdict:
        is_allowed = access.may(operation, Resource(ResourceType.GROUP, request.group_id))
        return PASS if is_allowed else AnswerNow(refuse(request))

    return check


def cluster_operations(access: Access) -> int:
    """Return the operations on the cluster for a client that asked for them; none without DESCRIBE."""
    return access.operations(CLUSTER) if access.may(AclOperation.DESCRIBE, CLUSTER) else 0
