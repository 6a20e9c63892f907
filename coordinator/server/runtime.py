"""The driver: turns sockets, time and the disk into the four events of the core, and executes the effects it returns.

Everything here runs on the event loop's thread, one event after another:
  a request   -> `Connection._run` -> a handler -> `core.handle`        -> `execute`
  time        -> `_tick` (one armed timer)      -> `core.advance_clock` -> `execute`
  disk done   -> `on_durable`                   -> `core.appended`      -> `execute`
  disk failed -> `on_failed`                    -> `core.append_failed` -> `execute`
Each event ends with `end_of_event`: connections write their answers, all at once, and the timer is armed again.

The runtime also has the log read in a thread, at start and again for a partition whose invariants broke, and closes
silent connections.
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING, Any, Final, Protocol

from coordinator.config.security import parse_super_users
from coordinator.core.clock import HOUSEKEEPING_S, LATE_S
from coordinator.core.events.model import IncidentKind, Rebalance
from coordinator.core.offsets.quarantine import QUARANTINE_ERROR
from coordinator.core.shard import PartitionState
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.core.topics.not_controller import refuse_change
from coordinator.metrics.group_figures import GroupMetrics
from coordinator.metrics.histogram import REBALANCE_BOUNDS_S, Histogram
from coordinator.processes.wall_clock import wall_offset_ms
from coordinator.security.principal import INTERNAL
from coordinator.security.quotas.enforcement import Quotas
from coordinator.server.connections import Connections
from coordinator.server.dispatch import Routes
from coordinator.server.event_topic import EventTopic
from coordinator.server.gc_policy import GcPolicy
from coordinator.server.inner_requests import inner_ticket
from coordinator.server.knocks import SASL
from coordinator.server.line_limit import RARE, rare
from coordinator.server.logins import Logins
from coordinator.server.loop_health import NOTABLE_S, LoopHealth
from coordinator.server.parking_clients import ParkingClients
from coordinator.server.time_slices import ANSWERS_TURN_S, TimeSlices
from coordinator.storage.machine import THIS_MACHINE, Machine
from coordinator.storage.thread_pool import ThreadPool
from coordinator.telemetry.exporter import OtlpExporter
from coordinator.telemetry.telemetry import Telemetry
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence

    from coordinator.config.config import Config
    from coordinator.core.clock import Clock
    from coordinator.core.cluster import Cluster, ClusterIdentity, ClusterNode
    from coordinator.core.coordinator import GroupCoordinator
    from coordinator.core.effects import ClientSoftware, Effects, Reply, Ticket
    from coordinator.core.events.model import AnyEvent, Incident
    from coordinator.core.offsets.consumer_records import IgnoredRecords
    from coordinator.core.offsets.quarantine import Quarantine
    from coordinator.core.repeated_heartbeat import RepeatedHeartbeat
    from coordinator.core.topics.effects import TopicEffects, VerifyTransaction
    from coordinator.core.waiting_request import WaitingRequest
    from coordinator.server.api.handler import Api
    from coordinator.server.connections import Session
    from coordinator.server.listener import ServedListener
    from coordinator.server.transactions import Transactions
    from coordinator.storage.documents.acls import AclStore
    from coordinator.storage.documents.quotas import QuotaStore
    from coordinator.storage.documents.users import UserStore
    from coordinator.storage.offsets_log import OffsetsLog
    from coordinator.storage.snapshot.keeper import Snapshots
    from coordinator.storage.snapshot.store_keeper import StoreSnapshots
    from coordinator.storage.topic_logs import TopicLogs

LOG = logging.getLogger("coordinator.runtime")

READ_FIRST_S: Final = 0.1  # a late timer waits so long, so that requests that have arrived are read first
MOST_RESOURCES: Final = 10_000  # with access rules, as many take up to 20 ms
NOTABLE_LOSS_MS: Final = 1000
LONGEST_REASON: Final = 500
REPLIES_AT_ONCE: Final = 256
REPLIES_PER_STEP: Final = 32
# Incidents that are worth a warning: from which number of them on, and the line. A static member may restart once.
WARNED_FROM: Final = {
    IncidentKind.REBALANCE_SLOW: 1,
    IncidentKind.STATIC_MEMBER_REPLACED: 2,
    IncidentKind.ASSIGNOR_FAILED: 1,
}
WARNING_LINES: Final = {
    IncidentKind.REBALANCE_SLOW: "rebalance waits %s",
    IncidentKind.STATIC_MEMBER_REPLACED: "fencing %s",
    IncidentKind.ASSIGNOR_FAILED: "assignor failed %s",
}
RECORDS_NAMED: Final = 100  # damaged ones of a partition, in the log of one load
RECORDS_AT_ONCE: Final = 250  # durable records of one partition that are applied in one event


class LeaseCheck(Protocol):
    """The lease of the partitions that a node has claimed in a shared store."""

    def holds(self) -> bool:
        """Return whether the node may answer now."""

    def check(self) -> None:
        """Suspend the node if the lease has ended."""

    def load_failed(self, partition: int) -> None:
        """Give a partition up that could not be loaded again, so that it is claimed and loaded anew."""


class Link(Protocol):
    """The link of a node to the controller of its cluster."""

    is_following: bool
    current_as_of_ms: int  # the catalogue here has all changes that the controller had made by then

    def want(self, topics: Iterable[str]) -> None:
        """Ask for topics that clients would have created."""

    def ask(self, request: Any, ticket: Ticket) -> None:
        """Have the controller answer a request."""


def rebalance_fields(rebalance: Rebalance) -> dict[str, Any]:
    """Return the fields of the log line of a rebalance. `ms` is null if it was cut short before all had joined."""
    trigger = rebalance.trigger
    return {
        "group": rebalance.group,
        "generation": rebalance.generation,
        "cause": trigger.cause.value,
        "member": trigger.member.member_id,
        "client": trigger.member.client_id,
        "host": trigger.member.host,
        "ms": rebalance.took_ms if rebalance.join_ms >= 0 else None,
    }


def incident_fields(incident: Incident) -> dict[str, Any]:
    """Return the fields of the log line of an incident. `ms` is how long it has lasted."""
    member = incident.member
    return {
        "group": incident.group,
        "cause": incident.what.value,
        "member": member.member_id,
        "client": member.client_id,
        "host": member.host,
        "other_client": incident.other.client_id,
        "other_host": incident.other.host,
        "times": incident.times,
        "ms": incident.waited_ms if incident.waited_ms >= 0 else max(incident.last_ms - incident.at_ms, 0),
    }


class Callbacks:
    """The callbacks of the parts of a node. The parts are built before the runtime, and call it through this object."""

    __slots__ = ("runtime",)
    runtime: Runtime  # set by `Runtime.__init__`; no part calls anything before the event loop runs again

    def on_durable(self, partition: int, high_watermark: int) -> None:
        self.runtime.on_durable(partition, high_watermark)

    def on_failed(self, partition: int, from_offset: int, error: ErrorCode) -> None:
        self.runtime.on_failed(partition, from_offset, error)

    def on_topic_effects(self, effects: TopicEffects) -> None:
        self.runtime.on_topic_effects(effects)

    def on_event(self, event: AnyEvent) -> None:
        self.runtime.on_event(event)

    def on_too_large(self, group_id: str, size: int) -> None:
        self.runtime.on_too_large(group_id, size)


class Runtime:
    """One node, running. Implements `coordinator.server.api.node.Node` for the handlers."""

    def __init__(
        self,
        config: Config,
        loop: asyncio.AbstractEventLoop,
        handlers: Mapping[int, Api],
        *,
        identity: ClusterIdentity,
        cluster: Cluster,
        clock: Clock,
        callbacks: Callbacks,
        core: GroupCoordinator,
        offsets_log: OffsetsLog,
        snapshots: Snapshots | StoreSnapshots,
        topic_logs: TopicLogs,
        link: Link | None = None,
        lease: LeaseCheck | None = None,
        machine: Machine = THIS_MACHINE,
    ) -> None:
        callbacks.runtime = self
        self.lease = lease  # None: the partitions are on this disk, and no other node can take them
        self.machine = machine
        self.monotonic = monotonic = machine.monotonic  # an attribute, because each request reads it
        self.config = config
        self.identity = identity
        self.cluster = cluster
        self.cluster_id = identity.cluster_id
        self.core = core
        self.offsets_log = offsets_log
        self.snapshots = snapshots
        self.topic_logs = topic_logs
        self.topics = topic_logs.topics
        self.topics.wall_offset_ms = core.wall_offset_ms
        self.topics.changes.must_wait = core.is_forgetting_many
        self.link = link  # None: the node is alone
        self.clock = clock
        self.now_ms = clock.now_ms  # the time of every event; an attribute, because each request reads it
        self.routes = Routes(handlers, _most_elements(config))
        self.connections = Connections(config)
        self.logins = Logins(
            config,
            handlers,
            loop,
            now_ms=clock.now_ms,
            wall_ms=self.wall_ms,
            call_later=self.call_later,
            end_of_event=self.end_of_event,
        )
        self.users: UserStore  # set by `Server`, which opens the documents
        self.quota_store: QuotaStore
        self.acls: AclStore | None = None  # None: there is no authorizer
        self.quotas = Quotas()
        self.transactions: Transactions | None = None  # None: transactions are not served; set by `Server`
        self.asks_nodes_for_logins = False  # nodes prove who they are; set by `Server`
        self.http_address = ""  # of the HTTP port that shows this node; empty: there is none
        self.dirty: list[Session] = []  # those with something to write at the end of the event
        self.parking_clients = ParkingClients(config)
        self.load_ms: dict[int, int] = {}
        self.events = 0  # so far, recognised heartbeats not counted
        self.health = LoopHealth(
            loop, config.loop_stall_warn_ms, lambda: self.events + self.heartbeats_by_template, machine.thread_time
        )
        self.gc_policy = GcPolicy(self.health.record, machine.collector)
        self.time_slices = TimeSlices(
            loop.call_soon, monotonic, self.end_of_event, self._turn_broke, turn_s=ANSWERS_TURN_S
        )
        # A queue of its own, so that long answers do not wait behind clients that pipeline many requests.
        self.request_slices = TimeSlices(loop.call_soon, monotonic, self.end_of_event, self._turn_broke)
        self.rebalance_times = Histogram(REBALANCE_BOUNDS_S)
        self._loop = loop
        self._touched = False  # the end of the event must check deadlines and faults of the core
        self._topics_touched = False  # deadlines of the topics may have changed as well
        self._is_working = False  # the core's long work is queued in `time_slices`
        self._is_executing = False  # executing effects of the topics: what they cause at once belongs to the same event
        self._is_stopped = False
        self._problems: dict[int, str | None] = {}  # by node: why it was refused last; None: it was accepted
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = -1
        self._timer_due = 0.0  # on the loop's clock
        self._has_read_first = False  # the timer was late, and has waited for READ_FIRST_S
        self._housekeeping: asyncio.TimerHandle | None = None
        self.group_metrics = GroupMetrics(core, topic_logs.topics, config.metrics_groups_max, topic_logs.read_times)
        self.shows_metrics = False  # the figures of groups are gathered
        self._reloads: set[asyncio.Task[None]] = set()
        self._loads: dict[int, object] = {}  # by partition: the newest load that has not ended
        self.event_topic = EventTopic(self, loop)
        endpoint = config.telemetry_otlp_endpoint
        self.telemetry = Telemetry(
            config,
            self.topics.catalogue,
            lambda: machine.new_uuid().bytes,
            ThreadPool(loop, 1, "telemetry"),
            OtlpExporter(endpoint) if endpoint else None,
            lambda told: core.last_polled(told, self.now_ms()),
        )

    # -- for the handlers -----------------------------------------------------------------------------------------

    def execute(self, effects: Effects, ticket: Ticket | None = None) -> None:
        """Send the replies and hand the appends to the offsets log. `ticket`: that of the request that caused them."""
        self._touched = True
        replies, appends = effects
        replies = self.if_lease_holds(replies)
        if len(replies) > REPLIES_AT_ONCE:
            self._answer_many(replies)
        else:
            for ticket, response in replies:
                ticket.session.answer(ticket, response)
        if appends:
            if ticket is not None:
                ticket.has_append = True
            wall_ms = self.now_ms() + self.core.wall_offset_ms
            for append in appends:
                self.offsets_log.append(append, wall_ms)

    def if_lease_holds(self, replies: tuple[Reply, ...]) -> tuple[Reply, ...]:
        """Return replies that may be sent. If they were found while the lease ended, they may be old.

        Then there are none, and the connections of those that wait for them are closed.
        """
        if self.lease is None or not replies or self.core.is_suspended or self.lease.holds():
            return replies
        self.lease.check()
        for ticket, _ in replies:
            ticket.session.close("the lease of this node ended while it answered")
        return ()

    def _answer_many(self, replies: tuple[Reply, ...]) -> None:
        """Send very many replies in steps; those to the members of a big group behind those to other clients.

        A commit may have become durable together with the record of the group.
        """
        keys = self.routes.rebalancing_keys
        self.time_slices.add(self._answer_all(sorted(replies, key=lambda reply: reply.ticket.api_key in keys)))

    def _answer_all(self, replies: Sequence[Reply]) -> Iterator[None]:
        """Send many replies in steps, for instance to the members of a big group. The order of replies is free."""
        for start in range(0, len(replies), REPLIES_PER_STEP):
            if start:
                yield
            for ticket, response in replies[start : start + REPLIES_PER_STEP]:
                ticket.session.answer(ticket, response)
            self.end_of_event()

    def execute_topics(self, effects: TopicEffects, ticket: Ticket | None = None) -> None:
        """Send the replies of the embedded topics, and have `TopicLogs` do the work on the disk."""
        self._touched = self._topics_touched = True
        if ticket is not None and effects.appends:
            ticket.has_append = True
        outer, self._is_executing = self._is_executing, True
        try:
            self.topic_logs.execute(effects)
        finally:
            self._is_executing = outer
        if effects.wanted and self.link is not None:
            self.link.want(effects.wanted)
        for verification in effects.verifications:
            self._verify(verification)
        for topic, partitions in effects.deleted:  # as GroupCoordinatorService.onPartitionsDeleted
            self.execute(self.core.topic_partitions_deleted(topic, partitions, self.now_ms()))

    def complete_fetch(self, ticket: Ticket) -> None:
        """Have a fetch that waits respond with the data there is."""
        self.execute_topics(self.topics.complete_fetch(ticket, self.now_ms()))

    def _verify(self, verification: VerifyTransaction) -> None:
        """Have the transaction coordinator verify partitions before records are appended to them."""
        assert self.transactions is not None, "no transactional batch is taken"
        self.transactions.verify(
            verification.request,
            lambda response: self.execute_topics(
                self.topics.transaction_verified(verification, response, self.now_ms()), verification.ticket
            ),
        )

    def inner_ticket(self, then: Callable[[Any], None]) -> Ticket:
        """Return a ticket whose answer is given to `then`, for what a part of the node asks of another."""
        return inner_ticket(then)

    def transactions_touched(self) -> None:
        """Have the end of the event look at the deadlines of the transactions."""
        self._touched = self._topics_touched = True

    def reply(self, ticket: Ticket, response: Any) -> None:
        """Answer one ticket now."""
        ticket.session.answer(ticket, response)

    def wall_ms(self) -> int:
        """Return the time of day, in ms since the epoch."""
        return self.now_ms() + self.core.wall_offset_ms

    def answer_later(self, ticket: Ticket, response: Any) -> None:
        """Answer one ticket, as an event of its own."""
        ticket.session.answer(ticket, response)
        self.end_of_event()

    def identified(self, ticket: Ticket, software: ClientSoftware) -> None:
        """Remember the software of the client for its later requests."""
        ticket.session.identified(software)

    @property
    def heartbeats_by_template(self) -> int:
        """The heartbeats so far that were recognised by their bytes and answered at once."""
        return sum(route.recognised for route in self.routes.values())

    @property
    def parked_heartbeats(self) -> int:
        """The heartbeats so far that were parked where they were read."""
        return sum(route.parked for route in self.routes.values())

    def park_heartbeat(self, template: RepeatedHeartbeat, ticket: Ticket, now_ms: int) -> WaitingRequest | None:
        """Park a repeated heartbeat. None: it must be handled in full. The event must be ended in both cases."""
        parked = self.core.park_heartbeat(template, ticket, now_ms)
        if parked is not None:
            self._touched = True
        return parked

    def release(self, parked: WaitingRequest, now_ms: int) -> None:
        """Answer a request that waits, before the bytes that its connection has received."""
        self.execute(self.core.release(parked, now_ms))

    def seen_by(self, ticket: Ticket) -> Callable[[ClusterNode], ClusterNode]:
        """Return the function from a node to its address for the client of a ticket."""
        listener: ServedListener = ticket.session.listener
        return listener.seen

    def take_turns(self, ticket: Ticket, steps: Iterator[Any]) -> None:
        """Take the steps that answer a ticket between other events, until its connection is closed."""
        self.time_slices.add(_until_closed(ticket.session, steps))

    def forget_templates(self) -> None:
        """Have no connection recognise a request by its bytes. Heartbeats that wait are answered in turns."""
        connections = list(self.connections.all())
        for connection in connections:
            connection.forget_templates()
        self.time_slices.add(_release_waiting(connections))
        self.end_of_event()

    def call_later(self, delay_ms: int, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Call back after some time, as an event of its own."""

        def event() -> None:
            callback()
            self.end_of_event()

        return self._loop.call_later(delay_ms / 1000, event)

    def disconnect(self, ticket: Ticket, reason: str) -> None:
        """Close the connection of a ticket."""
        ticket.session.close(reason)

    def ask_controller(self, request: Any, ticket: Ticket) -> None:
        """Have the controller answer a request that changes topics, users, access rules or quotas."""
        if self.link is not None:
            self.link.ask(request, ticket)
        else:
            ticket.session.answer(ticket, refuse_change(request, ErrorCode.NOT_CONTROLLER, "there is no controller"))

    def is_node(self, ticket: Ticket) -> bool:
        """Return whether the client of a ticket may be another node.

        It is a super user, as Kafka's brokers are, or with access rules one that they have let pass.
        """
        principal = ticket.session.principal
        return (
            not self.asks_nodes_for_logins
            or self.acls is not None
            or principal.type == INTERNAL
            or str(principal) in parse_super_users(self.config.super_users)
        )

    def node_checked(self, node_id: int, problem: str | None) -> None:
        """Log each change of the problem that makes this node refuse another one, once."""
        known = node_id if node_id in self.cluster.nodes else -1
        if self._problems.get(known) != problem:
            if problem is not None:
                LOG.error("node refused node=%d reason=%s", node_id, problem[:LONGEST_REASON], extra=RARE)
            elif known in self._problems:
                LOG.info("node accepted node=%d", node_id, extra=RARE)
            self._problems[known] = problem

    def take_token(self, ticket: Ticket, token: bytes) -> None:
        """Give a token of a client that logs in to its exchange."""
        self.logins.take_token(ticket, token)

    def refuse_login(self, ticket: Ticket, response: Any, reason: str) -> None:
        """Answer a login that failed, and close its connection, after the delay."""
        self.logins.fail(ticket, response, reason)

    def refused_sasl(self, ticket: Ticket) -> None:
        """Log that the client of a ticket asked for SASL."""
        session = ticket.session
        source = rare(SASL.kind, f"{session.address} {ticket.client_id}")
        reason = SASL.sentence
        LOG.warning(
            "sasl refused peer=%s client=%s reason=%s", session.peer, ticket.client_id or "-", reason, extra=source
        )

    # -- events --------------------------------------------------------------------------------------------------

    def on_durable(self, partition: int, high_watermark: int) -> None:
        """Apply that every record of a partition below `high_watermark` is durable."""
        now_ms = self.now_ms()
        started = self.monotonic()
        self.execute(self.core.appended(partition, high_watermark, now_ms, RECORDS_AT_ONCE))
        if self.core.is_behind(partition, high_watermark):
            self.time_slices.add(self._apply_rest(partition, high_watermark))
        self.execute_topics(self.topics.internal_appended(OFFSETS_TOPIC, partition, now_ms))
        self.end_of_event()
        self._notable("durable appends", started)

    def _apply_rest(self, partition: int, high_watermark: int) -> Iterator[None]:
        while self.core.is_behind(partition, high_watermark):
            self.execute(self.core.appended(partition, high_watermark, self.now_ms(), RECORDS_AT_ONCE))
            yield

    def _work(self) -> Iterator[None]:
        """Run the long work of the core until it has none left."""
        while self.core.has_work:
            self.execute(self.core.work(self.now_ms()))
            yield
        self._is_working = False

    def _turn_broke(self, error: Exception) -> None:
        self._is_working = False
        LOG.error("long work broke; please report this", exc_info=error)

    def on_failed(self, partition: int, from_offset: int, error: ErrorCode) -> None:
        """Apply that the offsets log has dropped every record of a partition from `from_offset` on."""
        self.execute(self.core.append_failed(partition, from_offset, error, self.now_ms()))
        self.end_of_event()

    def on_topic_effects(self, effects: TopicEffects) -> None:
        """Execute the outcome of work that the embedded topics asked for.

        A refused append is reported while the effects of its request are still being executed. It belongs to that
        event, which does not end here.
        """
        self.execute_topics(effects)
        if not self._is_executing:
            self.end_of_event()

    def on_event(self, event: AnyEvent) -> None:
        """Log an event of a group, and have it written to the topic of events."""
        self.event_topic.add(event)
        if isinstance(event, Rebalance):
            LOG.info("rebalance %s", event.text(), extra={"fields": rebalance_fields(event)})
            if event.join_ms >= 0:
                self.rebalance_times.observe(event.took_ms / 1000)
        elif event.times >= WARNED_FROM.get(event.what, math.inf):
            line = WARNING_LINES[event.what]
            LOG.warning(line, event.text(), extra={**rare(line, event.group), "fields": incident_fields(event)})

    def on_too_large(self, group_id: str, size: int) -> None:
        """Log an append that is larger than the log takes."""
        LOG.warning(
            "append refused group=%.255s: %d bytes of records are more than message.max.bytes=%d; its client hears "
            "UNKNOWN_SERVER_ERROR. Raise message.max.bytes, or have the group write less at once",
            group_id, size, self.config.message_max_bytes, extra=RARE,
        )  # fmt: skip

    def _tick(self) -> None:
        if self._loop.time() - self._timer_due > LATE_S and not self._has_read_first:
            self._has_read_first = True
            self._timer = self._loop.call_later(READ_FIRST_S, self._tick)
            return
        self._has_read_first = False
        self._timer = None
        self._timer_ms = -1
        if self.lease is not None:
            self.lease.check()
            if self.clock.is_halted:
                return  # `resume` arms the timer
        now_ms = self.now_ms()
        started = self.monotonic()
        self._advance_clocks(now_ms)
        self.end_of_event()
        self._notable("timers", started)

    def _advance_clocks(self, now_ms: int) -> None:
        self.execute(self.core.advance_clock(now_ms))
        self.execute_topics(self.topics.advance_clock(now_ms))
        if self.transactions is not None:
            self.transactions.advance_clock(now_ms)

    def skip(self, ms: int) -> None:
        """Go forward in time by `ms`, from deadline to deadline: each timer fires at the time for which it was set."""
        until_ms = self.now_ms() + ms
        while (left_ms := until_ms - self.now_ms()) > 0:
            due_ms = min(self._next_deadline_ms() or until_ms, until_ms)
            self.clock.skip(min(max(due_ms - self.now_ms(), 0), left_ms))
            self._advance_clocks(self.now_ms())
            self.end_of_event()
            if due_ms >= until_ms:
                break
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._arm()

    def _notable(self, what: str, started: float) -> None:
        """Record work that began at `started` as the cause of a stall, if it took long."""
        if (took := self.monotonic() - started) > NOTABLE_S:
            self.health.record(what, took)

    def flush_later(self, connection: Session) -> None:
        """Have a connection flushed at the end of this event."""
        self.dirty.append(connection)

    def end_of_event(self) -> None:
        """Write the answers, run requests that may now run, arm the timer."""
        self.events += 1
        dirty = self.dirty
        while dirty:
            connection = dirty.pop()
            try:
                connection.flush()
            except Exception:  # the other connections of this event must still get their answers
                LOG.exception("answers could not be sent connection=%r; please report this", connection)
                connection.abort()
        if self._touched:
            self._touched = False
            if self._timer is None or self._topics_touched or self.core.has_new_deadline:
                self._topics_touched = False
                self._arm()
            if self.core.has_work and not self._is_working:
                self._is_working = True
                self.time_slices.add(self._work())
            if self.core.is_troubled:
                self._repair()
            if self.topics.changes.is_held and not self.core.is_forgetting_many():
                self.execute_topics(self.topics.go_on_changing(self.now_ms()))
                self.end_of_event()

    def _repair(self) -> None:
        """Log the faults that the core contained, and load again the partitions that they broke."""
        for fault in self.core.take_faults():
            LOG.error("fault contained, its partition is read from the log again; please report this:\n%s", fault)
        for partition in self.core.take_broken_partitions():
            self._begin_reload(self._reload(partition))

    def _next_deadline_ms(self) -> int | None:
        deadline_ms = self.core.next_deadline_ms()
        others_ms = self.topics.next_deadline_ms()
        if deadline_ms is None or (others_ms is not None and others_ms < deadline_ms):
            deadline_ms = others_ms
        if self.transactions is not None:
            others_ms = self.transactions.next_deadline_ms()
            if deadline_ms is None or (others_ms is not None and others_ms < deadline_ms):
                deadline_ms = others_ms
        return deadline_ms

    def _arm(self) -> None:
        if self._is_stopped or self.clock.is_halted:
            return
        deadline_ms = self._next_deadline_ms()
        if deadline_ms is None or (self._timer is not None and self._timer_ms <= deadline_ms):
            return  # a timer that fires too early is harmless: it finds nothing due and is armed again
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = deadline_ms
        self._has_read_first = False
        self._timer_due = self.clock.loop_time(deadline_ms)
        self._timer = self._loop.call_at(self._timer_due, self._tick)

    # -- start, reload, housekeeping -----------------------------------------------------------------------------

    def start_housekeeping(self) -> None:
        """Begin the round of once a second: wall clock, silent connections, stalls of the loop."""
        self.gc_policy.start()
        self._refresh_wall_clock()
        self._touched = True
        self.end_of_event()
        self._schedule_housekeeping()

    def _schedule_housekeeping(self) -> float:
        due = self._loop.time() + HOUSEKEEPING_S
        self._housekeeping = self._loop.call_at(due, self._housekeep, due)
        lost_ms = self.clock.housekept(due)
        if lost_ms >= NOTABLE_LOSS_MS:
            LOG.warning(
                "the process did not run for_ms=%d; sessions and all other deadlines were moved by as much. Was it"
                " stopped or its machine paused, or has the machine too little processor time for it?",
                lost_ms,
            )
        return due

    def _housekeep(self, due: float) -> None:
        next_due = self._schedule_housekeeping()  # first, so that a fault below does not end the housekeeping
        self.health.second(due, next_due)
        self.gc_policy.second()
        self._refresh_wall_clock()
        started = self.monotonic()
        self.connections.sweep(self.now_ms())
        self._notable("sweep of the connections", started)
        if self.shows_metrics:
            now_ms = self.now_ms()
            steps = self.group_metrics.begin(now_ms, now_ms + self.core.wall_offset_ms)
            if steps is not None:
                self.time_slices.add(steps)
        self._touched = self._topics_touched = True  # arms the timer also after an event that broke before doing so
        self.end_of_event()

    def _refresh_wall_clock(self) -> None:
        """Follow adjustments of the system clock: the core computes wall time from its monotonic `now_ms`."""
        offset_ms = wall_offset_ms(self.now_ms, self.machine.wall_ms) + self.clock.skipped_ms
        self.core.wall_offset_ms = self.topics.wall_offset_ms = offset_ms

    async def load_all(self) -> None:
        """Load the offsets log into the core. Meanwhile requests are answered COORDINATOR_LOAD_IN_PROGRESS."""
        started = self.monotonic()
        for partition in self.offsets_log.logs:
            self.core.load_begin(partition)
        for partition in self.offsets_log.logs:
            await self._load(partition, use_snapshot=True)
        counters = self.snapshots.counters
        LOG.info(
            "loaded partitions_from_snapshot=%d partitions_from_log=%d records_read=%d groups=%d offsets=%d ms=%d",
            counters.from_snapshot,
            counters.from_log,
            counters.replayed_records,
            self.core.group_count,
            self.core.offset_count,
            int((self.monotonic() - started) * 1000),
        )

    async def _load(self, partition: int, *, use_snapshot: bool) -> None:
        try:
            await self.load(partition, use_snapshot=use_snapshot)
        except Exception as error:  # a fault in one log must not stop the other partitions
            LOG.exception(
                "loading failed partition=%d error=%s; its groups answer NOT_COORDINATOR; %s",
                partition,
                error,
                self.snapshots.remedy(partition),
            )
            self.core.load_failed(partition)
            if self.lease is not None:
                self.lease.load_failed(partition)

    async def load(self, partition: int, *, use_snapshot: bool = True) -> None:
        """Read a partition that `core.load_begin` has unloaded, and serve it. The newest call for it wins.

        An error of a call that a newer one has replaced is ignored. Raises LogError, LogStoreError.
        """
        started = self.monotonic()
        load = self._loads[partition] = object()
        shard, wall_ms = self.core.partition(partition), self.now_ms() + self.core.wall_offset_ms
        try:
            with self.gc_policy.loading():
                loaded_state, next_offset = await self.snapshots.load(
                    self._loop, shard, wall_ms, use_snapshot=use_snapshot
                )
        except Exception:
            if self._loads.get(partition) is not load:
                return
            del self._loads[partition]
            raise
        if self._loads.get(partition) is not load:
            return
        del self._loads[partition]
        self.load_ms[partition] = int((self.monotonic() - started) * 1000)
        self._report_quarantine(partition, loaded_state.quarantine)
        self._report_ignored(partition, loaded_state.ignored)
        self.execute(self.core.loaded(partition, loaded_state, next_offset, self.now_ms()))
        self.end_of_event()

    def give_up(self, partition: int) -> None:
        """Stop serving a partition, or loading it: another node may serve it from now on."""
        self._loads.pop(partition, None)
        self.execute(self.core.given_up(partition, self.now_ms()))
        self.end_of_event()

    def suspend(self) -> None:
        """Answer nothing but errors until `resume`. No deadline passes meanwhile."""
        self.execute(self.core.suspend(self.now_ms()))
        if self.transactions is not None:
            self.transactions.core.is_suspended = True
        self.clock.halt()
        self.forget_templates()

    def resume(self) -> None:
        """Answer again."""
        self.core.resume()
        if self.transactions is not None:
            self.transactions.core.is_suspended = False
        self.clock.go_on()
        self._touched = self._topics_touched = True
        self.end_of_event()

    def _report_quarantine(self, partition: int, quarantine: Quarantine) -> None:
        """Log the records that could not be used, once for each load; of very many, the first ones."""
        inspection = self.snapshots.inspection(partition)
        for record in quarantine.damaged[:RECORDS_NAMED]:
            if record.group_id is not None:
                LOG.error(
                    "group quarantined partition=%d group=%.255s offset=%d error=%s; its requests are answered %s, all "
                    "other groups are served: see %s",
                    partition, record.group_id, record.log_offset, record.reason, QUARANTINE_ERROR.name, inspection,
                )  # fmt: skip
            else:
                LOG.error(
                    "record set aside partition=%d offset=%d error=%s; its key names no group, all groups are served: "
                    "see %s",
                    partition, record.log_offset, record.reason, inspection,
                )  # fmt: skip
        if len(quarantine.damaged) > RECORDS_NAMED:
            LOG.error(
                "more records set aside or quarantined partition=%d count=%d: %s names all",
                partition, len(quarantine.damaged) - RECORDS_NAMED, inspection,
            )  # fmt: skip
        quarantine.damaged.clear()

    def _report_ignored(self, partition: int, ignored: Sequence[IgnoredRecords]) -> None:
        """Log the groups with records that were not used, once for each load; of very many, the first ones."""
        for record in ignored[:RECORDS_NAMED]:
            LOG.warning(
                "record not used partition=%d group=%.255s offset=%d reason=%s; no coordinator leaves that, please "
                "report it with what `coordinator log dump --group` says",
                partition, record.group_id, record.log_offset, record.reason,
            )  # fmt: skip

    async def _reload(self, partition: int) -> None:
        """Load a partition again that the core has unloaded, because an invariant was broken."""
        LOG.error("invariant broken partition=%d; its groups are loaded from the log again", partition)
        await self.offsets_log.drained(partition)
        if self.core.partition(partition).state is PartitionState.LOADING and partition not in self._loads:
            await self._load(partition, use_snapshot=False)

    async def load_again(self, partition: int, loading_s: float = 0.0) -> bool:
        """Begin to load a partition from the log, which takes `loading_s` at least.

        False: it is loading already, or this node does not own it.
        """
        await self.offsets_log.drained(partition)
        if self.core.partition(partition).state in (PartitionState.LOADING, PartitionState.NOT_OWNED):
            return False
        self.core.load_begin(partition)
        self.end_of_event()
        self._begin_reload(self._load_after(partition, loading_s))
        return True

    async def _load_after(self, partition: int, loading_s: float) -> None:
        await asyncio.sleep(loading_s)
        await self._load(partition, use_snapshot=False)

    def _begin_reload(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)

    def stop_timers(self) -> None:
        """Stop all timers for good, at shutdown. Events that still end arm none."""
        self._is_stopped = True
        self.clock.run_on()
        self.health.stop()
        self.gc_policy.stop()
        for handle in (self._timer, self._housekeeping):
            if handle is not None:
                handle.cancel()
        for task in self._reloads:
            task.cancel()


def _most_elements(config: Config) -> int:
    """Return how many elements a request may have: fewer if each may be a resource to which rights are needed."""
    most = config.request_max_elements
    return min(most, MOST_RESOURCES) if config.has_authorizer else most


def _release_waiting(connections: Iterable[Session]) -> Iterator[None]:
    for connection in connections:
        connection.release_waiting()
        yield


def _until_closed(connection: Session, steps: Iterator[Any]) -> Iterator[None]:
    """Take `steps` until the connection is closed."""
    for _ in steps:
        yield
        if connection.is_closed:
            return
