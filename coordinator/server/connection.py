"""One client connection: frames in, answers out in request order, and nothing unbounded in between.

A read is cut into frames; each frame that may run is decoded and handed to its handler inside `data_received`, with no
task and no future. What is answered at once is written together at the end of the read. Kafka answers the requests of
one connection strictly in order and so do we: every request holds a `Ticket` in `_tickets` until all before it are
answered.

When may the next frame run? (wire spec, section 4)
  - nothing unanswered: always;
  - only requests that wait for the disk: Heartbeat, OffsetCommit and Produce may run, so that pipelined commits share
    one flush; anything else waits until the connection has no write in flight;
  - a parked JoinGroup, SyncGroup or long-poll Fetch: nothing, as on Kafka.
Frames that may not run wait in `_waiting`, up to `connection.max.buffered.bytes`; then reading pauses. What all
connections hold, in such frames and in ones that are not whole yet, is bounded in `Connections`.

A lone request runs at once. Several in one read run until the time is over that all connections share in one round of
the event loop (`Turns.begin`); the rest goes on in turns with other connections, `STEP_S` at a time, and reading pauses
meanwhile. A client that does not read its answers stops being served when `connection.max.unsent.bytes` wait for it;
what waits for all clients is bounded in `Connections`.

A request that cannot be handled, or an answer that cannot be encoded, costs its own connection and nothing else: no
exception leaves this class, because the caller may be the event of another client.

What a connection sends most is recognised by its bytes, without being decoded: the Heartbeat that is the same every
time (`heartbeat_frame.py`), and the OffsetCommit that differs from the one before in its offsets alone
(`commit_frame.py`).

EOF never touches a group: a parked request of a closed connection is resolved like any other, its answer dropped.
"""

from __future__ import annotations

import asyncio
import logging
import math
import struct
import sys
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

from coordinator.core.effects import MAX_CLIENT_ID_CHARS, Ticket
from coordinator.server.api.api_versions import unsupported_version
from coordinator.server.api.chunked_responses import LONG, in_pieces
from coordinator.server.commit_frame import CommitFrame
from coordinator.server.heartbeat_frame import HeartbeatFrame
from coordinator.server.loop_health import NOTABLE_S
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.errors import DecodeError, EncodeError, TooManyElementsError
from protocol.frames import FrameError, FrameReader
from protocol.headers import decode_request_header

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.server.dispatch import Route
    from coordinator.server.runtime import Runtime

LOG = logging.getLogger("coordinator.connection")

PRODUCE: Final = int(ApiKey.PRODUCE)
OFFSET_COMMIT: Final = int(ApiKey.OFFSET_COMMIT)
HEARTBEAT: Final = int(ApiKey.HEARTBEAT)
SYNC_GROUP: Final = int(ApiKey.SYNC_GROUP)
# What may run while requests before it wait for the disk, and what such a wait is: their answers come without any
# other client's doing. A parked JoinGroup is not among them although its first one appends a record.
PIPELINED: Final = frozenset({PRODUCE, OFFSET_COMMIT, HEARTBEAT})
WAITS_FOR_LOG: Final = frozenset({PRODUCE, OFFSET_COMMIT, SYNC_GROUP})
MAX_IN_FLIGHT: Final = 1000  # unanswered requests of one connection; clients have at most a few hundred
MAX_KEPT_COMMIT_BYTES: Final = 16_384  # of a frame that is remembered
MAX_UNUSED_COMMITS: Final = 8  # remembered in a row and never met again: this client's are always different
STEP_S: Final = 0.001  # how long requests of one connection run on end while other connections have much to do, too
CHECKED_EVERY: Final = 16  # recognised heartbeats, of about 1 µs each, between two looks at the clock; a power of two
SMALL_READ: Final = 16_384  # bytes; cutting them into frames takes 0.1 ms at most
UNCOUNTED_UNSENT: Final = 65_536  # bytes that a connection may have unsent before they are counted
LONG_FRAME: Final = 16_384  # bytes; fewer hold too few elements to keep the loop
TURN_IS_OVER: Final = math.inf
_CORRELATION: Final = struct.Struct(">i")
_SIZE_AND_CORRELATION: Final = struct.Struct(">ii")


