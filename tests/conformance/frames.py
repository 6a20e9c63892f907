"""Requests that are nearly right: valid ones of every API and version with some bytes changed, cut off or added.

What comes back is an answer, or the end of the connection; both must be as with Kafka, byte for byte. The requests are
about groups that do not exist, so that they change nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import struct
from typing import Any, Final

from protocol.api_keys import ApiKey
from protocol.client import decode_response
from protocol.errors import ProtocolError
from tests.conformance.script import build, request_class
from tests.support.wire import encode_frame

ANSWER_S: Final = 5.0
UUID_BYTES: Final = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
OWN_TEXTS: Final = (ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE)
BODIES: Final[dict[str, dict[str, Any]]] = {
    "Heartbeat": {"group_id": "nobody", "generation_id": 3, "member_id": "stranger"},
    "SyncGroup": {
        "group_id": "nobody",
        "generation_id": 3,
        "member_id": "stranger",
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [{"member_id": "stranger", "assignment": "blob"}],
    },
    "LeaveGroup": {"group_id": "nobody", "member_id": "stranger", "members": [{"member_id": "stranger"}]},
    "JoinGroup": {
        "group_id": "nobody",
        "session_timeout_ms": 60_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": "stranger",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": "blob"}],
    },
    "OffsetCommit": {
        "group_id": "nobody",
        "generation_id_or_member_epoch": 7,
        "member_id": "stranger",
        "topics": [
            {"name": "t0", "partitions": [{"partition_index": 1, "committed_offset": 5, "committed_metadata": "m"}]}
        ],
    },
    "OffsetFetch": {
        "group_id": "nobody",
        "topics": [{"name": "t0", "partition_indexes": [0, 1]}],
        "groups": [{"group_id": "nobody", "topics": [{"name": "t0", "partition_indexes": [0, 1]}]}],
    },
    "OffsetDelete": {"group_id": "nobody", "topics": [{"name": "t0", "partitions": [{"partition_index": 1}]}]},
    "DescribeGroups": {"groups": ["nobody"]},
    "ConsumerGroupHeartbeat": {
        "group_id": "nobody",
        "member_id": "stranger",
        "member_epoch": 3,
        "instance_id": "i",
        "subscribed_topic_names": ["t0"],
        "topic_partitions": [{"topic_id": "0123456789abcdef", "partitions": [0, 1]}],
    },
    "ConsumerGroupDescribe": {"group_ids": ["nobody"], "include_authorized_operations": True},
    "DeleteGroups": {"groups_names": ["nobody"]},
}


def bent_frame(chance: random.Random, versions: dict[str, range]) -> str:
    """A request with something wrong in it, in hexadecimal; its length says what is really there."""
    api = chance.choice(list(BODIES))
    version = chance.choice(versions[api])
    body = dict(BODIES[api])
    if api == "OffsetFetch":
        body.pop("groups" if version < 8 else "topics")
    frame = bytearray(encode_frame(build(request_class(api), body), version, 99, "bent")[4:])
    kind = chance.random()
    start = 14  # behind api key, version, correlation id and client id: those are as they should be
    if kind < 0.2:
        del frame[chance.randrange(start, len(frame)) :]
    elif kind < 0.3:
        frame += bytes(chance.choice((1, 4, 9)))
    elif kind < 0.45:
        place = chance.randrange(start, len(frame))
        del frame[place : place + chance.choice((1, 2))]
    else:
        for _ in range(chance.choice((1, 1, 2, 3))):
            frame[chance.randrange(start, len(frame))] = chance.choice(
                (0, 0xFF, 1, 0x80, 0xC3, 0x7F, chance.randrange(256))
            )
    return (struct.pack(">i", len(frame)) + frame).hex()


def _without_texts(frame: bytes, answer: bytes) -> str:
    """Return the answer of an API whose texts for people are each server's own, if it can be decoded."""
    key, version = struct.unpack_from(">hh", frame, 4)
    if key not in OWN_TEXTS:
        return ""
    try:
        message: Any = decode_response(ApiKey(key), version, answer)[1]
    except ProtocolError:
        return ""
    for each in (message, *getattr(message, "groups", ())):
        if getattr(each, "error_message", None) is not None:
            each.error_message = "a text"
    return repr(message)


async def exchange(port: int, frame: bytes) -> dict[str, Any]:
    """Send these bytes on a new connection and return what the server does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(frame)
        (size,) = struct.unpack(">i", await asyncio.wait_for(reader.readexactly(4), ANSWER_S))
        answer = await asyncio.wait_for(reader.readexactly(size), ANSWER_S)
        return {"answer": _without_texts(frame, answer) or UUID_BYTES.sub(b"?", answer).hex()}
    except (asyncio.IncompleteReadError, ConnectionError):
        return {"closed": True}
    except TimeoutError:
        return {"nothing": True}
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
