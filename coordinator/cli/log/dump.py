"""`coordinator log dump FILE|DIR ...`: the batches and records of a log, of this coordinator or of a Kafka.

Reads the files only, even while a daemon writes them. Records of `__consumer_offsets` and `__transaction_state` are
decoded, in every version of keys and values; records of other topics are shown as text. A batch with a wrong checksum
is reported, and the dump goes on after it if its length is plausible. A DIR is a partition's directory, or a data
directory, whose partitions of these two topics are shown.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from coordinator.cli.errors import CliError
from coordinator.cli.log.consumer_records import KINDS, consumer_facts, consumer_line, is_consumer_record
from coordinator.cli.log.transaction_records import TRANSACTION, transaction_facts, transaction_line
from coordinator.core.topics.names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from protocol.compression import Codec
from protocol.errors import CorruptBatchError, DecodeError
from protocol.offsets_records import (
    GroupKey,
    GroupValue,
    OffsetKey,
    decode_group_value,
    decode_key,
    decode_offset_value,
)
from protocol.record_batch import BatchHeader, ControlType, Record, control_type, iter_batches, read_records, verify

DESCRIPTION: Final = "Print the records of a log, of this coordinator or of a Kafka. Reads files only; needs no daemon."

EPILOG: Final = """\
examples:
  coordinator log dump data                                     the offsets log and the transaction log
  coordinator log dump data/__consumer_offsets-3 --group orders
  coordinator log dump data/__transaction_state-0
  coordinator log dump /var/lib/kafka/__consumer_offsets-0/00000000000000000000.log --json"""

SEGMENTS: Final = "*.log"
CONSUMER_KINDS: Final = frozenset(KINDS.values())
Decode: TypeAlias = Callable[[bytes, bytes | None], dict[str, Any]]
"""Returns the facts of a record with this key and value. DecodeError: they cannot be decoded."""
KERNEL_FROM_BYTES: Final = 2_000_000  # for smaller files, importing the kernel takes longer than the plain reader


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="FILE|DIR", nargs="+", type=Path)
    parser.add_argument("--group", metavar="GROUP", help="print only records of this group, without batches")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each record")


def run(arguments: argparse.Namespace) -> int:
    damaged = False
    has_found = False
    found = [each for path in arguments.paths for each in segments(path)]
    for segment in found:
        is_named = arguments.json
        for line, is_good in dumped(segment, group=arguments.group, as_json=arguments.json):
            damaged = damaged or not is_good
            has_found = has_found or is_good
            if not is_named:
                print(segment)
                is_named = True
            print(line)
        if not is_named and arguments.group is None:
            print(segment)
    if arguments.group is not None and not has_found:
        raise CliError(
            f"no record of a group {arguments.group!r} in {len(found)} segment{'s' * (len(found) != 1)}; check its "
            "name, or leave out --group to see every record (compaction removes those of deleted groups)",
            1,
        )
    return int(damaged)


def segments(path: Path) -> list[Path]:
    """Return the segment files of a path, ordered by partition and offset."""
    if path.is_file():
        return [path]
    found = sorted(path.glob(SEGMENTS)) or [
        segment
        for topic in DECODERS
        for partition in sorted(path.glob(f"{topic}-*"), key=_number)
        for segment in _sorted(partition)
    ]
    if not found:
        raise CliError(f"{path} holds no segments; give a .log file, a partition's directory or a data directory")
    return found


def _sorted(partition: Path) -> list[Path]:
    return sorted(partition.glob(SEGMENTS))


def _number(partition: Path) -> int:
    number = partition.name.rpartition("-")[2]
    return int(number) if number.isdigit() else -1


def dumped(segment: Path, *, group: str | None = None, as_json: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the lines for a segment, each with False if it reports damage."""
    try:
        data = segment.read_bytes()
    except OSError as error:
        raise CliError(f"{segment} cannot be read: {error.strerror}") from None
    directory = segment.resolve().parent.name
    decode = next((each for topic, each in DECODERS.items() if directory.startswith(f"{topic}-")), None)
    found = _of_group(data, group, segment) if decode is offset_facts and group is not None else None
    if found is not None:
        for header, record in found:
            facts = facts_of(record, header, decode=decode)
            if facts.get("group") == group:
                yield _record(facts, as_json=as_json), True
        return
    end = 0
    for position, header in _batches(data):
        end = position + header.size_bytes
        problem = ""
        records: list[Record] = []
        try:
            verify(data, position, header)
            records = read_records(data, position, header)
        except CorruptBatchError as error:
            problem = str(error)
        except DecodeError as error:
            problem = f"cannot be read: {error}"
        if problem or not (as_json or group is not None):
            yield batch_line(position, header, problem), not problem
        for record in records:
            facts = facts_of(record, header, decode=decode)
            if group is None or facts.get("group") == group:
                yield _record(facts, as_json=as_json), True
    # Files are preallocated, here and by Kafka: zeros after the last batch were never written.
    left = data[end:].rstrip(b"\0")
    if left:
        yield f"{len(left)} bytes from {end} on are no batch: a torn write, or damage", False


