"""One server as a script sees it: connections, what was sent and answered, and what the script's names stand for here.

Answers are kept as they came and turned into comparable data later, when every member id in them is known: ids become
slots (`$id:m0#1`), group ids lose the prefix that keeps scripts apart, and what Kafka leaves free (node ids, hosts,
ports, texts, orders of lists) becomes the same on every server.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.conformance.frames import exchange
from tests.conformance.script import ALL_GROUPS, BLOB_NAMES, BLOBS, GROUP, UUID, Step, build, plain, request_class
from tests.support.wire import ConnectionEnded, Wire

TOPIC_REFUSED: Final = 29
CONTROL: Final = -1  # the connection on which the driver itself asks
USERS: Final = ("ANONYMOUS", "alice", "bob", "carol")  # by the hundreds of the connection's number
CLIENT_IDS: Final = {3: None, 5: "", 6: "a b/ä"}  # by the last digit of the connection's number
CLOSED: Final = {"closed": True}
DROPPED: Final = {"dropped": True}  # our end closed the connection first
SHARED: Final = ("t0", "t1")  # topics of all scripts; `$shared:t0` is the id of one
SHARED_ID: Final = re.compile(r"\$shared:(\w*)$")
FIRST_WITH_IDS: Final = 10  # of OffsetCommit and OffsetFetch
UNKNOWN_ID: Final = "u" * 16
REFERENCE: Final = re.compile(r"\$(id|gen):(\w+)(?:#(\d+))?(?::([+-]?\d+))?$")


@dataclass(slots=True)
class Sent:
    """A request on its way."""

    index: int
    api: str
    version: int
    connection: int
    slot: str | None
    future: asyncio.Future[Any]


class Side:
    """One server during one script."""

    def __init__(self, name: str, port: int, prefix: str, sasl_port: int = 0) -> None:
        self.name = name
        self._port = port
        self._sasl_port = sasl_port  # of the connections of users
        self._prefix = prefix
        self._wires: dict[int, Wire] = {}
        self.pending: dict[int, Sent] = {}
        self.answers: dict[int, Any] = {}  # a message, CLOSED or DROPPED
        self.ids: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        self._shared: dict[str, str] = {}  # ids of topics, once a step has needed them
        self.generations: dict[str, int] = {}
        self.view: dict[str, Any] = {}  # the groups as last described

    async def close(self) -> None:
        for wire in self._wires.values():
            await wire.close()

    # --- what a script does ---

    async def execute(self, index: int, step: Step) -> None:
        connection = step["c"]
        if step["op"] == "close":
            await self.end(connection)
        elif step["op"] == "bytes":
            wire = await self._wire(connection)
            wire.send_bytes(bytes.fromhex(step["hex"]))
            ended: asyncio.Future[Any] = asyncio.ensure_future(wire.ended.wait())
            self.pending[index] = Sent(index, "bytes", 0, connection, None, ended)
        elif step["op"] == "frame":
            answer: asyncio.Future[Any] = asyncio.ensure_future(exchange(self._port, bytes.fromhex(step["hex"])))
            self.pending[index] = Sent(index, "frame", 0, connection, None, answer)
        else:
            if step["api"] in ("OffsetCommit", "OffsetFetch") and step["v"] >= FIRST_WITH_IDS and not self._shared:
                await self._learn_shared_topics()
            wire = await self._wire(connection)
            message = build(request_class(step["api"]), self.resolve(step["body"]))
            future = wire.send(message, step["v"])
            self.pending[index] = Sent(index, step["api"], step["v"], connection, step.get("as"), future)

    async def _learn_shared_topics(self) -> None:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=each) for each in SHARED])
        answer = await (await self._wire(CONTROL)).request(request, 10)
        self._shared = {each.name: each.topic_id.decode("latin-1") for each in answer.topics if not each.error_code}

    async def _wire(self, connection: int) -> Wire:
        wire = self._wires.get(connection)
        if wire is None or wire.ended.is_set():
            user = USERS[max(connection, 0) // 100]
            is_user = user != USERS[0]
            wire = self._wires[connection] = await Wire.connect(
                self._sasl_port if is_user else self._port,
                client_id=CLIENT_IDS.get(connection % 10, f"client{connection}"),
                login=("PLAIN", user, user) if is_user else None,
            )
        return wire

    async def end(self, connection: int) -> None:
        self.collect()
        for index, sent in list(self.pending.items()):
            if sent.connection == connection:
                self.answers[index] = DROPPED
                del self.pending[index]
        wire = self._wires.pop(connection, None)
        if wire is not None:
            await wire.close()

    def blocked(self, connection: int) -> bool:
        return any(sent.connection == connection for sent in self.pending.values())

    def resolve(self, value: Any) -> Any:
        """Names of the script as values of this server."""
        if isinstance(value, dict):
            return {key: self.resolve(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.resolve(each) for each in value]
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        if GROUP.fullmatch(value) or value == ALL_GROUPS:
            return self._prefix + value[1:]
        if value.startswith("$x"):  # that many of them, too many to write down
            return "x" * int(value[2:])
        if value in BLOBS:
            return BLOBS[value]
        if shared := SHARED_ID.fullmatch(value):
            return self._shared.get(shared.group(1), UNKNOWN_ID)
        reference = REFERENCE.fullmatch(value)
        if reference is None:
            return value
        kind, slot, number, offset = reference.groups()
        if kind == "gen":
            return self.generations.get(slot, 0) + int(offset or 0)
        ids = self.ids.get(slot, [])
        place = len(ids) - 1 if number is None else int(number)
        return ids[place] if 0 <= place < len(ids) else f"nobody-{slot}"

    # --- what the server did ---

    def collect(self) -> None:
        """Take the answers that have come."""
        for index, sent in list(self.pending.items()):
            if not sent.future.done():
                continue
            del self.pending[index]
            if sent.future.cancelled():
                self.answers[index] = DROPPED
                continue
            error = sent.future.exception()
            if isinstance(error, ConnectionEnded) or sent.api == "bytes":
                self.answers[index] = CLOSED
            elif error is not None:
                raise error
            else:
                self.answers[index] = sent.future.result()
                self._learn(sent, self.answers[index])

    def _learn(self, sent: Sent, answer: Any) -> None:
        """Keep the member id and the generation that a JoinGroup gave to a slot."""
        slot = sent.slot
        if slot is None or sent.api != "JoinGroup":
            return
        if answer.error_code in (0, 79) and answer.member_id and answer.member_id not in self._names:
            ids = self.ids.setdefault(slot, [])
            self._names[answer.member_id] = f"$id:{slot}#{len(ids)}"
            ids.append(answer.member_id)
        if answer.error_code == 0:
            self.generations[slot] = answer.generation_id

    async def look(self, groups: list[str]) -> None:
        """Describe the groups, and take the answers that came before."""
        wire = await self._wire(CONTROL)
        names = [self._prefix + each for each in groups]
        if names:
            answer = await wire.request(DescribeGroupsRequest(groups=names), 5)
            self.collect()
            described = self._ordered(self.comparable_value(plain(answer)), {"api": "DescribeGroups"})["groups"]
            self.view = {each["group_id"][1:]: each for each in described}
        else:
            await wire.request(DescribeGroupsRequest(groups=["nobody"]), 5)
            self.collect()

    async def listed(self) -> list[str]:
        """The script's groups that ListGroups shows."""
        answer = await (await self._wire(CONTROL)).request(ListGroupsRequest(), 0)
        return sorted(each.group_id for each in answer.groups if each.group_id.startswith(self._prefix))

    def outlines(self, groups: list[str]) -> dict[str, Any]:
        return {each: outline(self.view.get(each)) for each in groups}

    def state(self, group: str) -> str:
        return str(self.view.get(group, {}).get("group_state", "Dead"))

    # --- what can be compared ---

    def comparable(self, index: int, step: Step) -> Any:
        """An answer as data that is equal on servers that agree."""
        answer = self.answers[index]
        if isinstance(answer, dict):
            return answer
        found = self._ordered(self.comparable_value(plain(answer)), step)
        if step["api"] == "JoinGroup":
            found["member_id_form"] = UUID.sub("?", answer.member_id)
        return found

    def _ordered(self, found: Any, step: Step) -> Any:
        """Lists whose order is free, in one order."""
        api = step.get("api")
        if api == "JoinGroup":
            _sort(found, "members", "member_id")
        elif api == "ListGroups":
            _sort(found, "groups", "group_id")
            # Other scripts run at the same time. `plain` leaves an empty list out, so without this an answer that has
            # groups of other scripts alone would differ from one that has none.
            found["groups"] = [each for each in found.get("groups", []) if each.get("group_id", "").startswith("$")]
        elif api == "DescribeGroups":
            for group in found.get("groups", []):
                _sort(group, "members", "member_id")
            _sort(found, "groups", "group_id")
        elif api == "DeleteGroups":
            _sort(found, "results", "group_id")
        elif api == "OffsetFetch":
            asked = step["body"].get("groups", [step["body"]])
            for group in found.get("groups", [found]):
                if any(each.get("topics") is None for each in asked):
                    _sort(group, "topics", "name")
                    for topic in group.get("topics", []):
                        _sort(topic, "partitions", "partition_index")
            _sort(found, "groups", "group_id")
        elif api in CONSOLE:
            CONSOLE[api](found)
        return found

    def comparable_value(self, value: Any) -> Any:
        if isinstance(value, dict):
            found = {name: self.comparable_value(each) for name, each in value.items()}
            if "error_message" in found:
                found["error_message"] = "a text"
            for name in ("node_id", "port"):
                if name in found:
                    found[name] = "a number" if found[name] >= 0 else found[name]
            if found.get("host"):
                found["host"] = "a host"
            return found
        if isinstance(value, list):
            return [self.comparable_value(each) for each in value]
        if isinstance(value, str):
            if value in BLOB_NAMES:
                return BLOB_NAMES[value]
            if value in self._names:
                return self._names[value]
            if value in self._shared.values():
                return next(f"$shared:{name}" for name, topic_id in self._shared.items() if topic_id == value)
            if value.startswith(self._prefix):
                return "$" + value.removeprefix(self._prefix)
            return f"$x{len(value)}" if value == "x" * len(value) and len(value) > 99 else UUID.sub("?", value)
        return value