class Connection(asyncio.Protocol):
    """The protocol of one accepted socket. Created by the server, driven by the event loop and the runtime."""

    # In place, not in a dict: with a thousand connections the look-ups of a dict miss the processor's caches.
    __slots__ = (
        "_client_id",
        "_client_raw",
        "_closed_ms",
        "_commit",
        "_commit_bytes",
        "_commits_unused",
        "_decoded",
        "_frames",
        "_heartbeat",
        "_host",
        "_is_closed",
        "_is_dirty",
        "_is_draining",
        "_is_queued",
        "_is_running",
        "_is_stopping",
        "_largest_request",
        "_most_out_bytes",
        "_out",
        "_out_bytes",
        "_parked",
        "_reading_paused",
        "_routes",
        "_runtime",
        "_slices",
        "_tickets",
        "_transport",
        "_unread",
        "_waiting",
        "_waiting_bytes",
        "_writing_paused",
        "address",
        "descriptor",
        "frame_started_ms",
        "held_bytes",
        "last_activity_ms",
        "peer",
        "preparing_bytes",
        "unsent_bytes",
        "unsent_since_ms",
    )

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._routes = runtime.routes
        self._largest_request = runtime.config.connection_request_max_bytes
        self._frames = FrameReader(runtime.config.socket_request_max_bytes)
        self._transport: asyncio.Transport | None = None
        self.peer = "?"  # address:port, for people
        self._host = "/?"  # in Java form, for members
        self.address = "?"  # the address alone, for max.connections.per.ip
        self.descriptor = -1  # of its socket
        self._client_raw: bytes | None = None  # the client id as it stands in a header, length included
        self._client_id = ""
        self._tickets: deque[Ticket] = deque()
        self._parked: Ticket | None = None
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._most_out_bytes = runtime.config.connection_max_unsent_bytes
        self._is_dirty = False
        self._is_running = False
        self._slices = runtime.request_slices
        self._is_queued = False  # what it has to do is done in turns with other connections; it reads nothing meanwhile
        self._unread = b""  # a read that has not been cut into frames yet
        self._is_closed = False  # nothing more is read, handled or answered; the transport may still be sending
        self._closed_ms = 0
        self._is_stopping = False
        self._reading_paused = False
        self._writing_paused = False
        self._commit: CommitFrame | None = None
        self._commit_bytes = 0  # of the last one that was decoded
        self._commits_unused = 0
        self._decoded: tuple[bytes, int, Any] | None = None  # a frame that waits for a turn: its body's place, request
        self._heartbeat: HeartbeatFrame | None = None
        self.last_activity_ms = 0
        self.held_bytes = 0  # of requests that are not whole or wait, as `Connections` has counted them
        self._is_draining = False  # the peer does not read as fast as it is answered: what is unsent is counted
        self.unsent_bytes = 0  # of answers, as `Connections` has counted them
        self.preparing_bytes = 0  # those of an answer that is being encoded
        self.unsent_since_ms = 0  # when the peer last read some of them
        self.frame_started_ms = -1  # when the frame that is still incomplete began; -1: none is

    # -- asyncio.Protocol ----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # a stream socket has no other kind
        peername = transport.get_extra_info("peername")
        if isinstance(peername, tuple) and len(peername) >= 2:
            self.address = str(peername[0])
            self.peer = f"{self.address}:{peername[1]}"
            self._host = sys.intern("/" + self.address)
        opened = transport.get_extra_info("socket")
        if opened is not None:
            self.descriptor = opened.fileno()
        self.last_activity_ms = self._runtime.now_ms()
        refusal = self._runtime.connections.admit(self)
        if refusal:
            self.close(refusal)
            return
        self._transport.set_write_buffer_limits(high=min(UNCOUNTED_UNSENT, self._most_out_bytes))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._forget()
        self.count_unsent()
        self._runtime.connections.remove(self)

    def eof_received(self) -> None:
        """The peer sends nothing more: as Kafka does, drop what is waiting and hang up once what is out has left."""
        self._forget()

    def _forget(self) -> None:
        self._is_closed = True
        self._closed_ms = self._runtime.now_ms()
        self._waiting.clear()
        self._waiting_bytes = 0
        self._unread = b""
        self._out.clear()
        self._out_bytes = 0
        self.preparing_bytes = 0
        self._tickets.clear()
        self._parked = None
        self._heartbeat = None
        self._commit = None
        self._decoded = None
        self._frames.clear()
        self._count_held()

    def _count_held(self) -> None:
        held_bytes = self._frames.buffered + self._waiting_bytes + len(self._unread)
        if held_bytes != self.held_bytes:
            self._runtime.connections.set_held_bytes(self, held_bytes)

    def pause_writing(self) -> None:
        self._is_draining = True
        self.unsent_since_ms = self._runtime.now_ms()
        self.count_unsent()

    def resume_writing(self) -> None:
        self._is_draining = self._writing_paused = False
        self.count_unsent()
        self._runtime.flush_later(self)
        self._runtime.end_of_event()

    def data_received(self, data: bytes) -> None:
        runtime = self._runtime
        now_ms = self.last_activity_ms = runtime.now_ms()
        heartbeat = self._heartbeat
        transport = self._transport
        if (  # the same heartbeat as ever, alone in its read and on its connection: neither cut nor queued
            heartbeat is not None
            and len(data) == heartbeat.read_size
            and not self._tickets
            and not self._is_dirty
            and not self._is_queued
            and not self._is_draining
            and self.frame_started_ms < 0
            and transport is not None
        ):
            answer = heartbeat.answer_to_read(data, now_ms)
            if answer is not None:
                runtime.heartbeats_by_memo += 1
                transport.write(answer)
                return
        if len(data) <= SMALL_READ and not self._is_queued:
            self._receive(data, now_ms, 0.0)
        elif not self._is_queued and (turn_ends := self._slices.begin()):
            self._receive(data, now_ms, turn_ends)
            if monotonic() > turn_ends:
                self._slices.spent()
        else:
            self._unread += data
            self._pause_reading()  # or libuv reads the same socket up to 32 times on end
            self._queue()
            self._count_held()
        runtime.end_of_event()

    # -- requests ------------------------------------------------------------------------------------------------

    def _receive(self, data: bytes, now_ms: int, turn_ends: float) -> None:
        """Cut a read into frames and run what may run until `turn_ends`; 0: ask for a turn if there are several."""
        broken = ""
        try:
            frames = self._frames.feed(data)
        except FrameError as error:  # what came whole before the bad length is served, as Kafka does
            frames = error.frames
            broken = str(error)
        if self._frames.has_partial_frame:
            if self.frame_started_ms < 0 or frames:
                self.frame_started_ms = now_ms
        else:
            self.frame_started_ms = -1
        self._is_running = True
        if len(frames) == 1 and not self._waiting and self._may_run(frames[0]):  # by far the most frequent case
            self._run(frames[0], now_ms)
        elif frames:
            self._run_frames(frames, now_ms, turn_ends or self._slices.begin())
        self._is_running = False
        if self.frame_started_ms >= 0 or self._waiting or self.held_bytes:
            self._count_held()
        if broken:
            self.close(f"bad frame: {broken}")

    def _run_frames(self, frames: list[bytes], now_ms: int, turn_ends: float) -> None:
        """Run what may run until `turn_ends`; the rest waits. 0: there is no time, all of it waits."""
        ran = 0
        if turn_ends and not self._waiting:
            tickets = self._tickets
            room_bytes = self._most_out_bytes - self.unsent_bytes
            for frame in frames:
                if (tickets or self._writing_paused) and not self._may_run(frame):
                    break
                ran += 1
                ended_s = self._run(frame, now_ms)
                if (ended_s or not ran % CHECKED_EVERY) and (
                    (ended_s or monotonic()) > turn_ends or self._out_bytes > room_bytes
                ):
                    self._slices.spent()
                    break
        if ran < len(frames):
            for frame in frames[ran:]:
                self._wait(frame)
            if self._waiting and self._may_run(self._waiting[0]):
                self._queue()

    def _run_waiting(self, turn_ends: float) -> None:
        """Run frames that have waited until `turn_ends`."""
        waiting = self._waiting
        now_ms = self._runtime.now_ms()
        room_bytes = self._most_out_bytes - self.unsent_bytes
        ran = 0
        self._is_running = True
        while waiting and self._may_run(waiting[0]):
            frame = waiting.popleft()
            self._waiting_bytes -= len(frame)
            ran += 1
            ended_s = self._run(frame, now_ms)
            if (ended_s or not ran % CHECKED_EVERY) and (
                (ended_s or monotonic()) > turn_ends or self._out_bytes > room_bytes
            ):
                self._slices.spent()
                break
        self._is_running = False

    def _queue(self) -> None:
        """Do the rest in turns with other connections."""
        if not self._is_queued:
            self._is_queued = True
            self._slices.add(self._take_turns())

    def _take_turns(self) -> Iterator[None]:
        """Serve what waits, a step in each turn, until nothing may run."""
        while not self._is_closed:
            step_ends = monotonic() + STEP_S
            data, self._unread = self._unread, b""
            if data:
                self._receive(data, self._runtime.now_ms(), step_ends)
            else:
                self._run_waiting(step_ends)
                self._count_held()
            self.flush()  # before the next step, which may be in the same turn: answers must not pile up
            if not self._unread and not (self._waiting and self._may_run(self._waiting[0])):
                break
            yield
        self._is_queued = False
        self._runtime.flush_later(self)

    def _may_run(self, frame: bytes) -> bool:
        if self._parked is not None or self._writing_paused:
            return False
        tickets = self._tickets
        return not tickets or (
            len(tickets) < MAX_IN_FLIGHT and len(frame) > 1 and frame[0] == 0 and frame[1] in PIPELINED
        )

    def _wait(self, frame: bytes) -> None:
        if self._is_closed:
            return
        self._waiting.append(frame)
        self._waiting_bytes += len(frame)
        if (
            self._waiting_bytes > self._runtime.config.connection_max_buffered_bytes
            or len(self._waiting) > MAX_IN_FLIGHT
        ):
            self._pause_reading()

    def _pause_reading(self) -> None:
        if not self._reading_paused:
            self._reading_paused = True
            if self._transport is not None:
                self._transport.pause_reading()

    def _run(self, frame: bytes, now_ms: int) -> float:
        """Handle one frame: its answer is in `_out`, or its ticket in `_tickets`, when this returns.

        Returns when that was, on the clock of `monotonic`; 0 where it took too little for a look at the clock, and
        TURN_IS_OVER where it is only decoded, and will be handled before the frames behind it.
        """
        if self._is_closed:
            return 0.0
        size = len(frame)
        heartbeat = self._heartbeat
        if heartbeat is not None and size == heartbeat.size:
            answer = heartbeat.answer(frame, now_ms)
            if answer is not None:
                self._runtime.heartbeats_by_memo += 1
                if self._tickets:
                    ticket = Ticket(self, api_key=HEARTBEAT)
                    ticket.answer = answer
                    self._tickets.append(ticket)
                else:
                    self._emit(answer)
                return 0.0
        try:
            route = self._routes[frame[:4]]
        except KeyError:
            self._run_unknown(frame)
            return 0.0
        if size > self._largest_request and route.key != PRODUCE:
            limit = self._largest_request
            self.close(f"{route.name} of {size} bytes is over connection.request.max.bytes={limit}")
            return 0.0
        body = 0
        request: Any = None
        commit = self._commit
        if commit is not None and size == commit.size:
            request = commit.again(frame)
        is_long = size > LONG_FRAME
        if is_long and self._decoded is not None and self._decoded[0] is frame:
            _, body, request = self._decoded
            self._decoded = None
        if request is None:
            decoding_s = monotonic() if is_long else 0.0
            try:
                body = self._read_header(frame, route)
                request = route.decode(frame, body, route.max_elements)
            except TooManyElementsError:
                most = route.max_elements
                what = f"{route.name} v{route.version} of {size} bytes"
                self.close(f"{what} has over {most} elements: send several smaller ones")
                return 0.0
            except DecodeError as error:
                self.close(f"malformed {route.name} v{route.version}: {error}")
                return 0.0
            except Exception as error:
                self._failed(f"{route.name} v{route.version} of {size} bytes could not be read", error)
                return 0.0
            if is_long and (ended_s := monotonic()) - decoding_s > STEP_S:
                self._runtime.health.record(f"decoding of {route.name}", ended_s - decoding_s)
                self._decoded = frame, body, request  # handled in a turn of its own
                self._waiting.appendleft(frame)
                self._waiting_bytes += size
                self._queue()
                return TURN_IS_OVER
        ticket = Ticket(
            self,
            api_key=route.key,
            version=route.version,
            correlation_id=_CORRELATION.unpack_from(frame, 4)[0],
            client_id=self._client_id,
            client_host=self._host,
        )
        ticket.route = route
        if is_long:
            ticket.is_long = True
        runtime = self._runtime
        started_s = monotonic()
        if not route.requests & route.sample_mask:
            ticket.received_s = started_s
        route.requests += 1
        self._tickets.append(ticket)
        runtime.saw_append = False
        try:
            route.handle(runtime, request, ticket, now_ms)
        except Exception as error:
            self._failed(f"{route.name} v{route.version} could not be handled", error)
            return 0.0
        ended_s = monotonic()
        if ended_s - started_s > NOTABLE_S:
            runtime.health.record(route.name, ended_s - started_s)
        if self._tickets and self._tickets[-1] is ticket and ticket.answer is None:
            if runtime.saw_append and route.key in WAITS_FOR_LOG:  # only durability is missing
                if route.key == OFFSET_COMMIT:
                    self._remember_commit(frame, body, request, route)
            else:
                self._parked = ticket
        elif route.key == HEARTBEAT:
            self._remember_heartbeat(frame, request, route)
        return ended_s

    def _read_header(self, frame: bytes, route: Route) -> int:
        """The position of the body. The client id rarely changes on a connection, so its bytes are only compared."""
        raw = self._client_raw
        if raw is None or not frame.startswith(raw, 8):
            header, body = decode_request_header(frame)
            self._client_id = sys.intern((header.client_id or "")[:MAX_CLIENT_ID_CHARS])
            length = max(int.from_bytes(frame[8:10], "big", signed=True), 0)
            self._client_raw = frame[8 : 10 + length] if length <= MAX_CLIENT_ID_CHARS else None
            return body
        body = 8 + len(raw)
        if not route.is_flexible:
            return body
        if body < len(frame) and frame[body] == 0:
            return body + 1
        return decode_request_header(frame)[1]

    def _run_unknown(self, frame: bytes) -> None:
        """A key or version that is not served: closed, but for ApiVersions, whose callers learn the true range."""
        if len(frame) < 8:
            self.close(f"request of {len(frame)} bytes has no header")
            return
        key = int.from_bytes(frame[:2], "big", signed=True)
        version = int.from_bytes(frame[2:4], "big", signed=True)
        if key != ApiKey.API_VERSIONS:
            self.close(f"API key {key} version {version} is not served (see ApiVersions for the ranges)")
            return
        ticket = Ticket(self, api_key=key, version=0, correlation_id=_CORRELATION.unpack_from(frame, 4)[0])
        self._tickets.append(ticket)
        self.answer(ticket, unsupported_version())

    def _remember_heartbeat(self, frame: bytes, request: Any, route: Route) -> None:
        """Called after a Heartbeat that was answered: the core says whether it may be recognised by its bytes."""
        memo = self._runtime.core.heartbeat_template(
            request.group_id, request.member_id, request.group_instance_id, request.generation_id
        )
        is_long = len(frame) > MAX_KEPT_COMMIT_BYTES
        self._heartbeat = None if memo is None or is_long else HeartbeatFrame(frame, memo, route)

    def _remember_commit(self, frame: bytes, body: int, request: Any, route: Route) -> None:
        """Called after an OffsetCommit that was accepted. `body`: where its header ends; 0 if it was recognised."""
        if not body:
            self._commits_unused = 0
        elif len(frame) != self._commit_bytes:
            self._commit_bytes = len(frame)  # the second of a length is remembered, not every first
        elif len(frame) <= MAX_KEPT_COMMIT_BYTES and self._commits_unused < MAX_UNUSED_COMMITS:
            self._commits_unused += 1
            self._commit = CommitFrame.of(frame, body, request, route, self._runtime.core)

    # -- answers -------------------------------------------------------------------------------------------------

    def answer(self, ticket: Ticket, response: Any) -> None:
        """Encode the answer of one ticket; it leaves when those before it have left. None: leaves nothing."""
        if self._is_closed:
            return
        try:
            data = b"" if response is None else self._encode(ticket, response)
        except Exception as error:
            self._unencodable(ticket, error)
            return
        if data is not None:
            self._answered(ticket, data)

    def _answered(self, ticket: Ticket, data: bytes) -> None:
        ticket.answer = data
        if ticket is self._parked:
            self._parked = None
        tickets = self._tickets
        while tickets and (ready := tickets[0].answer) is not None:
            tickets.popleft()
            self._emit(ready)

    def _encode(self, ticket: Ticket, response: Any) -> bytes | None:
        """The frame of an answer; None: it is long, and will be encoded a piece at a time."""
        route = ticket.route
        if route is None:  # an ApiVersions of a version that is not served
            body = codec.encode_response(response, ticket.version)
            return _SIZE_AND_CORRELATION.pack(4 + len(body), ticket.correlation_id) + body
        if isinstance(response, bytes):  # a commit that was recognised: encoded when it was first met
            return self._frame(ticket, route, response)
        if route.amplifies or (ticket.is_long and route.key in LONG):
            pieces = in_pieces(
                route.key, route.version, response, route.encode, route.shape, is_flexible=route.is_flexible
            )
            if pieces is not None:
                self._runtime.time_slices.add(self._encode_pieces(ticket, route, pieces))
                return None
        if route.shape is not None:
            response = route.shape(response, ticket.version)
        return self._frame(ticket, route, route.encode(response))

    def _encode_pieces(self, ticket: Ticket, route: Route, pieces: Iterator[bytes]) -> Iterator[None]:
        """Its ticket stays unanswered meanwhile, and so what comes behind it on this connection waits."""
        parts = []
        try:
            for piece in pieces:
                parts.append(piece)
                self.preparing_bytes += len(piece)
                self.count_unsent()
                yield
                if self._is_closed:
                    return
        except Exception as error:
            self._unencodable(ticket, error)
            return
        self.preparing_bytes = 0
        self.count_unsent()
        self._answered(ticket, self._frame(ticket, route, b"".join(parts)))

    def _frame(self, ticket: Ticket, route: Route, body: bytes) -> bytes:
        if ticket.received_s:
            route.latency.observe(monotonic() - ticket.received_s, route.sample_mask + 1)
        if route.answer_is_flexible:
            return _SIZE_AND_CORRELATION.pack(5 + len(body), ticket.correlation_id) + b"\0" + body
        return _SIZE_AND_CORRELATION.pack(4 + len(body), ticket.correlation_id) + body

    def _unencodable(self, ticket: Ticket, error: Exception) -> None:
        self._failed(f"the answer to {ApiKey(ticket.api_key).name} v{ticket.version} could not be encoded", error)

    def _failed(self, what: str, error: Exception) -> None:
        """Hang up: the client sees it and comes back, where it would otherwise wait for an answer for ever."""
        if not isinstance(error, EncodeError):  # that one says all; of a defect of ours one wants to know the place
            LOG.error("%s; please report this", what, exc_info=error)
        self.close(f"{what}: {error}")

    def _emit(self, data: bytes) -> None:
        self._out.append(data)
        self._out_bytes += len(data)
        if not self._is_dirty:
            self._is_dirty = True
            self._runtime.dirty.append(self)

    def flush(self) -> None:
        """End of an event: run what may run now, then write all answers at once."""
        if self._waiting and not self._is_running and not self._is_queued:
            if turn_ends := self._slices.begin():
                self._run_waiting(turn_ends)
            if self._waiting and self._may_run(self._waiting[0]):
                self._queue()
            self._count_held()
        self._is_dirty = False  # only now: the answers of what just ran are written below
        transport = self._transport
        if self._is_closed or transport is None:
            return
        out = self._out
        if out:
            transport.write(out[0] if len(out) == 1 else b"".join(out))
            out.clear()
            self._out_bytes = 0
            if self._is_draining:
                self.count_unsent()
        if not self._reading_paused or self._is_stopping or self._is_queued:
            return
        if self._waiting_bytes * 2 <= self._runtime.config.connection_max_buffered_bytes:
            self._reading_paused = False
            if self.frame_started_ms >= 0:
                self.frame_started_ms = self._runtime.now_ms()  # it was we who did not read on
            if not transport.is_closing():
                transport.resume_reading()

    # -- bounds --------------------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is read, handled or answered."""
        return self._is_closed

    @property
    def is_busy(self) -> bool:
        """Whether a request is being worked on: such a connection is never idle."""
        return bool(self._tickets)

    def overdue(self, now_ms: int) -> str:
        """Why this connection should be closed at `now_ms`; empty if it should not."""
        config = self._runtime.config
        if (
            not self._reading_paused
            and self.frame_started_ms >= 0
            and now_ms - self.frame_started_ms > config.connection_frame_timeout_ms
        ):
            limit_ms = config.connection_frame_timeout_ms
            return f"a request did not arrive whole within connection.frame.timeout.ms={limit_ms}"
        if now_ms - self.last_activity_ms > config.connections_max_idle_ms and not self.is_busy:
            return "idle"
        return ""

    def count_unsent(self) -> None:
        """Have the answers counted that are encoded and not sent; few that the socket will take are not."""
        unsent_bytes = self.preparing_bytes
        transport = self._transport
        if self._is_draining and transport is not None:
            waiting_bytes = transport.get_write_buffer_size()
            self._writing_paused = waiting_bytes > self._most_out_bytes
            unsent_bytes += waiting_bytes
        if unsent_bytes != self.unsent_bytes:
            if unsent_bytes < self.unsent_bytes:
                self.unsent_since_ms = self._runtime.now_ms()
            self._runtime.connections.set_unsent_bytes(self, unsent_bytes)

    def reads_nothing(self, now_ms: int) -> str:
        """Why this connection should be cut off at `now_ms`: its peer does not read its answers. Empty: it does."""
        if not self._is_draining:
            return ""
        self.count_unsent()
        limit_ms = self._runtime.config.connection_frame_timeout_ms
        if now_ms - self.unsent_since_ms <= limit_ms:
            return ""
        return f"it read none of {self.unsent_bytes} bytes of answers within connection.frame.timeout.ms={limit_ms}"

    def stop_reading(self) -> None:
        """Take no further request; answers in preparation still leave (shutdown)."""
        self._is_stopping = True
        self._waiting.clear()
        self._waiting_bytes = 0
        self._unread = b""
        self._pause_reading()

    def close(self, reason: str, *, quiet: bool = False) -> None:
        """Close after what is written has left. One log line, unless the end is an ordinary one."""
        transport = self._transport
        if transport is None or self._is_closed:
            return
        if not quiet:
            LOG.warning("connection closed peer=%s client=%s reason=%s", self.peer, self._client_id or "-", reason)
        if self._out:
            transport.write(b"".join(self._out))
        self._forget()
        transport.close()

    def abort(self, reason: str = "") -> None:
        """Close now, whatever has not been sent. One log line if there is a reason."""
        transport = self._transport
        if transport is not None:
            if reason:
                LOG.warning("connection cut off peer=%s client=%s reason=%s", self.peer, self._client_id or "-", reason)
            self._forget()
            self._is_draining = False
            self.count_unsent()
            transport.abort()

    def is_lingering(self, now_ms: int) -> bool:
        """Whether it was closed long ago, and the peer still has not read what was written before."""
        return self._is_closed and now_ms - self._closed_ms > self._runtime.config.connection_frame_timeout_ms

    def __repr__(self) -> str:
        parked = f" parked on {ApiKey(self._parked.api_key).name}" if self._parked is not None else ""
        return f"<Connection {self.peer} {self._client_id!r} {len(self._tickets)} unanswered{parked}>"
