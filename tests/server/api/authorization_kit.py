"""A client with some rights, whose requests go through the authorization layer by way of their bytes.

The handler behind the layer is a function of the request, so that a test sees what reaches it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from coordinator.core.effects import Ticket
from coordinator.security.acl.model import CLUSTER, AclOperation, Resource, ResourceType
from coordinator.security.principal import Principal
from coordinator.server.api.table import HANDLERS
from coordinator.server.authorization_layer import install
from coordinator.server.dispatch import Layer, Routes
from protocol import codec

ALICE = Principal("User", "alice")
TOPIC_IDS = {"yes": b"y" * 16, "no": b"n" * 16}
UNKNOWN_ID = b"u" * 16
IDS = {**TOPIC_IDS, "unknown": UNKNOWN_ID}  # ids that tests ask for


def id_of(name: str) -> bytes:
    """Return the id that a request has for a topic: zeros if it can only name it."""
    return IDS.get(name, bytes(16))


class Rights:
    """An `Access` that allows what is listed, as "READ topic orders" or "ALTER cluster"."""

    def __init__(self, *rights: str) -> None:
        self._allowed = {_right(text) for text in rights}
        self.logged: list[tuple[AclOperation, Resource, int]] = []  # refusals

    def may(self, operation: AclOperation, resource: Resource, *, is_logged: bool = True, count: int = 1) -> bool:
        is_allowed = (operation, resource) in self._allowed
        if is_logged and not is_allowed:
            self.logged.append((operation, resource, count))
        return is_allowed

    def may_on_any(self, operation: AclOperation, resource_type: ResourceType) -> bool:
        return any(op is operation and resource.type is resource_type for op, resource in self._allowed)

    def operations(self, resource: Resource) -> int:
        return sum(1 << operation for operation, of in self._allowed if of == resource)


def _right(text: str) -> tuple[AclOperation, Resource]:
    operation, kind, *name = text.split(maxsplit=2)
    resource = Resource(ResourceType[kind.upper()], *name) if name else CLUSTER
    return AclOperation[operation], resource


class Everything(Rights):
    """All rights."""

    def may(self, operation: AclOperation, resource: Resource, *, is_logged: bool = True, count: int = 1) -> bool:
        return True

    def may_on_any(self, operation: AclOperation, resource_type: ResourceType) -> bool:
        return True


class Outcome(NamedTuple):
    """One request: what reached the handler (None: nothing), the answer of its version, and why it was closed."""

    handled: Any
    answer: Any
    closed: str


Serve = Callable[[Any], Any]


def topics_of_node(*, auto_create: bool = True) -> Any:
    topics = {name: SimpleNamespace(name=name, topic_id=topic_id) for name, topic_id in TOPIC_IDS.items()}
    by_id = {topic.topic_id: topic for topic in topics.values()}
    return SimpleNamespace(
        catalogue=SimpleNamespace(topics=topics, by_id=by_id.get),
        partition_exists=lambda topic, partition: topic in topics,
        config=SimpleNamespace(auto_create_topics_enable=auto_create),
    )


def ask(
    access: Rights,
    request: Any,
    version: int,
    serve: Serve,
    *,
    auto_create: bool = True,
    each_step: Callable[[], None] = lambda: None,
) -> Outcome:
    key = codec.api_key_of(request)
    decoded = received(request, version)
    seen: list[Any] = []
    sent: list[Any] = []
    closed: list[str] = []

    def send(ticket: Ticket, response: Any) -> None:
        sent.append(response if ticket.amend is None or response is None else ticket.amend(response))

    class Node:
        topics = topics_of_node(auto_create=auto_create)

        def reply(self, ticket: Ticket, response: Any) -> None:
            ticket.session.answer(ticket, response)

        def take_turns(self, ticket: Ticket, steps: Iterator[None]) -> None:
            each_step()  # the turn is an event of its own
            for _ in steps:
                each_step()

        def disconnect(self, ticket: Ticket, reason: str) -> None:
            closed.append(reason)

    def handle(node: Any, reduced: Any, ticket: Ticket, now_ms: int) -> None:
        seen.append(reduced)
        node.reply(ticket, serve(reduced))

    ticket = Ticket(
        SimpleNamespace(principal=ALICE, answer=send), api_key=int(key), version=version, client_host="/10.0.0.7"
    )
    layer_of(access)(handle, Node(), decoded, ticket, 0)
    (response,) = sent
    assert decoded == received(request, version), "the request itself was changed"
    if isinstance(response, bytes):
        answer = codec.response_decoder(key, version)(response, 0)
    else:
        answer = None if response is None else answered(response, version)
    return Outcome(seen[0] if seen else None, answer, "".join(closed))


def layer_of(access: Rights, asked: list[tuple[Any, ...]] | None = None) -> Layer:
    """Install the layer, and return it."""
    layers: list[Layer] = []

    class FakeRoutes:
        def add_layer(self, layer: Layer, apis: Collection[int] | None = None) -> None:
            assert apis is None, "recognised heartbeats and commits would end"
            layers.append(layer)

    def access_of(principal: Principal, host: str, api_key: int) -> Rights:
        if asked is not None:
            asked.append((principal, host, api_key))
        return access

    install(cast(Routes, FakeRoutes()), access_of)
    return layers[0]


def received(request: Any, version: int) -> Any:
    """Return the request as a server decodes it."""
    key = codec.api_key_of(request)
    return codec.decode_request(key, version, codec.encode_request(request, version), 0)


def answered(response: Any, version: int) -> Any:
    """Return the version-neutral response as a client of this version decodes it."""
    key = codec.api_key_of(response)
    api = HANDLERS.get(key)
    if api is not None and api.shape is not None:
        response = api.shape(response, version)
    return codec.response_decoder(key, version)(codec.response_encoder(key, version)(response), 0)