def _sort(value: dict[str, Any], listed: str, key: str) -> None:
    if listed in value:
        value[listed].sort(key=lambda each: (each.get(key, 0 if key == "partition_index" else ""), repr(each)))


def _log_dirs(found: dict[str, Any]) -> None:
    for result in found.get("results", []):
        for field in ("log_dir", "total_bytes", "usable_bytes"):
            if result.get(field) not in (None, "", -1):
                result[field] = "its own"
        result["topics"] = _of_scripts(result.get("topics", []), "name")
        for topic in result["topics"]:
            for partition in topic["partitions"]:
                partition.pop("partition_size", None)
            _sort(topic, "partitions", "partition_index")


def _moves(found: dict[str, Any]) -> None:
    for topic in found.get("results", []):
        _sort(topic, "partitions", "partition_index")
    _sort(found, "results", "topic_name")


def _elections(found: dict[str, Any]) -> None:
    # Asked for all, Kafka has the topics in hash order; asked for some, the order is that of the request.
    results = found.get("replica_election_results", [])
    if not any(each.get("partition_result") for each in results):
        found["replica_election_results"] = _of_scripts(results, "topic")


def _resources(found: dict[str, Any]) -> None:
    listed = found.get("config_resources", [])
    named = [each for each in listed if each.get("resource_type") != TOPIC or each["resource_name"] in SCRIPTED]
    found["config_resources"] = sorted(named, key=repr)