def _of_group(data: bytes, group: str, segment: Path) -> list[tuple[BatchHeader, Record]] | None:
    """Return the group's records by the columnar reader, which is much faster than reading all records.

    None if the plain reader must be used: the extra for history is not installed, the file is too small to be worth the
    import, or a batch is damaged and has to be reported.
    """
    if len(data) < KERNEL_FROM_BYTES:
        return None
    try:
        from coordinator.columnar.batches import CorruptBatchError as DamagedError
        from coordinator.columnar.group_filter import records_of_group
    except ImportError:
        return None
    try:
        return records_of_group(data, group, path=segment)
    except (DamagedError, UnicodeEncodeError):
        return None


def _record(facts: dict[str, Any], *, as_json: bool) -> str:
    return json.dumps(facts, ensure_ascii=False) if as_json else f"  {record_line(facts)}"


def _batches(data: bytes) -> Iterator[tuple[int, BatchHeader]]:
    """Yield each whole batch, up to the end of the data or to an implausible length."""
    try:
        yield from iter_batches(data)
    except CorruptBatchError:
        return


def batch_line(position: int, header: BatchHeader, problem: str) -> str:
    words = [f"batch {header.base_offset}..{header.last_offset} at byte {position}, {header.size_bytes} bytes"]
    if header.codec:
        words.append(Codec(header.codec).name.lower())
    if header.producer_id >= 0:
        kind = "transaction of producer" if header.is_transactional else "producer"
        words.append(f"{kind} {header.producer_id} epoch {header.producer_epoch}")
    words.append(f"leader epoch {header.partition_leader_epoch}")
    if problem:
        words.append(f"DAMAGED: {problem}")
    return ", ".join(words)


def facts_of(record: Record, header: BatchHeader, *, decode: Decode | None) -> dict[str, Any]:
    """Return the content of a record as plain data; without `decode` key and value as text."""
    facts: dict[str, Any] = {"log_offset": record.offset, "timestamp": _time(record.timestamp_ms)}
    if header.is_control:
        return {**facts, "kind": "marker", "marker": _marker(record)}
    if decode is not None and record.key is not None:
        try:
            return {**facts, **decode(record.key, record.value)}
        except DecodeError as error:
            facts["undecodable"] = str(error)
    return {**facts, "kind": "record", "key": _text(record.key), "value": _text(record.value)}


def _marker(record: Record) -> str:
    try:
        return control_type(record).name.lower()
    except DecodeError:
        return ControlType.UNKNOWN.name.lower()


