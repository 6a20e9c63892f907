"""Answers of `coordinator history` as JSON: plain dictionaries, with times as ISO 8601 in UTC and as milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from coordinator.core.events.model import Rebalance
    from coordinator.history.events import StoredEvent
    from coordinator.history.questions import CommitRate
    from coordinator.history.rebalances import GenerationMember, GroupChange


def moment(moment_ms: int) -> dict[str, Any]:
    """Return `time` and `timestamp_ms`."""
    try:
        text = datetime.fromtimestamp(moment_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (OverflowError, OSError, ValueError):  # outside the calendar
        return {"time": None, "timestamp_ms": moment_ms}
    return {"time": f"{text}.{moment_ms % 1000:03}Z", "timestamp_ms": moment_ms}


def commit(row: Mapping[str, Any]) -> dict[str, Any]:
    change = {name: row[name] for name in ("topic", "partition", "offset", "change")}
    others = {name: row[name] for name in ("metadata", "leader_epoch", "transaction", "producer_id", "log_offset")}
    return {**moment(row["timestamp_ms"]), **change, "deleted": row["offset"] is None, **others}


def change(found: GroupChange, reason: Rebalance | None) -> dict[str, Any]:
    """Return a change with its cause, its culprit and its duration, which are None if the event is not known."""
    record = found.record
    return {
        **moment(record.timestamp_ms),
        "what": found.kind.value,
        "type": record.type.value,
        "state": record.state,
        "generation": record.generation,
        "protocol_type": record.protocol_type,
        "protocol": record.protocol,
        "leader": record.leader,
        "members": [_member(member, found.names[member.identity]) for member in record.members],
        "came": list(found.came),
        "went": list(found.went),
        "restarted": list(found.restarted),
        "moved": [
            {"topic": move.topic, "partition": move.partition, "from": move.source, "to": move.target}
            for move in found.moved
        ],
        "cause": None if reason is None else reason.trigger.cause.value,
        "culprit": None if reason is None else msgspec.structs.asdict(reason.trigger.member),
        "reason": None if reason is None else reason.trigger.reason,
        "took_ms": None if reason is None else reason.took_ms,
        "join_ms": _known(reason, "join_ms"),
        "plan_ms": _known(reason, "plan_ms"),
        "sync_ms": _known(reason, "sync_ms"),
        "log_offset": record.log_offset,
    }


def _known(reason: Rebalance | None, field: str) -> int | None:
    value = -1 if reason is None else getattr(reason, field)
    return value if value >= 0 else None


def event(stored: StoredEvent) -> dict[str, Any]:
    """Return the columns of an event, and all of it as `event`."""
    from coordinator.history.events import columns

    return {**moment(stored.event.at_ms), **columns(stored), "event": msgspec.to_builtins(stored.event)}


def _member(member: GenerationMember, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "partitions": _partitions(member.partitions),
        "target": _partitions(member.target),
        "epoch": member.epoch,
    }


def _partitions(places: Sequence[tuple[str, int]] | None) -> list[dict[str, Any]] | None:
    return None if places is None else [{"topic": topic, "partition": partition} for topic, partition in places]


def rate(found: CommitRate) -> list[dict[str, Any]]:
    """Return one object for each partition, with a list of its windows."""
    starts = [moment(start) for start in found.starts_ms.tolist()]
    return [
        {
            "topic": topic,
            "partition": partition,
            "window_ms": found.window_ms,
            "commits": int(found.commits[row].sum()),
            "progress": int(found.progress[row].sum()),
            "resets": int(found.resets[row].sum()),
            "windows": [
                {**start, "commits": commits, "progress": progress, "resets": resets}
                for start, commits, progress, resets in zip(
                    starts,
                    found.commits[row].tolist(),
                    found.progress[row].tolist(),
                    found.resets[row].tolist(),
                    strict=True,
                )
            ],
        }
        for row, (topic, partition) in enumerate(found.keys)
    ]


def stalled(row: Mapping[str, Any], ends: Mapping[tuple[str, int], int] | None) -> dict[str, Any]:
    end = None if ends is None else ends.get((row["topic"], row["partition"]))
    return {
        **{name: row[name] for name in ("topic", "partition", "how", "offset")},
        "since": moment(row["since_ms"]),
        "last_commit": moment(row["last_commit_ms"]),
        "commits_since": row["commits_since"],
        "log_end_offset": end,
        "lag": None if end is None else end - row["offset"],
    }
