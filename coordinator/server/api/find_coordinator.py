"""FindCoordinator (key 10): the node that coordinates a group or a transactional id, which owns its log partition.

Every node can answer, for an empty id too, and while it loads. The owner is named also if it may be down: no other node
can replace it, and clients try again until it is back. Share groups are not coordinated here, nor, with a shared store
of the log or without topics, transactional ids. Such an id gets TRANSACTIONAL_ID_AUTHORIZATION_FAILED, the one error on
which every client gives up at once (docs/differences.md): librdkafka retries all but authorization errors for ever,
INVALID_REQUEST among them. Versions 0 to 3 have one key: a list of one, whose answer moves to the top.
Source: `KafkaApis.handleFindCoordinatorRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from coordinator.core.cluster import ClusterNode
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.find_coordinator import FindCoordinatorRequest

OwnerOf: TypeAlias = "Callable[[str], ClusterNode | None]"
FIRST_WITH_KEYS: Final = 4
KEYS_AT_ONCE: Final = 100
CHARACTERS_PER_STEP: Final = 20_000
CHARACTERS_A_KEY: Final = 60  # hashing so many takes as long as the other work for a key
GROUP: Final = 0
TRANSACTION: Final = 1
REFUSALS: Final = {
    TRANSACTION: (
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        "There are no transactions without topics (topics.storage=off): use the producer without a transactional id.",
    ),
    2: (ErrorCode.INVALID_REQUEST, "There is no share coordinator here: use a consumer group."),
}


def handle(node: Node, request: FindCoordinatorRequest, ticket: Ticket, now_ms: int) -> None:
    keys = request.coordinator_keys if ticket.version >= FIRST_WITH_KEYS else [request.key]
    owner_of = _owners(node, request.key_type)
    if owner_of is None:
        unknown = ErrorCode.INVALID_REQUEST, f"Key type {request.key_type} is not known."
        error, why = REFUSALS.get(request.key_type, unknown)
        found = [_refused(key, error, why) for key in keys]
    elif node.core.is_down:
        why = "This coordinator is shutting down."
        found = [_refused(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, why) for key in keys]
    else:
        if len(keys) > KEYS_AT_ONCE:
            node.take_turns(ticket, _find_many(node, keys, ticket, owner_of))
            return
        found = _find(node, keys, ticket, owner_of)
    node.reply(ticket, FindCoordinatorResponse(coordinators=found))


def _owners(node: Node, key_type: int) -> OwnerOf | None:
    """Return the function from a key to the node that coordinates it; None if such keys are not coordinated here."""
    if key_type == GROUP:
        return lambda key: node.cluster.coordinator(node.core.partition_for(key))
    if key_type == TRANSACTION and node.transactions is not None:
        return node.transactions.coordinator_of
    return None


def _find(node: Node, keys: list[str], ticket: Ticket, owner_of: OwnerOf) -> list[Coordinator]:
    seen = node.seen_by(ticket)
    return [_found(key, owner_of(key), seen) for key in keys]


def _find_many(node: Node, keys: list[str], ticket: Ticket, owner_of: OwnerOf) -> Iterator[None]:
    found: list[Coordinator] = []
    hashed = 0  # characters since the last step
    for key in keys:
        hashed += len(key) + CHARACTERS_A_KEY
        if hashed > CHARACTERS_PER_STEP:
            hashed = len(key)
            yield
        found += _find(node, [key], ticket, owner_of)
    node.reply(ticket, FindCoordinatorResponse(coordinators=found))


def _found(key: str, owner: ClusterNode | None, seen: Callable[[ClusterNode], ClusterNode]) -> Coordinator:
    if owner is None:
        return _refused(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, "No node has taken over this group yet: try again.")
    address = seen(owner)
    return Coordinator(
        key=key,
        node_id=owner.id,
        host=address.host,
        port=address.port,
        error_code=int(ErrorCode.NONE),
        error_message="",
    )


def _refused(key: str, error: ErrorCode, why: str) -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=int(error), error_message=why)


def shape(response: FindCoordinatorResponse, version: int) -> FindCoordinatorResponse:
    if version >= FIRST_WITH_KEYS:
        return response
    (found,) = response.coordinators
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message or "NONE",  # the literal word, which is Kafka's message for no error
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


API = Api(
    ApiKey.FIND_COORDINATOR,
    0,
    6,
    handle,
    shape,
    max_elements=50_000,
    chunked=((0, Array("coordinators")),),
    section=Section.GROUPS,
    does="The node of a group or a transactional id, of many from 4 on.",
    refuses=(
        "Transactional ids without topics (`topics.storage`): TRANSACTIONAL_ID_AUTHORIZATION_FAILED, on which every "
        "client gives up at once. Share groups: INVALID_REQUEST. Both with a text that says why."
    ),
)