def _partition_page(found: dict[str, Any]) -> None:
    # The refused topics come last, and Kafka has them in a HashSet.
    found.get("topics", []).sort(key=lambda each: each["name"] if each.get("error_code") == TOPIC_REFUSED else "")
    for topic in found.get("topics", []):
        if "topic_id" in topic:
            topic["topic_id"] = "an id"


def _metadata(found: dict[str, Any]) -> None:
    for field in ("brokers", "cluster_id", "controller_id"):
        found.pop(field, None)
    for topic in found.get("topics", []):
        if "topic_id" in topic:
            topic["topic_id"] = "an id"
        topic["partitions"] = sorted(each.get("partition_index", 0) for each in topic.get("partitions", []))
    # Asked for all, Kafka has the topics in hash order, and those of the server itself among them.
    topics = [each for each in found.get("topics", []) if not each.get("is_internal")]
    found["topics"] = sorted(topics, key=repr)


def _cluster(found: dict[str, Any]) -> None:
    for field in ("brokers", "cluster_id", "controller_id"):
        found.pop(field, None)


def _producer(found: dict[str, Any]) -> None:
    if found.get("producer_id", -1) >= 0:
        found["producer_id"] = "an id"


def _new_topics(found: dict[str, Any]) -> None:
    for topic in found.get("topics", []):
        topic.pop("topic_id", None)
        if topic.get("configs"):
            topic["configs"] = "its own"
    _sort(found, "topics", "name")


