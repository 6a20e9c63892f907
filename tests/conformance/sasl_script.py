"""Sequences of raw frames for listeners with SASL, and a player that writes down the answers of a server.

`record_sasl` plays them to a real Kafka and writes corpus/sasl.json. `differences` plays them to any server and
compares. The server has the listeners PLAINTEXT, SASL and REAUTH, the settings SETTINGS, and connections.max.reauth.ms
of MAX_REAUTH_MS on REAUTH. It knows the users USERS for PLAIN, and for SCRAM with 4096 iterations. Nonces and salts are
not compared. Source of the cases: Kafka's `SaslServerAuthenticator`, `KafkaChannel` and `SocketServer`; KIP-152,
KIP-368, RFC 4616 and RFC 5802.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import re
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from protocol.api_keys import ApiKey
from protocol.client import decode_response, encode_frame
from protocol.codec import api_key_of
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest

RECORDED: Final = Path(__file__).parent / "corpus" / "sasl.json"
PLAINTEXT, SASL, REAUTH = "PLAINTEXT", "SASL", "REAUTH"
SCRAM_256, SCRAM_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
USERS: Final = {"alice": "wonder", "bob": "builder"}
FAILED_DELAY_MS: Final = 300
MAX_REAUTH_MS: Final = 2000
SETTINGS: Final = {
    "sasl.enabled.mechanisms": f"PLAIN,{SCRAM_256},{SCRAM_512}",
    "connection.failed.authentication.delay.ms": str(FAILED_DELAY_MS),
}
RECEIVE_LIMIT: Final = 524_288  # the default of sasl.server.max.receive.size
ANSWER_S: Final = 15.0
QUIET_S: Final = 0.9  # Kafka looks for delayed closes every 300 ms
NONCE: Final = "clientnonce"
CLOSED: Final[dict[str, Any]] = {"connection": "closed"}
OPEN: Final[dict[str, Any]] = {"connection": "open"}
NOTHING: Final[dict[str, Any]] = {"connection": f"no answer within {ANSWER_S:g} s"}
_SIZE: Final = struct.Struct(">i")


class Exchange:
    """The state of one connection that later frames depend on."""

    __slots__ = ("challenge", "signature")

    def __init__(self) -> None:
        self.challenge = ""  # the last token of the server
        self.signature = b""  # the proof of the server that must follow


class ScramFinal(NamedTuple):
    """The second SCRAM token of alice, which depends on the first one of the server."""

    mechanism: str = SCRAM_256
    password: str = USERS["alice"]
    binding: str = "biws"  # base64 of "n,,"
    more: str = ""  # before the nonce

    def token(self, exchange: Exchange) -> bytes:
        digest = self.mechanism.removeprefix("SCRAM-").replace("-", "")
        challenge = re.fullmatch(r"r=([^,]+),s=([\w+/]+=*),i=([1-9]\d*)", exchange.challenge)
        if challenge is None:
            return b""
        nonce, salt, iterations = challenge.groups()
        bare = f"c={self.binding},r={self.more}{nonce}"
        signed = f"n=alice,r={NONCE},{exchange.challenge},{bare}".encode()
        salted = hashlib.pbkdf2_hmac(digest, self.password.encode(), base64.b64decode(salt), int(iterations))
        exchange.signature = hmac.digest(hmac.digest(salted, b"Server Key", digest), signed, digest)
        key = hmac.digest(salted, b"Client Key", digest)
        signature = hmac.digest(hashlib.new(digest, key).digest(), signed, digest)
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        return f"{bare},p={base64.b64encode(proof).decode()}".encode()


class Part(NamedTuple):
    """One frame of the client. `make` gets a correlation id. `api` is None for a frame that is no request."""

    words: str
    make: Callable[[int, Exchange], bytes]
    api: tuple[int, int] | None = None


class Step(NamedTuple):
    """Frames that are sent in one write, after a pause. Each answer counts as an event, and so does the close."""

    parts: tuple[Part, ...]
    events: int
    pause_ms: int = 0


class Conversation(NamedTuple):
    """A conversation on one connection. Its name says what the client does, not what it is answered."""

    name: str
    listener: str
    steps: tuple[Step, ...]


class Seen(NamedTuple):
    """One event: the fields of an answer, or CLOSED, OPEN or NOTHING."""

    what: dict[str, Any]
    after_ms: float


def request(message: Any, version: int, words: str = "") -> Part:
    name = f"{type(message).__name__.removesuffix('Request')} v{version} {words}".rstrip()
    api = api_key_of(message), version
    return Part(name, lambda number, _: encode_frame(message, version, number, "script"), api)


def undeclared(key: int, version: int, body: bytes = b"") -> Part:
    """Return a request that `protocol` cannot encode. The tags of a flexible header belong to the body here."""

    def make(number: int, _: Exchange) -> bytes:
        return _framed(struct.pack(">hhih", key, version, number, 6) + b"script" + body)

    return Part(f"API {key} v{version}", make, (key, version))


def raw(data: bytes) -> Part:
    return Part(f"bytes {data.hex()}", lambda *_: data)


def handshake(mechanism: str, version: int = 1) -> Part:
    return request(SaslHandshakeRequest(mechanism=mechanism), version, repr(mechanism))


def versions(
    version: int, name: str = "script", software_version: str = "1", cluster_id: str | None = None, node_id: int = -1
) -> Part:
    message = ApiVersionsRequest(name, software_version, cluster_id, node_id)
    where = f" for node {node_id} of {cluster_id}" if (cluster_id, node_id) != (None, -1) else ""
    return request(message, version, f"{name!r} {software_version!r}{where}" if version >= 3 else "")


def authenticate(token: bytes | ScramFinal, version: int = 2) -> Part:
    def make(number: int, exchange: Exchange) -> bytes:
        message = SaslAuthenticateRequest(auth_bytes=_bytes_of(token, exchange))
        return encode_frame(message, version, number, "script")

    return Part(f"SaslAuthenticate v{version} {_words(token)}", make, (ApiKey.SASL_AUTHENTICATE, version))


def raw_token(token: bytes | ScramFinal) -> Part:
    return Part(f"token {_words(token)}", lambda _, exchange: _framed(_bytes_of(token, exchange)))


def _framed(data: bytes) -> bytes:
    return _SIZE.pack(len(data)) + data


def _bytes_of(token: bytes | ScramFinal, exchange: Exchange) -> bytes:
    return token if isinstance(token, bytes) else token.token(exchange)


def _words(token: bytes | ScramFinal) -> str:
    return f"of {len(token)} bytes" if isinstance(token, bytes) and len(token) > 200 else repr(token)


def answered(*parts: Part) -> Step:
    return Step(parts, len(parts))


def refused(*parts: Part) -> Step:
    """Return a step whose parts are all answered before the connection is closed."""
    return Step(parts, len(parts) + 1)


def closed(*parts: Part) -> Step:
    return Step(parts, 1)


METADATA: Final = request(MetadataRequest(topics=[]), 12)
HEARTBEAT: Final = request(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 4)
FIND: Final = request(FindCoordinatorRequest(key="g"), 3)
VERSIONS: Final = versions(3)
VERSIONS_99: Final = undeclared(18, 99, b"\0\7script\x021\0")
ALL_VERSIONS: Final = [versions(each) for each in range(6)]
ELSEWHERE: Final = versions(5, cluster_id="another", node_id=7)
WRONG_SIZES: Final = (RECEIVE_LIMIT + 1, 2**31 - 1, -1, -(2**31))
UNKNOWN_NAMES: Final = ("GSSAPI", "plain", "")
UNDECLARED: Final = undeclared(999, 0), undeclared(3, 99)
HANDSHAKE, HANDSHAKE_0, HANDSHAKE_2 = handshake("PLAIN"), handshake("PLAIN", 0), undeclared(17, 2, b"\0\5PLAIN")
SCRAM, UNKNOWN = handshake(SCRAM_256), handshake("GSSAPI")
RIGHT, WRONG = b"\0alice\0wonder", b"\0alice\0wrong"
ALICE, BOB, NOT_ALICE = authenticate(RIGHT), authenticate(b"\0bob\0builder"), authenticate(WRONG)
FIRST, FINAL, WRONG_FINAL = b"n,,n=alice,r=clientnonce", ScramFinal(), ScramFinal(password="wrong")
LARGEST: Final = bytes(RECEIVE_LIMIT - 20)  # as the token of SaslAuthenticate v1
TOO_LARGE: Final = authenticate(LARGEST + b"\0", 1)
EMPTY: Final = raw(bytes(4))

START, START_0, WORKS = answered(HANDSHAKE), answered(HANDSHAKE_0), answered(METADATA)
LOGIN, LOGIN_0 = answered(HANDSHAKE, ALICE), answered(HANDSHAKE_0, raw_token(RIGHT))
SCRAM_START: Final = answered(SCRAM, authenticate(FIRST))
SCRAM_512_START: Final = answered(handshake(SCRAM_512), authenticate(FIRST))
SCRAM_LOGIN: Final = SCRAM_START, answered(authenticate(FINAL))
RAW_SCRAM: Final = answered(handshake(SCRAM_256, 0), raw_token(FIRST))
EXPIRY: Final = Step((), 0, MAX_REAUTH_MS + 100)
SECOND: Final = Step((), 0, 1100)  # Kafka lets a connection log in again once a second

REFUSED_PLAIN: Final = (
    b"\0carol\0wonder|\0alice\0|\0\0wonder|bob\0alice\0wonder|bob\0alice\0wrong|alice|alice\0wonder||"
    b"\0alice\0wonder\0more|\0alice\0wonder\0more\0more|\0alice\0wonder\0|\0alice\0\xff\xfe"
)
REFUSED_FIRST: Final = (
    b"n,,n=carol,r=clientnonce|n,a=bob,n=alice,r=clientnonce|p=tls-unique,,n=alice,r=clientnonce|"
    b"y,,n=alice,r=clientnonce|n=alice,r=clientnonce|n,,n=alice|n,,n=,r=clientnonce|n,,n=al=ice,r=clientnonce|"
    b"n,,n=alice,r=clientnonce,tokenauth=true|n,,n=alice,r=clientnonce,abc||\0alice\0wonder"
)
ACCEPTED_FIRST: Final = b"n,a=alice,n=alice,r=clientnonce|n,,n=alice,r=clientnonce,abc=def|n,,m=x,n=alice,r=clientnonce"
REFUSED_FINAL: Final = b"c=biws,r=clientnonceother,p=AAAA|c=biws,r=clientnonce||\0alice\0wonder"

Sequences: TypeAlias = dict[str, tuple[Step, ...]]


def _each(name: str, step: Callable[..., Step], *parts: Part, start: Sequence[Step] = ()) -> Sequences:
    """Return a sequence for each part: the steps of `start`, the part, and a Metadata if the part is answered."""
    return {f"{part.words}, {name}": (*start, step(part), *([WORKS] if step is answered else [])) for part in parts}


def _tokens(tokens: bytes) -> Iterator[Part]:
    return map(authenticate, tokens.split(b"|"))


ON_SASL: Final[Sequences] = {
    **_each("as the first request", closed, METADATA, FIND, HEARTBEAT, ALICE, HANDSHAKE_2, *UNDECLARED),
    **_each("as the first request", refused, *(handshake(name, each) for name in UNKNOWN_NAMES for each in (0, 1))),
    **{f"{each.words}, then a login": (answered(each), LOGIN, WORKS) for each in (*ALL_VERSIONS, ELSEWHERE)},
    **_each("as the first frame", closed, *(raw(_SIZE.pack(each)) for each in WRONG_SIZES)),
    **_each("as the first frame", closed, *(raw_token(data) for data in (b"", b"abc", b"\x60" + bytes(20), bytes(10)))),
    "ApiVersions v99, then v4 and a login": (answered(VERSIONS_99), answered(versions(4)), LOGIN, WORKS),
    "ApiVersions v99 twice, then a login": (answered(VERSIONS_99), answered(VERSIONS_99), LOGIN, WORKS),
    "ApiVersions twice": (answered(VERSIONS), closed(VERSIONS)),
    "ApiVersions, then Metadata": (answered(VERSIONS), closed(METADATA)),
    **{
        f"{each.words}, then another and a login": (answered(each), answered(VERSIONS), LOGIN)
        for each in (
            *(versions(3, "a b"), versions(3, ""), versions(3, "-a"), versions(3, "a", "")),
            *(versions(5, "a b"), versions(5, cluster_id="another"), versions(5, node_id=7)),
        )
    },
    # --- SaslHandshake ---
    "SaslHandshake without a body": (closed(undeclared(17, 1)),),
    "SaslHandshake with more bytes than it needs": (answered(undeclared(17, 1, b"\0\5PLAIN\0")), answered(ALICE)),
    "SaslHandshake v0 twice": (START_0, closed(HANDSHAKE_0)),
    **_each("after a login", answered, HANDSHAKE, HANDSHAKE_0, SCRAM, UNKNOWN, ALICE, TOO_LARGE, start=[LOGIN]),
    **_each("after a login", answered, VERSIONS, ELSEWHERE, VERSIONS_99, start=[LOGIN]),
    **_each("after a login", closed, EMPTY, start=[LOGIN]),
    # --- SaslAuthenticate ---
    **_each("within a login", refused, HANDSHAKE, METADATA, HEARTBEAT, FIND, VERSIONS, VERSIONS_99, start=[START]),
    **_each("within a login", closed, *UNDECLARED, undeclared(36, 3), undeclared(36, 1, b"\0\0\0\5"), start=[START]),
    **_each("within a login", closed, EMPTY, raw_token(RIGHT), TOO_LARGE, start=[START]),
    **_each("within a login", answered, *(authenticate(RIGHT, each) for each in (0, 1, 2)), start=[START]),
    **_each("within a login", refused, *(authenticate(WRONG, each) for each in (0, 1, 2)), start=[START]),
    # --- PLAIN and SCRAM ---
    **_each("as a PLAIN token", refused, *_tokens(REFUSED_PLAIN), authenticate(LARGEST, 1), start=[START]),
    **_each("as a PLAIN token", answered, authenticate(b"alice\0alice\0wonder"), start=[START]),
    **_each("as the first SCRAM token", refused, *_tokens(REFUSED_FIRST), start=[answered(SCRAM)]),
    **{
        f"{each.words}, as the first SCRAM token": (answered(SCRAM), answered(each)) for each in _tokens(ACCEPTED_FIRST)
    },
    **_each("as the final SCRAM token", refused, *_tokens(REFUSED_FINAL), SCRAM, start=[SCRAM_START]),
    **_each(
        "as the final SCRAM token",
        refused,
        *map(authenticate, (WRONG_FINAL, ScramFinal(more="more"))),
        start=[SCRAM_START],
    ),
    **_each(
        "as the final SCRAM token",
        answered,
        *map(authenticate, (FINAL, ScramFinal(binding="eSws"))),
        start=[SCRAM_START],
    ),
    **_each("as the final SCRAM token", answered, authenticate(ScramFinal(SCRAM_512)), start=[SCRAM_512_START]),
    # --- tokens without requests ---
    "A raw PLAIN login": (LOGIN_0, WORKS),
    **_each("after SaslHandshake v0", closed, raw_token(WRONG), raw_token(b""), ALICE, start=[START_0]),
    **_each("in a raw SCRAM login", answered, raw_token(FINAL), start=[RAW_SCRAM]),
    **_each("in a raw SCRAM login", closed, raw_token(WRONG_FINAL), start=[RAW_SCRAM]),
    # --- several frames in one write ---
    "ApiVersions, a login and Metadata in one write": (answered(VERSIONS, HANDSHAKE, ALICE, METADATA),),
    "A raw login and Metadata in one write": (answered(*LOGIN_0.parts, METADATA),),
    "A failed login and Metadata in one write": (Step((HANDSHAKE, NOT_ALICE, METADATA), 3),),
    "A failed login and another in one write": (Step((HANDSHAKE, NOT_ALICE, HANDSHAKE, ALICE), 3),),
    "An unknown mechanism and Metadata in one write": (Step((UNKNOWN, METADATA), 2),),
}
ON_REAUTH: Final[Sequences] = {
    **_each("to expire", answered, *(authenticate(RIGHT, each) for each in (0, 1, 2)), start=[START]),
    "A login again at once": (LOGIN, LOGIN, WORKS),
    "A login again, twice at once": (LOGIN, LOGIN, LOGIN, WORKS),
    "A login again each second": (LOGIN, LOGIN, SECOND, LOGIN, SECOND, LOGIN, WORKS),
    "A login again after each expiry": (LOGIN, EXPIRY, LOGIN, EXPIRY, LOGIN, WORKS),
    "A login again that ends after the expiry": (LOGIN, START, EXPIRY, answered(ALICE), WORKS),
    "A login again and Metadata in one write": (LOGIN, answered(HANDSHAKE, ALICE, METADATA)),
    "A login again with another mechanism": (LOGIN, answered(SCRAM), closed(authenticate(FIRST))),
    "A SCRAM login again": (*SCRAM_LOGIN, *SCRAM_LOGIN, WORKS),
    "A SCRAM login again, with a wrong password": (*SCRAM_LOGIN, SCRAM_START, refused(authenticate(WRONG_FINAL))),
    "A SCRAM login again with PLAIN": (*SCRAM_LOGIN, START, closed(ALICE)),
    "A SCRAM login that has expired": (*SCRAM_LOGIN, EXPIRY, closed(METADATA)),
    "A login in v0 that has expired": (START, answered(authenticate(RIGHT, 0)), EXPIRY, closed(METADATA)),
    "A raw login that has expired": (LOGIN_0, WORKS, EXPIRY, closed(METADATA)),
    "A raw login again": (LOGIN_0, LOGIN_0, WORKS),
    "A raw login again with requests": (LOGIN_0, LOGIN, WORKS),
    "A login again with a raw token": (LOGIN, LOGIN_0, WORKS),
    "A login again with a raw token of another user": (LOGIN, START_0, closed(raw_token(b"\0bob\0builder"))),
    **_each("within a login again", refused, BOB, NOT_ALICE, HEARTBEAT, METADATA, VERSIONS, start=[LOGIN, START]),
    **_each("within a login again", closed, TOO_LARGE, start=[LOGIN, START]),
    **_each("as a login again", closed, UNKNOWN, HANDSHAKE_2, start=[LOGIN]),
    **_each("after the expiry", closed, HEARTBEAT, METADATA, VERSIONS, ALICE, HANDSHAKE_2, start=[LOGIN, EXPIRY]),
    **_each("after a login that will expire", answered, ALICE, start=[LOGIN]),
}
ON_PLAINTEXT: Final = _each("without SASL", answered, HANDSHAKE, handshake("GSSAPI", 0), ALICE, VERSIONS)
SEQUENCES: Final = [
    Conversation(name, listener, steps)
    for listener, found in ((SASL, ON_SASL), (REAUTH, ON_REAUTH), (PLAINTEXT, ON_PLAINTEXT))
    for name, steps in found.items()
]
KAFKA_ONLY: Final = {
    "FindCoordinator v3, within a login",  # its answer has the sentence for an error code, which is our own
}
LOADED_FIRST: Final = (
    ApiVersionsRequest(),
    FindCoordinatorRequest(),
    HeartbeatRequest(),
    MetadataRequest(),
    SaslAuthenticateRequest(),
    SaslHandshakeRequest(),
)


def play(sequence: Conversation, ports: Mapping[str, int]) -> list[list[Seen]]:
    """Play one sequence; return the events of each step, and the first one of a short time after the last step."""
    seen: list[list[Seen]] = []
    waiting: deque[Part] = deque()
    exchange, number = Exchange(), 0
    with socket.create_connection(("127.0.0.1", ports[sequence.listener]), ANSWER_S) as connection:
        for step in sequence.steps:
            time.sleep(step.pause_ms / 1000)
            waiting += step.parts
            data = b"".join(part.make(number := number + 1, exchange) for part in step.parts)
            seen.append([])
            sent_at = time.monotonic()
            with contextlib.suppress(ConnectionError):  # closed already: the next read tells
                connection.sendall(data)
            while len(seen[-1]) < step.events:
                frame = _receive(connection, NOTHING)
                part = waiting.popleft() if waiting else EMPTY  # an answer too many
                what = _answer(part, frame, exchange) if isinstance(frame, bytes) else frame
                seen[-1].append(Seen(what, (time.monotonic() - sent_at) * 1000))
                if what in (CLOSED, NOTHING):
                    return seen
        connection.settimeout(QUIET_S)
        frame = _receive(connection, OPEN)
        return [*seen, [Seen({"more": frame.hex()} if isinstance(frame, bytes) else frame, 0)]]


def _receive(connection: socket.socket, silence: dict[str, Any]) -> bytes | dict[str, Any]:
    """Return the next frame, CLOSED, or `silence` if neither comes in time."""
    data, size = b"", 4
    try:
        while len(data) < size:
            more = connection.recv(size - len(data))
            if not more:
                return CLOSED
            data += more
            if len(data) == 4 == size:
                size += max(0, _SIZE.unpack(data)[0])
    except TimeoutError:
        return silence
    except ConnectionError:
        return CLOSED
    return data[4:]


def _answer(part: Part, frame: bytes, exchange: Exchange) -> dict[str, Any]:
    """Return the fields of an answer, and its bytes where servers must agree on them."""
    if part.api is None:
        return {"token": _token(frame, exchange)}
    (key, version), fields = part.api, {"correlation_id": int.from_bytes(frame[:4], "big")}
    try:
        if key == ApiKey.API_VERSIONS:
            return fields | _versions_answer(version, frame)
        answer: Any = decode_response(key, version, frame)[1]
    except ProtocolError:
        return {"hex": frame.hex()}
    if key == ApiKey.METADATA:
        return fields  # each cluster has other nodes
    names = ("error_code", "error_message", "mechanisms", "session_lifetime_ms")
    fields |= {name: getattr(answer, name) for name in names if hasattr(answer, name)}
    if getattr(answer, "auth_bytes", b""):
        return fields | {"token": _token(answer.auth_bytes, exchange)}
    return fields | {"hex": frame.hex()}


def _versions_answer(version: int, frame: bytes) -> dict[str, Any]:
    error_code = int.from_bytes(frame[4:6], "big")
    is_oldest = version > 5 or error_code == ErrorCode.UNSUPPORTED_VERSION
    answer: Any = decode_response(ApiKey.API_VERSIONS, 0 if is_oldest else min(version, 4), frame)[1]
    ranges = {each.api_key: [each.min_version, each.max_version] for each in answer.api_keys}
    return {"error_code": error_code, "sasl_handshake": ranges.get(17), "sasl_authenticate": ranges.get(36)}


def _token(token: bytes, exchange: Exchange) -> str:
    """Return a token of the server, its nonce, salt and proof replaced; keep it as the challenge."""
    exchange.challenge = token.decode(errors="replace")
    if exchange.signature and token == b"v=" + base64.b64encode(exchange.signature):
        return "v=<right>"
    return re.sub(rf"r={NONCE}[^,]+,s=[A-Za-z0-9+/=]+,", "r=<nonces>,s=<salt>,", exchange.challenge)


def play_all(ports: Mapping[str, int], *, at_once: int = 32) -> list[list[list[Seen]]]:
    for message in LOADED_FIRST:  # Python 3.11 may fail when several threads compile modules at once
        encode_frame(message, 1, 0, None)
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda sequence: play(sequence, ports), SEQUENCES))


def differences(ports: Mapping[str, int]) -> list[str]:
    """Play all sequences, and return a sentence for the first step of each that is not answered as by Kafka."""
    recorded = json.loads(RECORDED.read_text())["sequences"]
    found = []
    for sequence, seen in zip(SEQUENCES, play_all(ports), strict=True):
        problem = _difference(recorded[sequence.name], seen)
        if problem and sequence.name not in KAFKA_ONLY:
            found.append(f"{sequence.name}, {problem}")
    return found


def _difference(recorded: list[dict[str, Any]], seen: list[list[Seen]]) -> str:
    for step, events in zip(recorded, seen, strict=False):
        found = [each.what for each in events]
        if found != step["events"]:
            return f"after {step['sent']}: {found}, and Kafka {step['events']}"
        if any(late and not is_delayed(each) for each, late in zip(events, step["delayed"], strict=True)):
            return f"after {step['sent']}: at once, and Kafka after {FAILED_DELAY_MS} ms"
    return ""


def is_delayed(event: Seen) -> bool:
    return event.after_ms > FAILED_DELAY_MS / 2
