"""One client connection: frames in, answers out in request order, with a bound for everything that is queued.

A read is cut into frames. A frame that may run is decoded and handled inside `data_received`, without task or future;
its answer is written with others at the end of the read. Every request holds a `Slot` until all before it are answered,
because answers leave in the order of requests, as in Kafka (SocketServer). The next frame may run: always, if none is
unanswered; if all unanswered requests wait for the disk, when its API is pipelined; never behind a parked request,
except that a long poll of Fetch ends when another request is behind it.
Other frames wait, up to `connection.max.buffered.bytes`; then reading pauses.

Several requests in one read run until the time that all connections share in a round of the event loop is over
(`TimeSlices.begin`), then in turns of `STEP_S` with other connections. A request that cannot be handled, or an answer
that cannot be encoded, closes its own connection: no exception leaves this class. EOF does not touch a group.
"""

from __future__ import annotations

import asyncio
import logging
import math
import struct
import sys
from collections import deque
from typing import TYPE_CHECKING, Any, Final, cast

from coordinator.core.effects import UNKNOWN_SOFTWARE
from coordinator.security.principal import ANONYMOUS, INTERNAL
from coordinator.security.principal_mapping import NoMatchingRule
from coordinator.server.answers import Slot, encode, frame_start
from coordinator.server.api.api_versions import unsupported_version
from coordinator.server.api.topic_ids import IdsOfTopics
from coordinator.server.connection_login import ConnectionLogin
from coordinator.server.frame_templates import CommitFrame, HeartbeatFrame, RecentCommits
from coordinator.server.knocks import BY_API_KEY, HTTP, http_answer, knock_of, sentence_of
from coordinator.server.line_limit import rare
from coordinator.server.listener import UNPROTECTED
from coordinator.server.loop_health import NOTABLE_S
from coordinator.server.quota_meter import QuotaMeter
from protocol.api_keys import ApiKey
from protocol.errors import DecodeError, EncodeError, TooManyElementsError
from protocol.frames import FrameError, FrameReader
from protocol.headers import decode_request_header

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.core.effects import ClientSoftware
    from coordinator.core.waiting_request import WaitingRequest
    from coordinator.security.authenticator import Authenticator
    from coordinator.security.principal import Principal
    from coordinator.server.connections import Session
    from coordinator.server.dispatch import Route, Routes
    from coordinator.server.listener import ServedListener
    from coordinator.server.runtime import Runtime

LOG = logging.getLogger("coordinator.connection")

OFFSET_COMMIT: Final = int(ApiKey.OFFSET_COMMIT)
FETCH: Final = int(ApiKey.FETCH)
FETCH_KEY: Final = FETCH.to_bytes(2, "big")
STEP_S: Final = 0.0005  # how long requests of one connection run in a row while other connections have queued work
CHECKED_EVERY: Final = 16  # recognised heartbeats, of about 1 µs each, between two reads of the clock; a power of two
SMALL_READ: Final = 16_384  # bytes; cutting them into frames takes 0.1 ms at most
UNCOUNTED_UNSENT: Final = 65_536  # bytes of answers; unsent bytes are counted for a connection that has more
MOST_JOINED: Final = 1_048_576  # bytes of answers that are copied into one; more are given to the socket as they are
LONG_DECODING_S: Final = 0.001  # then the request is handled in another turn
LONG_FRAME: Final = 16_384  # bytes; a shorter frame holds too few elements to stall the loop
TURN_IS_OVER: Final = math.inf
_CORRELATION: Final = struct.Struct(">i")