def offset_facts(key_bytes: bytes, value: bytes | None) -> dict[str, Any]:
    """Return the content of a record of the offsets log. Raises DecodeError."""
    if is_consumer_record(key_bytes):
        return consumer_facts(key_bytes, value)
    key = decode_key(key_bytes)
    if isinstance(key, OffsetKey):
        facts: dict[str, Any] = {"kind": "offset", "group": key.group, "topic": key.topic, "partition": key.partition}
        if value is None:
            return {**facts, "tombstone": True}
        committed = decode_offset_value(value)
        facts |= {"offset": committed.offset, "leader_epoch": committed.leader_epoch, "metadata": committed.metadata}
        facts["committed"] = _time(committed.commit_timestamp_ms)
        if committed.expire_timestamp_ms >= 0:
            facts["expires"] = _time(committed.expire_timestamp_ms)
        return facts
    if isinstance(key, GroupKey):
        facts = {"kind": "group", "group": key.group}
        return {**facts, "tombstone": True} if value is None else {**facts, **_group(decode_group_value(value))}
    return {"kind": f"record of type {key.version}", "key": _text(key.raw), "value": _text(value)}


DECODERS: Final[Mapping[str, Decode]] = {OFFSETS_TOPIC: offset_facts, TRANSACTIONS_TOPIC: transaction_facts}


def _group(value: GroupValue) -> dict[str, Any]:
    return {
        "generation": value.generation,
        "protocol_type": value.protocol_type,
        "protocol": value.protocol,
        "leader": value.leader,
        "since": _time(value.current_state_timestamp_ms),
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                "session_timeout_ms": member.session_timeout_ms,
                "rebalance_timeout_ms": member.rebalance_timeout_ms,
                "subscription": _text(member.subscription),
                "assignment": _text(member.assignment),
            }
            for member in value.members
        ],
    }


def record_line(facts: dict[str, Any]) -> str:
    """Return the line for one record."""
    where = f"{facts['log_offset']}: {facts['kind']}"
    if facts["kind"] == "offset":
        where += f" of {facts['group']!r}, {facts['topic']}-{facts['partition']}: "
        if "tombstone" in facts:
            return where + "deleted"
        epoch = f", leader epoch {facts['leader_epoch']}" if facts["leader_epoch"] >= 0 else ""
        expiry = f", expires {facts['expires']}" if "expires" in facts else ""
        metadata = f", metadata {facts['metadata']!r}" if facts["metadata"] else ""
        return f"{where}{facts['offset']}{epoch}{metadata}, committed {facts['committed']}{expiry}"
    if facts["kind"] == "group":
        where += f" {facts['group']!r}: "
        if "tombstone" in facts:
            return where + "deleted"
        members = "".join(f"\n      {_member_line(each)}" for each in facts["members"])
        kind = f"{facts['protocol_type'] or 'no protocol type'}, {facts['protocol'] or 'no protocol'}"
        count = len(facts["members"])
        leader = f", leader {facts['leader']!r}" if facts["leader"] else ""
        return f"{where}generation {facts['generation']}, {kind}, {count} members{leader}{members}"
    if facts["kind"] == "marker":
        return f"{where} {facts['marker']}"
    if facts["kind"] in CONSUMER_KINDS:
        return f"{facts['log_offset']}: {consumer_line(facts)}"
    if facts["kind"] == TRANSACTION:
        return f"{facts['log_offset']}: {transaction_line(facts)}"
    return f"{where}: {facts['key']!r} = {facts['value']!r}"


def _member_line(member: dict[str, Any]) -> str:
    instance = f" (instance {member['group_instance_id']!r})" if member["group_instance_id"] is not None else ""
    return f"{member['member_id']!r}{instance} of client {member['client_id']!r} at {member['client_host']}"


def _time(timestamp_ms: int | None) -> str | None:
    if timestamp_ms is None or timestamp_ms < 0:
        return None
    seconds, milliseconds = divmod(timestamp_ms, 1000)
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{milliseconds:03}Z"
    except (OverflowError, OSError, ValueError):  # outside the calendar
        return str(timestamp_ms)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "backslashreplace")
