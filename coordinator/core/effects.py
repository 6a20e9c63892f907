"""Effects: values that describe what the core asks the runtime to do.

A method of the core takes an event (a request, a time, the outcome of an append) and returns `Effects`. The runtime
executes them: replies go to their connections, appends go to the offsets log. Because effects are values, the same core
runs under the asyncio server and under a virtual clock in tests, which compare effects by equality.

Promise: a reply in `Effects` depends on nothing that is not durable. A reply that depends on an append is kept with the
append and returned by `appended` or `append_failed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from coordinator.core.purgatory.purgatory import DelayedOperation
    from coordinator.core.waiting_request import WaitingRequest


class ClientSoftware(NamedTuple):
    """The library of a client, as its ApiVersions names it (KIP-511), cut to client.software.max.chars."""

    name: str
    version: str


Describable: TypeAlias = "Callable[[Iterable[str]], set[str]]"  # from names of topics to some of them

UNKNOWN_SOFTWARE: Final = ClientSoftware("", "")


class Ticket:
    """The address of the answer to one request.

    The core reads `client_id` (cut to client.id.max.chars), `client_host` and `client_software`, which become
    facts of a member. It never touches `session`, the connection, which may be closed when the answer comes; the
    runtime drops a reply to a closed connection. `version` is for the API layer, which shapes answers by it. A
    connection extends the ticket by what it needs to send the answer (`coordinator.server.answers.Slot`).
    """

    __slots__ = (
        "amend",
        "api_key",
        "client_host",
        "client_id",
        "client_software",
        "correlation_id",
        "delayed_fetch",
        "describable",
        "has_append",
        "held",
        "is_followed",
        "may_be_held",
        "session",
        "throttle_ms",
        "version",
    )

    def __init__(
        self,
        session: Any = None,
        *,
        api_key: int = -1,
        version: int = 0,
        correlation_id: int = 0,
        client_id: str = "",
        client_host: str = "/127.0.0.1",
        client_software: ClientSoftware = UNKNOWN_SOFTWARE,
    ) -> None:
        self.session = session
        # Completes the answer. Such a request is never recognised, unless nothing but ids of topics is added.
        self.amend: Callable[[Any], Any] | None = None
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.client_host = client_host  # in Java form: "/127.0.0.1"
        self.client_software = client_software
        # Set by the access rules: returns those of some topics that the client may DESCRIBE. None: all of them.
        self.describable: Describable | None = None
        self.may_be_held = False  # its client can wait for the answer; set by the connection
        self.held: WaitingRequest | None = None  # while it is held
        self.delayed_fetch: DelayedOperation[Any] | None = None  # while it waits for records
        self.is_followed = False  # set by the connection: another request waits for the answer, so a fetch must not
        self.throttle_ms = 0  # set by the API layer: the answer tells the client to wait for so long (KIP-219)
        self.has_append = False  # set by the runtime: the request caused an append, which is not durable yet

    def __repr__(self) -> str:
        return (
            f"<Ticket api={self.api_key} v{self.version} #{self.correlation_id} {self.client_id!r} {self.client_host}>"
        )


class Reply(NamedTuple):
    """Send `response` to `ticket`.

    It is a message of `protocol.messages`, independent of the version, or the bytes that a `RepeatedCommit` contained.
    """

    ticket: Ticket
    response: Any


class Producer(NamedTuple):
    """The producer fields of a transactional batch in the offsets log (TxnOffsetCommit), or of a marker."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int = 0  # in a marker: of the transaction coordinator that wrote it


class Append(NamedTuple):
    """Append `records` atomically, in order, to one partition of the offsets log.

    `records` are (key, value) pairs; a value of None is a tombstone. `then` is core data and handles the outcome.
    With `marker` there are no records but the control record that ends the producer's transaction: True commits, False
    aborts. `size` is an upper bound of the bytes of the records in a batch.
    """

    partition: int
    records: tuple[tuple[bytes, bytes | None], ...]
    then: Any
    producer: Producer | None = None
    marker: bool | None = None
    size: int = 0


class Effects(NamedTuple):
    """All effects of one event. `replies` may be sent now; `appends` go to the log in this order."""

    replies: tuple[Reply, ...] = ()
    appends: tuple[Append, ...] = ()


NOTHING: Final = Effects()
