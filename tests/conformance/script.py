"""Scripts of wire requests: plain data, so that they can be generated, stored, replayed and made shorter.

A step is a dict. `send` puts one request on one connection; `close` ends a connection; `bytes` and `frame` send what no
client would (a frame may be answered); `settle` waits for a group to leave PreparingRebalance, `wait` until no short
timer changes anything any more.
What differs between two servers, or is long, is a name in the script: `$g0` is a group, `$sub:t0` a subscription,
`$id:m0` the newest member id that slot m0 was given, `$id:m0#0` its first, `$gen:m0:-1` the generation it last joined,
less one. A name that stands for nothing yet resolves to something no server knows, so any subset of the steps of a
script is again a script.
"""

from __future__ import annotations

import functools
import importlib
import re
import types
import typing
from typing import Any, Final

from protocol.api_keys import ApiKey
from protocol.schema import field_specs

Step = dict[str, Any]
Script = list[Step]

APIS: Final = {
    "JoinGroup": ApiKey.JOIN_GROUP,
    "SyncGroup": ApiKey.SYNC_GROUP,
    "Heartbeat": ApiKey.HEARTBEAT,
    "LeaveGroup": ApiKey.LEAVE_GROUP,
    "OffsetCommit": ApiKey.OFFSET_COMMIT,
    "OffsetFetch": ApiKey.OFFSET_FETCH,
    "OffsetDelete": ApiKey.OFFSET_DELETE,
    "FindCoordinator": ApiKey.FIND_COORDINATOR,
    "ListGroups": ApiKey.LIST_GROUPS,
    "ConsumerGroupHeartbeat": ApiKey.CONSUMER_GROUP_HEARTBEAT,
    "ConsumerGroupDescribe": ApiKey.CONSUMER_GROUP_DESCRIBE,
    "DescribeGroups": ApiKey.DESCRIBE_GROUPS,
    "DeleteGroups": ApiKey.DELETE_GROUPS,
    "AlterConfigs": ApiKey.ALTER_CONFIGS,
    "IncrementalAlterConfigs": ApiKey.INCREMENTAL_ALTER_CONFIGS,
    "DescribeLogDirs": ApiKey.DESCRIBE_LOG_DIRS,
    "AlterReplicaLogDirs": ApiKey.ALTER_REPLICA_LOG_DIRS,
    "AlterPartitionReassignments": ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    "ListPartitionReassignments": ApiKey.LIST_PARTITION_REASSIGNMENTS,
    "ElectLeaders": ApiKey.ELECT_LEADERS,
    "ListConfigResources": ApiKey.LIST_CONFIG_RESOURCES,
    "DescribeTopicPartitions": ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    # With access rules only:
    "CreateAcls": ApiKey.CREATE_ACLS,
    "DeleteAcls": ApiKey.DELETE_ACLS,
    "DescribeAcls": ApiKey.DESCRIBE_ACLS,
    "Metadata": ApiKey.METADATA,
    "ListOffsets": ApiKey.LIST_OFFSETS,
    "OffsetForLeaderEpoch": ApiKey.OFFSET_FOR_LEADER_EPOCH,
    "DescribeCluster": ApiKey.DESCRIBE_CLUSTER,
    "InitProducerId": ApiKey.INIT_PRODUCER_ID,
    "CreateTopics": ApiKey.CREATE_TOPICS,
    "CreatePartitions": ApiKey.CREATE_PARTITIONS,
    "DeleteRecords": ApiKey.DELETE_RECORDS,
    "DescribeConfigs": ApiKey.DESCRIBE_CONFIGS,
}
CAN_PARK: Final = frozenset({"JoinGroup", "SyncGroup"})
GROUP: Final = re.compile(r"\$(g\d+)")
ALL_GROUPS: Final = "$g"  # what the names of all groups begin with
# A consumer's metadata, version 1: it subscribes to t0, to t1, to nothing. Scripts name them.
BLOBS: Final = {
    "$sub:t0": "\x00\x01\x00\x00\x00\x01\x00\x02t0\xff\xff\xff\xff\x00\x00\x00\x00",
    "$sub:t1": "\x00\x01\x00\x00\x00\x01\x00\x02t1\xff\xff\xff\xff\x00\x00\x00\x00",
    "$sub:none": "\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00",
}
BLOB_NAMES: Final = {value: name for name, value in BLOBS.items()}
UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def key_of(api: str) -> ApiKey:
    """Return the key of an API that is named as in Kafka's messages."""
    return ApiKey[re.sub(r"(?<=.)(?=[A-Z])", "_", api).upper()]


@functools.cache
def request_class(api: str) -> type[Any]:
    module = importlib.import_module(f"protocol.messages.{key_of(api).name.lower()}")
    cls: type[Any] = getattr(module, f"{api}Request")
    return cls


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    return dict(typing.get_type_hints(cls))


def build(cls: Any, body: dict[str, Any]) -> Any:
    """A message from plain data; bytes are written as text, one character each."""
    hints = _hints(cls)
    return cls(**{name: _value(hints[name], value) for name, value in body.items()})


def _value(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        hint = next(each for each in typing.get_args(hint) if each is not type(None))
        origin = typing.get_origin(hint)
    if origin is list:
        (element,) = typing.get_args(hint)
        return [_value(element, each) for each in value]
    if hint is bytes:
        return str(value).encode("latin-1")
    if _is_message(hint):
        return build(typing.cast("type[Any]", hint), value)
    return value


def _is_message(cls: Any) -> bool:
    return isinstance(cls, type) and cls.__module__.startswith("protocol.messages.")


@functools.cache
def _defaults(cls: Any) -> dict[str, Any]:
    empty = cls()
    return {name: getattr(empty, name) for name in field_specs(cls)}


def plain(value: Any) -> Any:
    """A message as plain data, the way `build` reads it; fields that have their default are left out."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if _is_message(type(value)):
        defaults: dict[str, Any] = _defaults(type(value))
        found = {name: getattr(value, name) for name in defaults}
        return {name: plain(each) for name, each in found.items() if each != defaults[name]}
    return value


def groups_of(script: Script) -> list[str]:
    """The groups a script names, in order of appearance."""
    found: dict[str, None] = {}
    for step in script:
        for name in GROUP.findall(repr(step)):
            found[name] = None
    return list(found)


def words(step: Step) -> str:
    """One line for a person."""
    op = step["op"]
    if op == "send":
        body = ", ".join(f"{key}={value!r}" for key, value in step["body"].items())
        slot = f" as {step['as']}" if "as" in step else ""
        lost = ", its answer is lost" if step.get("lost") else ""
        return f"connection {step['c']}: {step['api']} v{step['v']}{slot} ({body}){lost}"
    if op == "topics":
        return f"{step['do']} topics {step['topics']}"
    if op == "converge":
        return f"let the members of {step['g']} follow their assignments"
    if op == "pass":
        return "wait until regular expressions may be resolved again"
    if op == "settle":
        return f"wait until {step['g']} leaves PreparingRebalance"
    if op == "wait":
        return "wait until no timer changes anything"
    if op == "close":
        return f"connection {step['c']}: close"
    return f"connection {step['c']}: send bytes {step['hex']}{', all of it one frame' if op == 'frame' else ''}"