def _grown_topics(found: dict[str, Any]) -> None:
    for result in found.get("results", []):
        result.pop("error_message", None)  # Kafka says nothing of a topic that does not exist
    _sort(found, "results", "name")


def _settings(found: dict[str, Any]) -> None:
    for result in found.get("results", []):
        if result.get("error_code", 0) in (0, UNKNOWN_TOPIC):  # each server has other settings, and other texts
            result.pop("configs", None)
            result.pop("error_message", None)
    found["results"] = sorted(found.get("results", []), key=repr)


def _epochs(found: dict[str, Any]) -> None:
    _sort(found, "topics", "topic")


def _topics(found: dict[str, Any]) -> None:
    _sort(found, "topics", "name")  # of Kafka in hash order


def _rules(found: dict[str, Any]) -> None:
    for resource in found.get("resources", []):
        resource["acls"] = sorted(resource["acls"], key=repr)
    found["resources"] = sorted(found.get("resources", []), key=repr)


def _removed_rules(found: dict[str, Any]) -> None:
    for result in found["filter_results"]:
        result["matching_acls"] = sorted(result.get("matching_acls", []), key=repr)


def _of_scripts(listed: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Return the topics without the internal ones of the server."""
    return sorted((each for each in listed if each.get(key, "") in SCRIPTED), key=repr)


SCRIPTED: Final = ("t0", "t1", "nope", "a/b")
TOPIC: Final = 2
UNKNOWN_TOPIC: Final = 3
CONSOLE: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    "DescribeLogDirs": _log_dirs,
    "AlterReplicaLogDirs": _moves,
    "ElectLeaders": _elections,
    "ListConfigResources": _resources,
    "DescribeTopicPartitions": _partition_page,
    "Metadata": _metadata,
    "DescribeCluster": _cluster,
    "InitProducerId": _producer,
    "ListOffsets": _topics,
    "OffsetForLeaderEpoch": _epochs,
    "DeleteRecords": _topics,
    "CreateTopics": _new_topics,
    "CreatePartitions": _grown_topics,
    "DescribeConfigs": _settings,
    "DescribeAcls": _rules,
    "DeleteAcls": _removed_rules,
}


def outline(described: dict[str, Any] | None) -> Any:
    """Return the parts of a group's description that must be equal at any time."""
    if described is None:
        return None
    members = [[each.get("member_id"), each.get("group_instance_id")] for each in described.get("members", [])]
    found = {key: described.get(key) for key in ("group_state", "protocol_type", "protocol_data")}
    return {**found, "members": sorted(members, key=repr)}
