"""Effects: values that describe what the core asks the runtime to do.

A method of the core takes an event (a request, a time, the outcome of an append) and returns `Effects`. The runtime
executes them: replies go to their connections, appends go to the offsets log. Because effects are values, the same core
runs under the asyncio server and under a virtual clock in tests, which compare effects by equality.

Promise: a reply in `Effects` depends on nothing that is not durable. A reply that depends on an append is kept with the
append and returned by `appended` or `append_failed`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

MAX_CLIENT_ID_CHARS: Final = 255  # of a client id; longer ones are cut, because members keep them


class Ticket:
    """A slot in the ordered answers of one connection: where the answer to one request goes.

    The core treats it as an address. It reads `client_id` (at most MAX_CLIENT_ID_CHARS long) and `client_host`, which
    become facts of a member, and never touches `session`, which is the connection and may be long gone when the answer
    comes; a reply to a closed connection is dropped by the runtime. `version` is for the API layer alone, which shapes
    answers by it.
    """

    __slots__ = (
        "answer",
        "api_key",
        "client_host",
        "client_id",
        "correlation_id",
        "is_long",
        "received_s",
        "route",
        "session",
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
    ) -> None:
        self.session = session
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.client_host = client_host  # in Java form: "/127.0.0.1"
        self.received_s = 0.0  # set by the connection, where the time to the answer is measured; 0: not this one's
        self.is_long = False  # set by the connection: the request was, and so the answer may be
        self.route: Any = None  # set by the connection: how the answer of this API and version is encoded
        self.answer: bytes | None = None  # set by the connection: encoded, waiting for the answers before it

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
    """The producer fields of a transactional batch in the offsets log (TxnOffsetCommit)."""

    producer_id: int
    producer_epoch: int


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