class Connection(asyncio.Protocol):
    """The protocol of one accepted socket. Created by the server, driven by the event loop and the runtime."""

    # Slots, because with a thousand connections the look-ups of dicts miss the processor's caches.
    __slots__ = (
        "_client_id",
        "_client_raw",
        "_client_software",
        "_closed_ms",
        "_commit",
        "_commits",
        "_decoded",
        "_frames",
        "_handshake",
        "_heartbeat",
        "_host",
        "_is_closed",
        "_is_dirty",
        "_is_draining",
        "_is_muted",
        "_is_queued",
        "_is_running",
        "_is_stopping",
        "_largest_request",
        "_lease",
        "_login",
        "_meter",
        "_most_in_flight",
        "_most_out_bytes",
        "_mute_timer",
        "_out",
        "_out_bytes",
        "_parked",
        "_parked_heartbeat",
        "_parks_heartbeats",
        "_pipelined",
        "_quotas",
        "_reading_paused",
        "_routes",
        "_runtime",
        "_slices",
        "_slots",
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
        "listener",
        "monotonic",
        "peer",
        "preparing_bytes",
        "principal",
        "unsent_bytes",
        "unsent_since_ms",
    )

    def __init__(
        self, runtime: Runtime, listener: ServedListener = UNPROTECTED, handshake: Session | None = None
    ) -> None:
        """`handshake`: what has counted as a connection until the TLS handshake was done."""
        self._runtime = runtime
        self._handshake = handshake
        self.listener = listener
        self.principal = ANONYMOUS
        self.monotonic = runtime.monotonic  # seconds, to measure how long work takes
        self._lease = runtime.lease
        self._quotas = runtime.quotas
        self._meter = QuotaMeter(runtime.quotas)
        self._is_muted = False  # its client is over a quota: nothing is run for some time (KIP-219)
        self._mute_timer: asyncio.TimerHandle | None = None
        self._routes = runtime.routes
        self._pipelined = runtime.routes.pipelined
        self._largest_request = runtime.config.connection_request_max_bytes
        self._frames = FrameReader(runtime.config.socket_request_max_bytes)
        self._transport: asyncio.Transport | None = None
        self.peer = "?"  # address:port, for log lines
        self._host = "/?"  # in Java form, for the members of groups
        self.address = "?"  # the address alone, for max.connections.per.ip
        self.descriptor = -1  # of its socket
        self._client_raw: bytes | None = None  # the client id as it is in a header, length included
        self._client_id = ""
        self._client_software = UNKNOWN_SOFTWARE
        self._slots: deque[Slot] = deque()
        self._parked: Slot | None = None
        self._parked_heartbeat: WaitingRequest | None = None  # the last request; nothing is behind it
        self._parks_heartbeats = False  # its client is one that may wait for the answer
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._most_in_flight = runtime.config.connection_max_in_flight_requests
        self._most_out_bytes = runtime.config.connection_max_unsent_bytes
        self._is_dirty = False
        self._is_running = False
        self._slices = runtime.request_slices
        self._is_queued = False  # its work is done in turns with other connections; meanwhile it reads nothing
        self._unread = b""  # a read that has not been cut into frames yet
        self._is_closed = False  # nothing more is read, handled or answered; the transport may still be sending
        self._closed_ms = 0
        self._is_stopping = False
        self._reading_paused = False
        self._writing_paused = False
        self._commit: CommitFrame | None = None
        self._commits: RecentCommits | None = None  # made with the first commit
        self._decoded: tuple[bytes, int, Any] | None = None  # a frame that waits for a turn, end of its header, request
        self._heartbeat: HeartbeatFrame | None = None
        self.last_activity_ms = 0
        self.held_bytes = 0  # of requests that are incomplete or wait, as `Connections` has counted them
        self._is_draining = False  # the peer reads too slowly, and unsent bytes are counted
        self.unsent_bytes = 0  # of answers, as `Connections` has counted them
        self.preparing_bytes = 0  # of answers that are being encoded
        self.unsent_since_ms = 0  # when the peer last read some of them
        self.frame_started_ms = -1  # when a frame that is still incomplete began; -1: there is none
        self._login: ConnectionLogin | None = None  # None: its listener has no SASL
        if listener.mechanisms is not None:
            self._login = ConnectionLogin(runtime, self, listener.mechanisms)
            self.proceed_with_login()

    # -- asyncio.Protocol ----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # a stream socket has a transport of this kind
        peername = transport.get_extra_info("peername")
        if isinstance(peername, tuple) and len(peername) >= 2:
            self.address = str(peername[0])
            self.peer = f"{self.address}:{peername[1]}"
            self._host = sys.intern("/" + self.address)
        opened = transport.get_extra_info("socket")
        if opened is not None:
            self.descriptor = opened.fileno()
        self.last_activity_ms = self._runtime.now_ms()
        if self._handshake is not None:
            self._runtime.connections.withdraw(self._handshake)
            self._handshake = None
        refusal = self._runtime.connections.admit(self) or self._identify(transport)
        if refusal:
            self.close(refusal)
            return
        if self.listener.principal_of is None:  # with TLS it was asked before the handshake
            throttle_ms = self._quotas.connection_throttle_ms(self.address, self.last_activity_ms)
            if throttle_ms:
                self._close_late(throttle_ms)
                return
        self._transport.set_write_buffer_limits(high=min(UNCOUNTED_UNSENT, self._most_out_bytes))
        if self._login is not None:
            self._login.begin()

    def _close_late(self, throttle_ms: int) -> None:
        """Serve nothing: the address opens connections faster than its quota allows (ConnectionQuotas of Kafka)."""
        self._is_muted = True
        self._mute_timer = self._runtime.call_later(
            throttle_ms, lambda: self.close("its address is over connection_creation_rate", kind="connection rate")
        )

    def _identify(self, transport: asyncio.BaseTransport) -> str:
        """Take the principal of the client's certificate. Returns why the client is refused; empty if it is not."""
        if self.listener.principal_of is None:
            return ""
        try:
            self.principal = self.listener.principal_of(transport.get_extra_info("ssl_object").getpeercert(True))
        except (NoMatchingRule, ValueError) as error:  # ValueError: a certificate that is not DER
            return f"its certificate gives no principal: {error}"
        return ""

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._forget()
        self._login = None  # it refers to this connection, which would wait for the collector
        self.count_unsent()
        self._runtime.connections.remove(self)

    def eof_received(self) -> None:
        """Drop waiting requests and close after the written answers have left, as Kafka does."""
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
        self._slots.clear()
        if self._parked is not None and self._parked.held is not None:
            self._runtime.core.drop(self._parked.held)
        self._parked = None
        parked_heartbeat, self._parked_heartbeat = self._parked_heartbeat, None
        if parked_heartbeat is not None:
            self._runtime.core.drop(parked_heartbeat)
        self._heartbeat = None
        self._commit = None
        self._decoded = None
        if self._login is not None:
            self._login.cancel()
        if self._mute_timer is not None:
            self._mute_timer.cancel()
            self._mute_timer = None
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
        if self._lease is not None:
            self._lease.check()
        heartbeat = self._heartbeat
        transport = self._transport
        if (  # a repeated heartbeat, alone in its read and on its connection: neither cut nor queued
            heartbeat is not None
            and len(data) == heartbeat.read_size
            and not self._slots
            and not self._is_dirty
            and not self._is_queued
            and not self._is_draining
            and self.frame_started_ms < 0
            and transport is not None
        ):
            answer = heartbeat.answer_to_read(data, now_ms)
            if answer is not None:
                heartbeat.route.recognised += 1
                transport.write(answer)
                return
        elif self._slots:
            self._release(now_ms)
        if len(data) <= SMALL_READ and not self._is_queued:
            if (
                data[4:6] in self._routes.rebalancing
                and not self._slices.may_rebalance()
                and self.frame_started_ms < 0
                and not self._waiting
            ):
                self._unread = data  # not even cut: very many members may join at once
                self._queue()
                self._count_held()
                return
            self._receive(data, now_ms, 0.0)
        elif not self._is_queued and (turn_ends := self._slices.begin()):
            self._receive(data, now_ms, turn_ends)
            if self.monotonic() > turn_ends:
                self._slices.spent()
        else:
            self._unread += data
            self._pause_reading()  # or libuv reads the same socket up to 32 times in a row
            self._queue()
            self._count_held()
        runtime.end_of_event()

    def _release(self, now_ms: int) -> None:
        """Have the request that waits for news of its group answered: there are bytes behind it."""
        parked_heartbeat, parked = self._parked_heartbeat, self._parked
        if parked_heartbeat is not None:
            self._parked_heartbeat = None
            self._runtime.release(parked_heartbeat, now_ms)
        if parked is not None:
            parked.may_be_held = False
            if parked.held is not None:
                self._runtime.release(parked.held, now_ms)

    # -- requests ------------------------------------------------------------------------------------------------

    def _receive(self, data: bytes, now_ms: int, turn_ends: float) -> None:
        """Cut a read into frames and run what may run until `turn_ends`; 0: ask for a turn if there are several."""
        broken: FrameError | None = None
        try:
            frames = self._frames.feed(data)
        except FrameError as error:  # frames before the bad length are served, as Kafka does
            frames = error.frames
            broken = error
        if self._frames.has_partial_frame:
            if self.frame_started_ms < 0 or frames:
                self.frame_started_ms = now_ms
        else:
            self.frame_started_ms = -1
        self._is_running = True
        if len(frames) == 1 and not self._waiting and self._is_next(frames[0]):  # the most frequent case
            self._run(frames[0], now_ms, self.frame_started_ms < 0)
        elif frames:
            self._run_frames(frames, now_ms, turn_ends or self._slices.begin())
        self._is_running = False
        if self.frame_started_ms >= 0 or self._waiting or self.held_bytes:
            self._count_held()
        if broken is not None:
            self._close_broken(broken)

    def _close_broken(self, error: FrameError) -> None:
        """Close on a bad length. If these are the first bytes, they may tell what kind of client sent them."""
        knock = knock_of(error.start) if self._client_raw is None and not error.frames else None
        if knock is None:
            login = self._login
            reason = f"bad frame: {error}"
            if login is not None and not self._is_closed and self._parked is None and login.take_bad_frame(reason):
                self._is_stopping = True  # nothing more is read
                self._pause_reading()
            else:
                self.close(reason)
            return
        sentence = sentence_of(knock, self._runtime.http_address)
        if knock is HTTP and not self._is_closed:
            self._out.append(http_answer(sentence))
        self.close(sentence, kind=knock.kind)

    def _run_frames(self, frames: list[bytes], now_ms: int, turn_ends: float) -> None:
        """Run frames that may run until `turn_ends`; the others wait. 0: there is no time, and all wait."""
        ran = 0
        if turn_ends and not self._waiting:
            slots = self._slots
            room_bytes = self._most_out_bytes - self.unsent_bytes
            last = frames[-1] if self.frame_started_ms < 0 else None
            for frame in frames:
                if (slots or self._writing_paused or self._is_muted) and not self._is_next(frame):
                    break
                ran += 1
                ended_s = self._run(frame, now_ms, frame is last)
                if (ended_s or not ran % CHECKED_EVERY) and (
                    (ended_s or self.monotonic()) > turn_ends or self._out_bytes > room_bytes
                ):
                    self._slices.spent()
                    break
        if ran < len(frames):
            for frame in frames[ran:]:
                self._wait(frame)
            if self._waiting and self._may_run(self._waiting[0]):
                self._queue()

    def _run_waiting(self, turn_ends: float) -> None:
        """Run waiting frames until `turn_ends`."""
        waiting = self._waiting
        now_ms = self._runtime.now_ms()
        room_bytes = self._most_out_bytes - self.unsent_bytes
        ran = 0
        self._is_running = True
        while waiting and self._is_next(waiting[0]):
            frame = waiting.popleft()
            self._waiting_bytes -= len(frame)
            ran += 1
            ended_s = self._run(frame, now_ms, not waiting and not self._unread and self.frame_started_ms < 0)
            if (ended_s or not ran % CHECKED_EVERY) and (
                (ended_s or self.monotonic()) > turn_ends or self._out_bytes > room_bytes
            ):
                self._slices.spent()
                break
        self._is_running = False

    def _queue(self) -> None:
        """Do the remaining work in turns with other connections."""
        if not self._is_queued:
            self._is_queued = True
            self._slices.add(self._take_turns())

    def _take_turns(self) -> Iterator[None]:
        """Serve waiting frames, a step in each turn, until none may run."""
        while not self._is_closed:
            step_ends = self.monotonic() + STEP_S
            data, self._unread = self._unread, b""
            if data:
                self._receive(data, self._runtime.now_ms(), step_ends)
            else:
                self._run_waiting(step_ends)
                self._count_held()
            self.flush()  # before the next step, which may be in the same turn, so that answers do not pile up
            if not self._unread and not (self._waiting and self._may_run(self._waiting[0])):
                break
            yield
        self._is_queued = False
        self._runtime.flush_later(self)

    def _may_run(self, frame: bytes) -> bool:
        """Return True if a frame may run now, or as soon as the fetch in front of it has been ended.

        A fetch behind a fetch waits: they would end each other without a pause.
        """
        parked = self._parked
        if self._writing_paused or self._is_muted:
            return False
        if parked is not None:
            return parked.delayed_fetch is not None and not frame.startswith(FETCH_KEY)
        slots = self._slots
        return not slots or (
            len(slots) < self._most_in_flight and len(frame) > 1 and frame[0] == 0 and frame[1] in self._pipelined
        )

    def _is_next(self, frame: bytes) -> bool:
        """Return True if a frame may run now. A fetch in front of it that waits for records is ended first."""
        if not self._may_run(frame):
            return False
        if self._parked is None:
            return True
        try:
            self._runtime.complete_fetch(self._parked)
        except Exception as error:
            self._failed("a fetch could not be ended", error)
        return not self._is_closed and self._may_run(frame)  # not while the fetch reads from disk

    def _wait(self, frame: bytes) -> None:
        if self._is_closed:
            return
        self._waiting.append(frame)
        self._waiting_bytes += len(frame)
        if self._parked is not None and not frame.startswith(FETCH_KEY):
            self._parked.is_followed = True
        if (
            self._waiting_bytes > self._runtime.config.connection_max_buffered_bytes
            or len(self._waiting) > self._most_in_flight
        ):
            self._pause_reading()

    def _pause_reading(self) -> None:
        if not self._reading_paused:
            self._reading_paused = True
            if self._transport is not None:
                self._transport.pause_reading()

    def _run(self, frame: bytes, now_ms: int, is_last: bool) -> float:
        """Handle one frame: when this returns, its answer is in `_out`, or its slot in `_slots`.

        `is_last`: no byte has arrived behind it, so that it may be parked.

        Returns the time on the clock of `monotonic`; 0 if the work was too short to read the clock; TURN_IS_OVER if the
        frame was only decoded, and will be handled before the frames behind it.
        """
        if self._is_closed:
            return 0.0
        if self._lease is not None:
            self._lease.check()
        size = len(frame)
        heartbeat = self._heartbeat
        if heartbeat is not None and size == heartbeat.size:
            if is_last and heartbeat.may_be_parked:
                if heartbeat.is_repeated_by(frame) and self._park(
                    heartbeat, self._slot_of(frame, heartbeat.route), now_ms
                ):
                    return 0.0
            elif (answer := heartbeat.answer(frame, now_ms)) is not None:
                heartbeat.route.recognised += 1
                if self._slots:
                    slot = Slot(self, heartbeat.route.key)
                    slot.answer = answer
                    self._slots.append(slot)
                else:
                    self._emit(answer)
                return 0.0
        try:
            route = self._routes[frame[:4]]
        except KeyError:
            self._run_unknown(frame)
            return 0.0
        if size > self._largest_request and route.is_size_limited:
            limit = self._largest_request
            self.close(f"{route.name} of {size} bytes is over connection.request.max.bytes={limit}")
            return 0.0
        commit = self._commit
        if commit is not None and size == commit.size:
            request: Any = commit.again(frame)
            if request is not None:
                return self._handle(frame, 0, request, route, now_ms)
        if route.rebalances and not self._is_queued and not self._slices.may_rebalance():
            self._waiting.appendleft(frame)
            self._waiting_bytes += size
            self._queue()
            return TURN_IS_OVER
        if size > LONG_FRAME:
            return self._run_long(frame, route, now_ms)
        try:
            body = self._read_header(frame, route)
            request = route.decode(frame, body, route.max_elements)
        except Exception as error:
            self._undecodable(frame, route, error)
            return 0.0
        if self._parks_heartbeats and is_last and route.heartbeat_template is not None and not route.has_layer:
            slot = self._slot_of(frame, route)
            heartbeat = self._remember_heartbeat(frame, request, slot, route, now_ms)
            if heartbeat is not None and heartbeat.may_be_parked and self._park(heartbeat, slot, now_ms):
                return 0.0
        return self._handle(frame, body, request, route, now_ms, is_last)

    def _slot_of(self, frame: bytes, route: Route) -> Slot:
        return Slot(
            self,
            route.key,
            route.version,
            _CORRELATION.unpack_from(frame, 4)[0],
            self._client_id,
            self._host,
            self._client_software,
            route,
        )

    def _park(self, heartbeat: HeartbeatFrame, slot: Slot, now_ms: int) -> bool:
        """Keep a repeated heartbeat for a later answer. False: it must be handled in full."""
        if self._login is not None and not self._login.may_hold(now_ms):
            return False
        parked = self._runtime.park_heartbeat(heartbeat.template, slot, now_ms)
        if parked is None:
            return False
        heartbeat.route.parked += 1
        self._parked_heartbeat = parked
        self._slots.append(slot)
        return True

    def _run_long(self, frame: bytes, route: Route, now_ms: int) -> float:
        """Do as `_run` for a long frame. If its decoding takes more than a step, it is handled in a turn of its own."""
        if self._decoded is not None and self._decoded[0] is frame:
            _, body, request = self._decoded
            self._decoded = None
            return self._handle(frame, body, request, route, now_ms)
        started_s = self.monotonic()
        try:
            body = self._read_header(frame, route)
            request = route.decode(frame, body, route.max_elements)
        except Exception as error:
            self._undecodable(frame, route, error)
            return 0.0
        if (took_s := self.monotonic() - started_s) > LONG_DECODING_S:
            self._runtime.health.record(f"decoding of {route.name}", took_s)
            self._decoded = frame, body, request
            self._waiting.appendleft(frame)
            self._waiting_bytes += len(frame)
            self._queue()
            return TURN_IS_OVER
        return self._handle(frame, body, request, route, now_ms)

    def _undecodable(self, frame: bytes, route: Route, error: Exception) -> None:
        if isinstance(error, TooManyElementsError):
            what = f"{route.name} v{route.version} of {len(frame)} bytes"
            self.close(f"{what} has over {route.max_elements} elements: send several smaller ones")
        elif isinstance(error, DecodeError):
            self.close(f"malformed {route.name} v{route.version}: {error}")
        else:
            self._failed(f"{route.name} v{route.version} of {len(frame)} bytes could not be read", error)

    def _handle(self, frame: bytes, body: int, request: Any, route: Route, now_ms: int, is_last: bool = False) -> float:
        """Give a request to its handler; returns the time after it. `body`: end of the header, 0 if not decoded."""
        slot = self._slot_of(frame, route)
        if len(frame) > LONG_FRAME:
            slot.is_long = True
        if is_last and route.may_be_held:
            slot.may_be_held = self._parks_heartbeats and (self._login is None or self._login.may_hold(now_ms))
        runtime = self._runtime
        started_s = self.monotonic()
        if not route.requests & route.sample_mask:
            slot.received_s = started_s
        route.requests += 1
        self._slots.append(slot)
        if self._quotas.is_active and route.has_quota:
            self._charge(frame, request, route, slot, now_ms)
        try:
            route.handle(runtime, request, slot, now_ms)
        except Exception as error:
            self._failed(f"{route.name} v{route.version} could not be handled", error)
            return 0.0
        ended_s = self.monotonic()
        if ended_s - started_s > NOTABLE_S:
            runtime.health.record(route.name, ended_s - started_s)
        if self._quotas.is_active:
            self._meter.took(ended_s - started_s)
        if route.rebalances and not self._is_queued:
            self._slices.rebalanced(ended_s - started_s)
        if self._slots and self._slots[-1] is slot and slot.answer is None:
            if slot.has_append and route.waits_for_log:  # only durability is missing
                slot.may_be_held = False  # requests behind it may run
                if route.key == OFFSET_COMMIT:
                    self._remember_commit(frame, body, request, slot, route)
                return ended_s
            self._parked = slot
            slot.is_followed = bool(self._waiting) and not self._waiting[0].startswith(FETCH_KEY)
            if slot.held is None:
                return ended_s
            slot.received_s = 0.0  # what its client waits for is news, not the server
        if route.heartbeat_template is not None and not route.is_intercepted and slot.amend is None:
            self._remember_heartbeat(frame, request, slot, route, now_ms)
        return ended_s

    def _remember_heartbeat(
        self, frame: bytes, request: Any, slot: Slot, route: Route, now_ms: int
    ) -> HeartbeatFrame | None:
        """Make a template of a Heartbeat, if it can be recognised when it is repeated."""
        runtime = self._runtime
        most = runtime.config.connection_max_template_bytes
        self._heartbeat = (
            HeartbeatFrame.of(frame, request, route, runtime.core, slot, now_ms, may_be_parked=self._parks_heartbeats)
            if len(frame) <= most and not self._quotas.is_active
            else None
        )
        return self._heartbeat

    def _read_header(self, frame: bytes, route: Route) -> int:
        """Return the position of the body. The client id rarely changes on a connection, so its bytes are compared."""
        raw = self._client_raw
        if raw is None or not frame.startswith(raw, 8):
            header, body = decode_request_header(frame)
            most = self._runtime.config.client_id_max_chars
            self._client_id = sys.intern((header.client_id or "")[:most])
            length = max(int.from_bytes(frame[8:10], "big", signed=True), 0)
            self._client_raw = frame[8 : 10 + length] if length <= most else None
            self._parks_heartbeats = self._runtime.parking_clients.include(self._client_software.name, self._client_id)
            return body
        body = 8 + len(raw)
        if not route.is_flexible:
            return body
        if body < len(frame) and frame[body] == 0:
            return body + 1
        return decode_request_header(frame)[1]

    def _run_unknown(self, frame: bytes) -> None:
        """Close on a key or version that is not served. An unknown version of ApiVersions gets the range as answer."""
        if self._login is not None and self._login.take_unlisted(frame):
            return
        if len(frame) < 8:
            self.close(f"request of {len(frame)} bytes has no header")
            return
        key = int.from_bytes(frame[:2], "big", signed=True)
        version = int.from_bytes(frame[2:4], "big", signed=True)
        knock = BY_API_KEY.get(key)
        if knock is not None:
            length = int.from_bytes(frame[8:10], "big", signed=True)
            client_id = frame[10 : 10 + max(length, 0)].decode("utf-8", "replace")
            self._client_id = client_id[: self._runtime.config.client_id_max_chars]
            self.close(knock.sentence, kind=knock.kind)
            return
        if key != ApiKey.API_VERSIONS:
            self.close(f"API key {key} version {version} is not served (see ApiVersions for the ranges)")
            return
        slot = Slot(self, key, 0, _CORRELATION.unpack_from(frame, 4)[0])
        self._slots.append(slot)
        self.answer(slot, unsupported_version())

    def _remember_commit(self, frame: bytes, body: int, request: Any, slot: Slot, route: Route) -> None:
        """Make a template of a commit that was accepted, if it can be recognised when it is repeated, and if that pays.

        `body` is 0 if it was recognised.
        """
        commits = self._commits
        if commits is not None and not body:
            commits.used()
            return
        if route.is_intercepted or self._quotas.is_active:
            return
        if slot.amend is not None and not isinstance(slot.amend, IdsOfTopics):
            return
        if commits is None:
            config = self._runtime.config
            commits = self._commits = RecentCommits(
                config.connection_max_template_bytes, config.connection_max_unused_templates
            )
        if commits.is_worth_a_template(len(frame)):
            self._commit = CommitFrame.of(frame, body, request, route, self._runtime.core)

    def forget_templates(self) -> None:
        """Recognise no request by its bytes any more: from now on all of them are looked at."""
        self._heartbeat = self._commit = None

    def release_waiting(self) -> None:
        """Answer the request that waits for news of its group."""
        if not self.is_closed:
            self._release(self._runtime.now_ms())

    def identified(self, software: ClientSoftware) -> None:
        """Remember the client's software for the requests to come."""
        self._client_software = software
        self._heartbeat = None  # whether it waits depends on the software
        self._parks_heartbeats = self._runtime.parking_clients.include(software.name, self._client_id)

    # -- quotas --------------------------------------------------------------------------------------------------

    def _charge(self, frame: bytes, request: Any, route: Route, slot: Slot, now_ms: int) -> None:
        """Count a request. Over a quota its answer says for how long nothing more is read."""
        if self.principal.type == INTERNAL:
            return
        throttle_ms = self._meter.charge(self.principal.name, self._client_id, frame, request, route, now_ms)
        if throttle_ms:
            slot.throttle_ms = throttle_ms
            self._mute(throttle_ms)

    def _mute(self, for_ms: int) -> None:
        """Read nothing for some time; answers leave."""
        self._is_muted = True
        self._pause_reading()
        self._mute_timer = self._runtime.call_later(for_ms, self._unmute)

    def _unmute(self) -> None:
        self._mute_timer = None
        self._is_muted = False
        if not self._is_closed:
            self._runtime.flush_later(self)

    # -- logins --------------------------------------------------------------------------------------------------

    @property
    def authenticator(self) -> Authenticator | None:
        """The state of the login; None if the listener has no SASL."""
        return None if self._login is None else self._login.authenticator

    def proceed_with_login(self) -> None:
        """Take from now on what the client has to send next, to log in."""
        if self._login is not None:
            self._frames.max_size = self._runtime.config.sasl_server_max_receive_size
            self.take_routes(self._login.routes)

    def logged_in(self, principal: Principal, lifetime_ms: int) -> None:
        """Serve the client as `principal`, for so many ms; -1: as long as the connection lasts."""
        if self._login is not None:
            self.principal = principal
            self._frames.max_size = self._runtime.config.socket_request_max_bytes
            self._routes = self._runtime.routes
            self._login.complete(lifetime_ms)

    def await_login(self, timer: asyncio.TimerHandle) -> None:
        """Have `timer` continue or end a login. It is cancelled if the client hangs up."""
        if self._login is not None:
            self._login.await_timer(timer)

    def has_routes(self, routes: Routes) -> bool:
        """Return True if the requests of this table are the ones that are served."""
        return self._routes is routes

    def take_routes(self, routes: Routes) -> None:
        """Serve the requests of this table from now on."""
        self._routes = routes
        self.forget_templates()

    def park(self, slot: Slot) -> None:
        """Hold the place of a frame that is answered later; nothing behind it is run before."""
        self._slots.append(slot)
        self._parked = slot

    # -- answers -------------------------------------------------------------------------------------------------

    def answer(self, slot: Slot, response: Any) -> None:
        """Encode the answer of one request; it leaves when those before it have left. None: no bytes are sent."""
        if self._is_closed:
            return
        try:
            data = b"" if response is None else encode(slot, response)
        except Exception as error:
            self._unencodable(slot, error)
            return
        if isinstance(data, bytes):
            self._answered(slot, data)
        else:
            self._runtime.time_slices.add(self._encode_pieces(slot, data))

    def _answered(self, slot: Slot, data: bytes | list[bytes]) -> None:
        slot.answer = data
        if slot.api_key == FETCH and self._quotas.is_active:
            self._meter.fetched(data)
        if slot is self._parked:
            self._parked = None
        slots = self._slots
        while slots and (ready := slots[0].answer) is not None:
            slots.popleft()
            self._emit(ready)

    def _encode_pieces(self, slot: Slot, pieces: Iterator[bytes]) -> Iterator[None]:
        """Encode a long answer in steps. Its slot stays unanswered meanwhile, so requests behind it wait."""
        parts = [b""]  # the start of the frame, whose size is known at the end
        size = 0
        try:
            for piece in pieces:
                parts.append(piece)
                size += len(piece)
                self.preparing_bytes += len(piece)
                self.count_unsent()
                yield
                if self._is_closed:
                    return
        except Exception as error:
            self._unencodable(slot, error)
            return
        self.preparing_bytes = 0
        self.count_unsent()
        if slot.route is not None:
            parts[0] = frame_start(slot, slot.route, size)
            self._answered(slot, parts)  # not joined: copying 30 MB takes as many ms

    def _unencodable(self, slot: Slot, error: Exception) -> None:
        self._failed(f"the answer to {ApiKey(slot.api_key).name} v{slot.version} could not be encoded", error)

    def _failed(self, what: str, error: Exception) -> None:
        """Close the connection: the client reconnects, instead of waiting for an answer that never comes."""
        if not isinstance(error, EncodeError):  # an EncodeError says all; other defects need a traceback
            LOG.error("%s; please report this", what, exc_info=error)
        self.close(f"{what}: {error}")

    def _emit(self, data: bytes | list[bytes]) -> None:
        if isinstance(data, bytes):
            self._out.append(data)
            self._out_bytes += len(data)
        else:
            self._out += data
            self._out_bytes += sum(map(len, data))
        if not self._is_dirty:
            self._is_dirty = True
            self._runtime.dirty.append(self)

    def flush(self) -> None:
        """End an event: run requests that may run now, then write all answers at once."""
        if self._waiting and not self._is_running and not self._is_queued:
            if turn_ends := self._slices.begin():
                self._run_waiting(turn_ends)
            if self._waiting and self._may_run(self._waiting[0]):
                self._queue()
            self._count_held()
        self._is_dirty = False  # only now: the answers of the requests that just ran are written below
        transport = self._transport
        if self._is_closed or transport is None:
            return
        out = self._out
        if out:
            if self._out_bytes > MOST_JOINED:
                transport.writelines(out)
            else:
                transport.write(out[0] if len(out) == 1 else b"".join(out))
            out.clear()
            self._out_bytes = 0
            if self._is_draining:
                self.count_unsent()
        if not self._reading_paused or self._is_stopping or self._is_queued or self._is_muted:
            return
        if self._waiting_bytes * 2 <= self._runtime.config.connection_max_buffered_bytes:
            self._reading_paused = False
            if self.frame_started_ms >= 0:
                self.frame_started_ms = self._runtime.now_ms()  # it was paused here, not by the peer
            if not transport.is_closing():
                transport.resume_reading()

    # -- bounds --------------------------------------------------------------------------------------------------

    @property
    def is_stranger(self) -> bool:
        """True while its client has to log in first."""
        return self._login is not None and self._login.authenticator.principal is None

    @property
    def client_id(self) -> str:
        """The client id of the last request; empty before the first."""
        return self._client_id

    @property
    def local_port(self) -> int:
        """The port that the client has connected to; 0 when the connection is closed."""
        transport = self._transport
        name = None if transport is None else transport.get_extra_info("sockname")
        return 0 if name is None else int(name[1])

    @property
    def is_closed(self) -> bool:
        """True when nothing more is read, handled or answered."""
        return self._is_closed

    @property
    def is_busy(self) -> bool:
        """True while a request is unanswered: such a connection is never idle."""
        return bool(self._slots)

    def overdue(self, now_ms: int) -> str:
        """Return why this connection should be closed at `now_ms`; empty if it should not."""
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
        """Have `Connections` count the unsent answers. A few bytes that the socket will take are not counted."""
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
        """Return why this connection should be aborted at `now_ms`: its peer does not read. Empty if it reads."""
        if not self._is_draining:
            return ""
        self.count_unsent()
        limit_ms = self._runtime.config.connection_frame_timeout_ms
        if now_ms - self.unsent_since_ms <= limit_ms:
            return ""
        return f"it read none of {self.unsent_bytes} bytes of answers within connection.frame.timeout.ms={limit_ms}"

    def stop_reading(self) -> None:
        """Take no further request, at shutdown; answers in preparation still leave."""
        self._is_stopping = True
        self._waiting.clear()
        self._waiting_bytes = 0
        self._unread = b""
        self._pause_reading()

    def close(self, reason: str, *, quiet: bool = False, kind: str = "") -> None:
        """Close after the written answers have left. Logs one line, unless the end is an ordinary one.

        `kind`: the line is of this kind, which each client causes once a minute at most.
        """
        transport = self._transport
        if transport is None or self._is_closed:
            return
        if not quiet:
            extra = rare(kind, f"{self.address} {self._client_id}") if kind else None
            LOG.warning(
                "connection closed peer=%s client=%s reason=%s", self.peer, self._client_id or "-", reason, extra=extra
            )
        if self._out:
            transport.write(b"".join(self._out))
        self._forget()
        transport.close()

    def abort(self, reason: str = "") -> None:
        """Close now and drop unsent answers. Logs one line if there is a reason."""
        transport = self._transport
        if transport is not None:
            if reason:
                LOG.warning("connection cut off peer=%s client=%s reason=%s", self.peer, self._client_id or "-", reason)
            self._forget()
            self._is_draining = False
            self.count_unsent()
            transport.abort()

    def is_lingering(self, now_ms: int) -> bool:
        """Return True if it was closed long ago and the peer still has not read the last answers."""
        return self._is_closed and now_ms - self._closed_ms > self._runtime.config.connection_frame_timeout_ms

    def __repr__(self) -> str:
        parked = f" parked on {ApiKey(self._parked.api_key).name}" if self._parked is not None else ""
        return f"<Connection {self.peer} {self._client_id!r} {len(self._slots)} unanswered{parked}>"
