"""The answers of every API to users with different rights, which a server gives and a record of Kafka holds.

`record_acl` plays the requests to a real Kafka and writes corpus/acl.json. `compare` compares the answers of ours. A
server has the listeners PLAINTEXT, on which every client is a super user, and SASL, the settings SETTINGS and the users
of RULES. The requests are those of `acl_requests`. Each is sent by each user, in its lowest and in its highest version
that both serve, one after another: some change what later ones are answered.
Source of the cases: Kafka's `KafkaApis`, `ControllerApis`, `AuthHelper` and `AclApis`.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from coordinator.security.acl.model import CLUSTER_NAME, AclOperation, ResourceType
from coordinator.server.api.table import HANDLERS
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from tests.conformance import servers
from tests.conformance.acl_lockstep import VERSION, rules_of
from tests.conformance.acl_requests import REQUESTS, UNKNOWN_ID, Request
from tests.conformance.script import UUID, build, key_of, plain, request_class
from tests.support.wire import ConnectionEnded, Wire

RECORDED: Final = Path(__file__).parent / "corpus" / "acl.json"
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
RESOURCES: Final = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
ON_RESOURCES: Final = (
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.CREATE,
    AclOperation.DELETE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
)
ON_CLUSTER: Final = (
    AclOperation.CREATE,
    AclOperation.DELETE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.CLUSTER_ACTION,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
    AclOperation.IDEMPOTENT_WRITE,
)
TOPICS: Final = ("yes", "no")  # of two partitions
COMMITTED: Final = 7
START_S: Final = 30.0
CLOSED: Final = "the connection is closed"


class Rule(NamedTuple):
    """One rule of a user."""

    resource_type: int
    name: str
    pattern_type: int = LITERAL
    operation: int = AclOperation.ALL
    permission: int = ALLOW


def _everywhere(
    name: str, pattern: int = LITERAL, operation: int = AclOperation.ALL, *, deny: bool = False
) -> list[Rule]:
    return [Rule(kind, name, pattern, operation, DENY if deny else ALLOW) for kind in RESOURCES]


_CLUSTER: Final = Rule(ResourceType.CLUSTER, CLUSTER_NAME)
RULES: Final[Mapping[str, list[Rule]]] = {
    "nothing": [],
    "everything": [*_everywhere("*"), _CLUSTER],
    "yes": _everywhere("yes", PREFIXED),
    "all-but-yes": [
        *_everywhere("*"),
        *_everywhere("yes", deny=True),
        _CLUSTER,
        _CLUSTER._replace(permission=DENY),
    ],
    "all-but-no": [*_everywhere("*"), *_everywhere("n", PREFIXED, deny=True), _CLUSTER],
    **{f"{each.title}-yes": _everywhere("yes", PREFIXED, each) for each in ON_RESOURCES},
    **{f"{each.title}-cluster": [_CLUSTER._replace(operation=each)] for each in ON_CLUSTER},
}
SETTINGS: Final = {**servers.RULES, "auto.create.topics.enable": "true"}


class Server(NamedTuple):
    """The ports of a server. A Kafka has a port of its controller, which decides for itself; ours is alone."""

    port: int
    sasl_port: int
    controller_port: int


async def prepare(server: Server) -> None:
    """Make topics, offsets and rules, and wait until they count."""
    async with await Wire.connect(server.port) as admin, await Wire.connect(server.controller_port) as controller:
        topics = [CreatableTopic(name, 2, 1) for name in TOPICS]
        await admin.request(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 5)
        creations = [
            AclCreation(
                each.resource_type, each.name, each.pattern_type, f"User:{user}", "*", each.operation, each.permission
            )
            for user, rules in RULES.items()
            for each in rules
        ]
        answer = await admin.request(CreateAclsRequest(creations), VERSION)
        assert not any(each.error_code for each in answer.results), answer
        for key_type, key in ((1, "warm"), (2, "warm:AAAAAAAAAAAAAAAAAAAAAQ:0")):
            await _until(lambda kind=key_type, key=key: _has_coordinators(admin, kind, key))
        for group in TOPICS:
            await _until(lambda group=group: _commits(admin, group))
        wanted = {
            (each.resource_type, each.resource_name, each.resource_pattern_type, each.principal, *_entry(each))
            for each in creations
        }
        for each in (admin, controller):
            await _until(lambda each=each: _has_rules(each, wanted))


async def _has_coordinators(admin: Wire, key_type: int, key: str) -> bool:
    """Return False while a Kafka makes the topic of its coordinators."""
    answer = await admin.request(FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key]), 6)
    return bool(answer.coordinators[0].error_code != COORDINATOR_NOT_AVAILABLE)


async def _until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(START_S):
        while not await is_so():  # noqa: ASYNC110 - only a server can tell
            await asyncio.sleep(0.02)


async def _has_rules(admin: Wire, wanted: set[tuple[Any, ...]]) -> bool:
    return await rules_of(admin) == wanted


def _entry(creation: AclCreation) -> tuple[str, int, int]:
    return creation.host, creation.operation, creation.permission_type


async def _commits(admin: Wire, group: str) -> bool:
    """Commit an offset of each partition. A Kafka that has just started cannot yet."""
    await admin.request(FindCoordinatorRequest(key=group), 3)
    parts = [OffsetCommitRequestPartition(index, COMMITTED, committed_metadata="") for index in (0, 1)]
    topics = [OffsetCommitRequestTopic(name=name, partitions=parts) for name in TOPICS]
    answer = await admin.request(OffsetCommitRequest(group, topics=topics), 8)
    return not any(part.error_code for topic in answer.topics for part in topic.partitions)


async def versions_of(port: int) -> dict[str, list[int]]:
    """Return the lowest and the highest version of each API that a server advertises."""
    async with await Wire.connect(port) as wire:
        answer = await wire.request(ApiVersionsRequest(), 0)
    served = {each.api_key: [each.min_version, each.max_version] for each in answer.api_keys}
    return {api: served[key_of(api)] for api in {each.api: None for each in REQUESTS}}


class Player:
    """The users of one server, each with its connection."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._wires: dict[str, Wire] = {}
        self._ids: dict[str, str] = {}  # of topics, by name

    async def start(self) -> None:
        async with await Wire.connect(self._server.port) as admin:
            found = await admin.request(MetadataRequest(topics=None), 12)
        self._ids = {each.name: each.topic_id.decode("latin-1") for each in found.topics}

    async def close(self) -> None:
        for wire in self._wires.values():
            await wire.close()

    async def answer(self, request: Request, version: int, user: str) -> Any:
        """Send a request as a user and return the answer as comparable data."""
        body = self._with_ids(request.body(version, user))
        message = build(request_class(request.api), body)
        wire = self._wires.get(user)
        if wire is not None and wire.ended.is_set():
            await wire.close()
            wire = None
        if wire is None:
            wire = await Wire.connect(self._server.sasl_port, login=("PLAIN", user, user))
            self._wires[user] = wire
        try:
            if body.get("acks") == 0:
                wire.send_unanswered(message, version)
                await wire.request(FindCoordinatorRequest(key="behind"), 3)
                return "nothing"
            answer = plain(await wire.request(message, version))
        except ConnectionEnded:
            return CLOSED
        return comparable(self._with_names(answer), request)

    def _with_ids(self, value: Any) -> Any:
        return _mapped(value, lambda text: self._ids[text[1:]] if text.startswith("$") else text)

    def _with_names(self, value: Any) -> Any:
        names = {topic_id: f"${name}" for name, topic_id in self._ids.items()}
        return _mapped(value, lambda text: names.get(text, UUID.sub("?", text)))


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(each, change) for key, each in value.items()}
    if isinstance(value, list):
        return [_mapped(each, change) for each in value]
    return change(value) if isinstance(value, str) else value


