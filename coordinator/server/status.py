"""The state of the daemon as figures for /readyz and /metrics.

Names follow Kafka's metrics by meaning, in Prometheus' spelling: Kafka's `NumGroupsStable` is
`kafka_coordinator_group_num_groups{state="Stable"}` (GroupCoordinatorMetrics). The functions here run on the HTTP
thread. They read numbers that the event loop maintains, and iterate over nothing that the loop may be changing.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from coordinator.compaction.daemon.metrics import samples as compaction_samples
from coordinator.metrics.group_samples import samples as group_samples
from coordinator.metrics.health import NO_LABELS, HistogramSample, Sample, ServerStatus
from coordinator.processes.wall_clock import wall_ms
from coordinator.telemetry.figures import samples as client_samples
from coordinator.version import build

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from coordinator.compaction.daemon.compactor import Compactor
    from coordinator.membership.membership import Membership
    from coordinator.metrics.histogram import Histogram
    from coordinator.server.runtime import Runtime
    from coordinator.storage.log.flusher import FlusherStats

TRANSACTION: Final = "kafka_coordinator_transaction_"
GROUP: Final = "kafka_coordinator_group_"
SERVER: Final = "kafka_server_"
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def status_of(
    runtime: Runtime | None,
    compactor: Compactor | None,
    membership: Membership | None = None,
    *,
    ready: bool,
    stopping: bool,
    started_at: float,
) -> ServerStatus:
    """Return the state for probes and metrics; `started_at` is in seconds since the epoch."""
    if runtime is None:
        return ServerStatus(False, "starting", (_is_ready(False),))
    reason = "stopping" if stopping else "ready" if ready else "loading the offsets log"
    if runtime.core.is_suspended:
        reason = "the lease of this node has ended: log.engine cannot be reached"
    is_ready = reason == "ready"
    return ServerStatus(is_ready, reason, (_is_ready(is_ready), *_samples(runtime, compactor, membership, started_at)))


def _is_ready(is_ready: bool) -> Sample:
    return _gauge("coordinator_ready", "1 while groups are served; 0 at start and while it stops.", int(is_ready))


def _gauge(name: str, help: str, value: float, labels: Mapping[str, str] = NO_LABELS) -> Sample:
    return _sample("gauge", name, help, value, labels)


def _counter(name: str, help: str, value: float, labels: Mapping[str, str] = NO_LABELS) -> Sample:
    return _sample("counter", name, help, value, labels)


def _sample(kind: Literal["gauge", "counter"], name: str, help: str, value: float, labels: Mapping[str, str]) -> Sample:
    return Sample(name=name, help=help, kind=kind, value=value, labels=labels)


def _histogram(name: str, help: str, values: Histogram, labels: Mapping[str, str] = NO_LABELS) -> HistogramSample:
    return HistogramSample(name, help, values.buckets(), values.sum, labels)


def _samples(
    runtime: Runtime, compactor: Compactor | None, membership: Membership | None, started_at: float
) -> Iterator[Sample | HistogramSample]:
    yield from _groups(runtime)
    yield from group_samples(runtime.group_metrics.shown)
    yield from _events(runtime)
    yield from _transactions(runtime)
    yield from _telemetry(runtime)
    yield from _requests(runtime)
    logins = runtime.logins
    yield _counter("coordinator_successful_authentication_total", "Logins that succeeded (SASL).", logins.succeeded)
    yield _counter("coordinator_failed_authentication_total", "Logins that failed (SASL).", logins.failed)
    yield from _loop(runtime)
    yield from _cluster(runtime)
    if membership is not None:
        yield from _membership(runtime, membership)
    yield from _disk("offsets", runtime.offsets_log.stats, runtime.offsets_log.queued_bytes)
    yield from _disk("topics", runtime.topic_logs.flusher.stats, runtime.topic_logs.flusher.queued_bytes)
    if compactor is not None:
        yield from compaction_samples(compactor.logs(), compactor.counters, compactor.lags, wall_ms())
    yield _gauge("coordinator_build_info", "Always 1; the label says which build runs.", 1, {"build": build()})
    yield _gauge("process_start_time_seconds", "When the daemon started, since the epoch.", started_at)
    yield _counter("process_cpu_seconds_total", "CPU time of the daemon so far.", time.process_time())
    yield _gauge("process_resident_memory_bytes", "Memory of the daemon in RAM.", _resident_bytes())


def _groups(runtime: Runtime) -> Iterator[Sample | HistogramSample]:
    core = runtime.core
    for state, count in list(core.groups_by_state.items()):
        yield _gauge(GROUP + "num_groups", "Groups by state.", count, {"state": state.value})
    for consumer_state, count in core.consumer_groups_by_state().items():
        yield _gauge(
            GROUP + "num_consumer_groups",
            "Groups of the consumer protocol (KIP-848) by state.",
            count,
            {"state": consumer_state},
        )
    yield _gauge(GROUP + "num_offsets", "Committed offsets over all groups.", core.offset_count)
    yield _gauge(GROUP + "num_members", "Members of all groups.", core.totals.members)
    yield _gauge(GROUP + "metadata_bytes", "Metadata of the members of all groups.", core.totals.metadata_bytes)
    yield _gauge(GROUP + "num_quarantined_groups", "Groups not served, for a damaged record.", core.quarantined_groups)
    yield _gauge(
        GROUP + "num_quarantined_records",
        "Records of the offsets log that cannot be decoded or applied.",
        core.quarantined_records,
    )
    for name, count in core.partitions_by_state.items():
        yield _gauge(GROUP + "num_partitions", "Partitions of the offsets log by state.", count, {"state": name})
    counters = core.metrics
    for name, help, value in (
        ("offset_commit_total", "Offsets handed to the log by commits.", counters.offset_commits),
        ("offset_expiration_total", "Offsets removed by retention.", counters.offset_expirations),
        ("offset_deletion_total", "Offsets removed by OffsetDelete.", counters.offset_deletions),
        (
            "group_completed_rebalance_total",
            "Rebalances whose assignment became durable.",
            counters.completed_rebalances,
        ),
        (
            "consumer_group_rebalance_total",
            "KIP-848: group epochs that began because members, subscriptions or topics changed.",
            counters.consumer_rebalances,
        ),
        (
            "member_fenced_total",
            "KIP-848: members removed because they did not give up their partitions in time.",
            counters.fenced_members,
        ),
        ("session_expired_total", "Members removed because they were silent.", counters.expired_sessions),
        (
            "pending_member_forgotten_total",
            "Member ids handed out and forgotten early because of group.max.pending.members.",
            counters.forgotten_members,
        ),
        ("group_refused_total", "Groups refused by max.groups.", counters.refused_groups),
        ("offset_refused_total", "Offsets of new partitions refused by max.offsets.", counters.refused_offsets),
    ):
        yield _counter(GROUP + name, help, value)
    yield _histogram(
        GROUP + "rebalance_duration_seconds",
        "Rebalances from their trigger to a durable assignment, or to their interruption.",
        runtime.rebalance_times,
    )
    for cause, count in list(counters.rebalances_by_cause.items()):
        yield _counter(GROUP + "rebalance_total", "Rebalances begun, by cause.", count, {"cause": cause})
    timers = core.timers
    purgatories = (timers.rebalances, timers.heartbeats, timers.parked_heartbeats, timers.pending, timers.appends)
    for purgatory in purgatories:
        yield _gauge(
            SERVER + "delayed_operation_purgatory_num_delayed_operations",
            "Operations that wait for an event or their deadline.",
            purgatory.waiting,
            {"delayed_operation": purgatory.name},
        )
    for why, count in counters.released_heartbeats.items():
        yield _counter(
            "coordinator_parked_heartbeats_released_total",
            "Parked heartbeats that ended, by the reason.",
            count,
            {"reason": why},
        )
    for why, count in counters.released_consumer_heartbeats.items():
        yield _counter(
            "coordinator_held_consumer_heartbeats_released_total",
            "ConsumerGroupHeartbeat requests of members with nothing to do that were held and ended, by the reason.",
            count,
            {"reason": why},
        )
    for why, count in counters.released_syncs.items():
        yield _counter(
            "coordinator_held_syncs_released_total",
            "SyncGroup requests of newcomers in a cooperative rebalance that were held and ended, by the reason.",
            count,
            {"reason": why},
        )
    load_ms = list(runtime.load_ms.values())
    yield _gauge(
        GROUP + "partition_load_time_max_seconds", "Longest load of a partition.", max(load_ms, default=0) / 1000
    )
    snapshots = runtime.snapshots.counters
    yield _counter(GROUP + "loaded_records_total", "Records read from the log by loading.", snapshots.replayed_records)
    for source, count in (("snapshot", snapshots.from_snapshot), ("log", snapshots.from_log)):
        yield _counter(GROUP + "partition_loads_total", "Loads of a partition, by source.", count, {"source": source})
    for outcome, count in (("written", snapshots.written), ("failed", snapshots.failed)):
        yield _counter("coordinator_snapshots_total", "Snapshots made, by outcome.", count, {"outcome": outcome})


def _events(runtime: Runtime) -> Iterator[Sample]:
    events = runtime.event_topic
    yield _counter(
        "coordinator_group_events_written_total", "Events of groups written to their topic.", events.appended
    )
    yield _counter(
        "coordinator_group_events_dropped_total",
        "Events of groups that could not be written to their topic.",
        events.dropped,
    )


def _transactions(runtime: Runtime) -> Iterator[Sample]:
    if runtime.transactions is None:
        return
    core = runtime.transactions.core
    yield _gauge(TRANSACTION + "num_transactional_ids", "Transactional ids that are known here.", core.ids)
    yield _gauge(TRANSACTION + "num_open", "Transactions that are open, or decided and not complete.", len(core.open))
    yield _gauge(
        TRANSACTION + "oldest_open_seconds",
        "Age of the oldest of them: readers of committed records may wait for it.",
        core.oldest_open_ms(runtime.now_ms()) / 1000,
    )
    counters = core.counters
    yield _counter(TRANSACTION + "committed_total", "Transactions that were committed.", counters.committed)
    for cause, count in counters.aborted_by.items():
        yield _counter(
            TRANSACTION + "aborted_total", "Transactions that were aborted, by cause.", count, {"cause": cause}
        )
    yield _counter(TRANSACTION + "marker_retries_total", "Markers that had to be sent again.", counters.marker_retries)
    yield _counter(
        SERVER + "add_partitions_to_txn_manager_verification_failure_total",
        "Partitions of Produce and TxnOffsetCommit that their transaction coordinator did not confirm.",
        counters.verification_failures,
    )
    yield _gauge(
        "kafka_cluster_partition_last_stable_offset_lag",
        "Offsets between the last stable offset and the high watermark: the most of all partitions of this node.",
        runtime.topics.catalogue.longest_unstable_offsets(),
    )


def _telemetry(runtime: Runtime) -> Iterator[Sample]:
    telemetry = runtime.telemetry
    yield from client_samples(telemetry.figures())
    yield _counter("coordinator_telemetry_pushes_total", "Pushes of metrics by clients (KIP-714).", telemetry.pushes)
    for error, count in list(telemetry.refused.items()):
        yield _counter(
            "coordinator_telemetry_refused_total", "Refused pushes of metrics, by error.", count, {"error": error}
        )
    if telemetry.exporter is not None:
        for outcome, count in (("sent", telemetry.exporter.sent), ("dropped", telemetry.exporter.dropped)):
            yield _counter(
                "coordinator_telemetry_exported_total",
                "Pushes for telemetry.otlp.endpoint, by outcome.",
                count,
                {"outcome": outcome},
            )


def _requests(runtime: Runtime) -> Iterator[Sample | HistogramSample]:
    by_api: dict[str, int] = {}
    recognised: dict[str, int] = {}
    for route in list(runtime.routes.values()):
        by_api[route.name] = by_api.get(route.name, 0) + route.requests + route.recognised + route.parked
        recognised[route.name] = recognised.get(route.name, 0) + route.recognised
    for name, count in by_api.items():
        yield _counter(SERVER + "requests_total", "Requests handled, by API.", count, {"api": name})
    for name, latency in list(runtime.routes.latency.items()):
        # A heartbeat that is recognised by its bytes is answered where it is read, within microseconds.
        unmeasured = recognised.get(name, 0)
        yield HistogramSample(
            "kafka_network_request_total_time_seconds",
            "From a request's arrival to its answer, by API; of frequent APIs one in sixteen is measured.",
            [(bound, count + unmeasured) for bound, count in latency.buckets()],
            latency.sum,
            {"api": name},
        )
    connections = runtime.connections
    yield _gauge(SERVER + "connections", "Open connections.", len(connections))
    yield _counter(SERVER + "connection_creation_total", "Connections accepted.", connections.accepted)
    yield _counter(SERVER + "connection_refused_total", "Connections refused by a limit.", connections.refused)


def _loop(runtime: Runtime) -> Iterator[Sample | HistogramSample]:
    health, collector = runtime.health, runtime.gc_policy
    yield _gauge(
        "coordinator_event_loop_longest_stall_seconds",
        "For how long one thing has kept the event loop at most, since the start.",
        round(health.longest_s, 6),
    )
    yield _gauge(
        "coordinator_event_loop_recent_stall_seconds", "The same within the last minute.", round(health.recent_s, 6)
    )
    yield _histogram(
        "coordinator_event_loop_stall_seconds", "How late the event loop was, looked at again and again.", health.stalls
    )
    yield _histogram(
        "coordinator_gc_pause_seconds", "Passes of Python's garbage collector, any generation.", collector.pauses
    )
    yield _gauge(
        "coordinator_gc_longest_pause_seconds",
        "The longest of these passes, since the start.",
        round(collector.pauses.longest, 6),
    )


def _cluster(runtime: Runtime) -> Iterator[Sample]:
    cluster = runtime.cluster
    yield _gauge("coordinator_cluster_nodes", "Nodes of the cluster, this one among them.", len(cluster.nodes))
    yield _gauge("coordinator_cluster_is_controller", "1 on the node that changes topics.", int(cluster.is_controller))
    yield _gauge(
        "coordinator_cluster_is_following",
        "1 while this node hears of every change of topics; 0 while the controller is away.",
        int(cluster.is_controller or (runtime.link is not None and runtime.link.is_following)),
    )
    yield _gauge(
        "coordinator_catalogue_revision",
        "Changes of topics so far; equal on all nodes.",
        runtime.topics.catalogue.revision,
    )


def _membership(runtime: Runtime, membership: Membership) -> Iterator[Sample | HistogramSample]:
    counters = membership.counters
    yield _gauge(
        "coordinator_cluster_has_lease", "1 while this node may answer for its groups.", int(membership.lease.holds())
    )
    for name, help, value in (
        ("claims", "Partitions claimed.", counters.claims),
        ("partitions_handed_over", "Partitions handed over to other nodes.", counters.handed_over),
        ("partitions_lost", "Partitions given up because a claim was lost.", counters.lost),
        ("nodes_expired", "Other nodes that this one has declared dead.", counters.expired_nodes),
        ("lease_losses", "Times that the lease of this node has ended.", counters.lease_losses),
    ):
        yield _counter(f"coordinator_cluster_{name}_total", help, value)
    yield _histogram(
        "coordinator_cluster_renewal_seconds", "How long renewals of the lease took.", counters.renewal_seconds
    )


def _disk(log: str, stats: FlusherStats, queued_bytes: int) -> Iterator[Sample | HistogramSample]:
    labels = {"log": log}
    yield _counter("coordinator_log_flush_rounds_total", "Rounds of the writer thread.", stats.rounds, labels)
    yield _counter("coordinator_log_batches_total", "Record batches written.", stats.batches, labels)
    yield _counter("coordinator_log_bytes_total", "Bytes written.", stats.bytes, labels)
    yield _counter("coordinator_log_syncs_total", "Logs flushed to the device.", stats.syncs, labels)
    yield _counter(
        "coordinator_log_sync_seconds_total", "Time spent waiting for the device.", stats.sync_seconds, labels
    )
    yield _histogram(
        "coordinator_log_sync_duration_seconds",
        "How long it took to write a round and flush it to the device (fdatasync).",
        stats.sync_times,
        labels,
    )
    yield _counter("coordinator_log_failures_total", "Writes and flushes that failed.", stats.failures, labels)
    yield _gauge("coordinator_log_queued_bytes", "Bytes waiting to be written.", queued_bytes, labels)


def _resident_bytes() -> int:
    """0 where /proc does not exist."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0