# -- what can be compared ----------------------------------------------------------------------------------------

# Fields that each server has its own values in.
OWN: Final = frozenset(
    {
        *("brokers", "cluster_id", "controller_id", "broker_id", "node_id", "node_endpoints", "host", "port"),
        *("leader_id", "leader_epoch", "current_leader", "replica_nodes", "isr_nodes", "offline_replicas"),
        *("eligible_leader_replicas", "last_known_elr", "log_dir", "total_bytes", "usable_bytes", "partition_size"),
        *("is_cordoned", "producer_id", "throttle_time_ms", "timestamp"),
    }
)
_OTHER_TOPIC: Final = re.compile(r"^__|-new-")
_JAVA_OBJECT: Final = re.compile(r"Request Request\(.*\) (?=is not authorized|needs )", re.DOTALL)
_OUR_REQUEST: Final = re.compile(r"Request [A-Z_]+ (?=needs )")


def comparable(value: Any, request: Request) -> Any:
    """Return an answer as data that is equal on servers that agree."""
    found = _sorted(_pruned(value), request.free_order)
    return _without_others(found) if request.is_of_all else found


def _without_others(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without the topics of the server, and those that were created by a Metadata."""
    return {
        key: [each for each in value if not _OTHER_TOPIC.search(each.get("name", each.get("resource_name", "")))]
        if key in ("topics", "config_resources")
        else value
        for key, value in answer.items()
    }


def _pruned(value: Any) -> Any:
    if isinstance(value, list):
        return [_pruned(each) for each in value]
    if isinstance(value, str):
        return _OUR_REQUEST.sub("Request <it> ", _JAVA_OBJECT.sub("Request <it> ", value))
    if not isinstance(value, dict):
        return value
    found = {key: _pruned(each) for key, each in value.items() if key not in OWN}
    is_named = found.get("topic_id", "$")[1:] in TOPICS  # a random id may begin with $
    if not is_named and found.get("topic_id", UNKNOWN_ID) != UNKNOWN_ID:
        del found["topic_id"]  # of a topic that another request creates, or this one would
    if value.get("configs") and not value.get("error_code"):
        found["configs"] = "its own"
    return found


def _sorted(value: Any, fields: Iterable[str]) -> Any:
    if isinstance(value, list):
        return [_sorted(each, fields) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: _sorted(each, fields) for key, each in value.items()}
    for field in fields:
        if isinstance(found.get(field), list):
            found[field] = sorted(found[field], key=lambda each: repr(_without_texts(each)))
    return found


# -- what is known to differ -------------------------------------------------------------------------------------


REFUSALS: Final = frozenset({29, 30, 31, 53})  # errors whose texts must be Kafka's


class Known(NamedTuple):
    """A listed difference: of some requests, or of all, and what tells that two answers have no other one."""

    name: str
    matches: Callable[[Any, Any], bool]
    requests: tuple[str, ...] = ()


def _without_texts(value: Any, refusals: frozenset[int] = REFUSALS) -> Any:
    """Return an answer without the texts of errors other than refusals."""
    if isinstance(value, list):
        return [_without_texts(each, refusals) for each in value]
    if not isinstance(value, dict):
        return value
    keeps = value.get("error_code", 0) in refusals
    return {key: _without_texts(each, refusals) for key, each in value.items() if keeps or key != "error_message"}


def _other_texts(kafka: Any, ours: Any) -> bool:
    return bool(_without_texts(kafka) == _without_texts(ours))


def _no_coordinator(code: int) -> Callable[[Any, Any], bool]:
    """Return the rule that a coordinator that Kafka finds is an error here."""

    def matches(kafka: Any, ours: Any) -> bool:
        found = [(each["key"], each.get("error_code", code)) for each in kafka.get("coordinators", [])]
        return found == [(each["key"], each.get("error_code")) for each in ours.get("coordinators", [])]

    return matches


def _answered_once(kafka: Any, ours: Any) -> bool:
    once = [each for number, each in enumerate(kafka["responses"]) if each not in kafka["responses"][:number]]
    return bool(_without_texts(once) == _without_texts(ours["responses"]))


def _as_a_consumer(kafka: Any, ours: Any) -> bool:
    parts = [part for topic in kafka["responses"] for part in topic["partitions"]]
    served = [part for topic in ours["responses"] for part in topic["partitions"]]
    is_known = bool(parts) and all(each.get("error_code") == NOT_LEADER_OR_FOLLOWER for each in parts)
    return is_known and len(served) == len(parts) and not any(each.get("error_code") for each in served)


INVALID_REQUEST: Final = 42
COORDINATOR_NOT_AVAILABLE: Final = 15
NOT_LEADER_OR_FOLLOWER: Final = 6
KNOWN: Final = (
    # The texts of errors other than refusals are ours, or there is one where Kafka has none.
    Known("texts", _other_texts),
    # There is no share coordinator.
    Known("share-groups", _no_coordinator(INVALID_REQUEST), ("FindCoordinator of a share group",)),
    # No broker follows this one. A follower with the right is answered as a consumer; Kafka does not know the replica.
    Known("followers", _as_a_consumer, ("Fetch by a follower",)),
    # What is named twice is answered once.
    Known("named-twice", _answered_once, ("IncrementalAlterConfigs of one topic twice",)),
)


def known_difference(request: Request, kafka: Any, ours: Any) -> Known | None:
    for each in KNOWN:
        is_of_request = not each.requests or request.name in each.requests
        if is_of_request and CLOSED not in (kafka, ours) and each.matches(kafka, ours):
            return each
    return None


# -- all of them -------------------------------------------------------------------------------------------------


def versions_of_both(kafka: Mapping[str, Iterable[int]]) -> dict[str, list[int]]:
    """Return the lowest and the highest version of each API that Kafka and we serve."""
    found = {}
    for api, (lowest, highest) in kafka.items():
        ours = HANDLERS[key_of(api)]
        found[api] = sorted({max(lowest, ours.min_version), min(highest, ours.max_version)})
    return found


async def play(server: Server, versions: Mapping[str, Iterable[int]]) -> dict[str, dict[str, Any]]:
    """Play all requests; return the answer to each user by the request and its version."""
    player = Player(server)
    await player.start()
    found: dict[str, dict[str, Any]] = {}
    try:
        for request in REQUESTS:
            for version in versions[request.api]:
                if request.since <= version <= request.until:
                    row = found[f"{request.name}, v{version}"] = {}
                    for user in RULES:
                        row[user] = await player.answer(request, version, user)
    finally:
        await player.close()
    return found


def recorded() -> dict[str, dict[str, Any]]:
    """Return Kafka's answer to each user by the request and its version."""
    rows = json.loads(RECORDED.read_text())["answers"]
    return {name: {user: each["answer"] for each in row for user in each["users"]} for name, row in rows.items()}


class Comparison(NamedTuple):
    """A sentence for each answer that differs from the recorded one, and how many differ as is known."""

    problems: list[str]
    known: Counter[str]


def compare(ours: Mapping[str, Mapping[str, Any]]) -> Comparison:
    kafkas = recorded()
    requests = {each.name: each for each in REQUESTS}
    found = Comparison([], Counter())
    for name, row in ours.items():
        request = requests[name.rpartition(", v")[0]]
        for user, answer in row.items():
            kafka = kafkas[name][user]
            if kafka == answer:
                continue
            known = known_difference(request, kafka, answer)
            if known is not None:
                found.known[known.name] += 1
            else:
                found.problems.append(f"{name}, {user}:\n  Kafka {kafka}\n  ours  {answer}")
    return found
