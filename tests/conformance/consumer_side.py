"""One server as a script of KIP-848 groups sees it: with simulated clients, and topics that belong to the script.

Topic `$t0` has the script's prefix; its ids are told apart by when the topic was made (`$t0@1`, `$t0@2`). `$re:t.*` is
a regular expression for the script's topics alone. Kafka learns of topics, and of what a regular expression matches,
some time after it has answered. A *probe* is a group of the driver's own that shows when that time is over: Kafka
handles both in order.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.conformance.consumer_clients import FENCED, Body, Client, Clients
from tests.conformance.consumer_outline import (
    loose_beat,
    loose_classic,
    loose_description,
    ordered_assignment,
    ordered_description,
)
from tests.conformance.embedded import (
    GIVEN,
    META,
    assigned,
    encoded_assignment,
    encoded_subscription,
    in_words,
    subscription_of,
)
from tests.conformance.script import Step, build, plain
from tests.conformance.side import CONTROL, Sent, Side
from tests.support.eventually import eventually_answered

BEAT: Final = "ConsumerGroupHeartbeat"
DESCRIBE: Final = "ConsumerGroupDescribe"
TOPIC: Final = re.compile(r"\$(t\d+)$")
SHARED_TOPIC_ID: Final = re.compile(r"\$shared:(\w+)$")
TOPIC_ID: Final = re.compile(r"\$topic:(\w+)$")
REGEX: Final = "$re:"
SERVER_ID: Final = re.compile(r"^[\w-]{22}$")  # of a member of a KIP-848 group: 16 bytes in base64
BEAT_VERSION: Final = 1
DESCRIBE_VERSION: Final = 1
PROBE: Final = "probe"
TOPICS: Final = ("t0", "t1")  # those that are always there
MOST_ROUNDS: Final = 25
NO_ID: Final = "\x00" * 16
LONG_MS: Final = 60_000
KNOWN_WITHIN_S: Final = 6.0


class ConsumerSide(Side):
    """One server during one script that may have KIP-848 groups."""

    def __init__(self, name: str, port: int, prefix: str, sasl_port: int = 0) -> None:
        super().__init__(name, port, prefix, sasl_port)
        self.clients = Clients()
        self.consumers: dict[str, dict[str, Any]] = {}  # the KIP-848 groups as last described
        self.topics: dict[str, tuple[str, int]] = {}  # those of the script: id, partitions
        self.is_loose = False
        self.is_mixed = False
        self._settled = ""  # the group whose members have just followed their assignments
        self._sees_consumers = False
        self._topic_names: dict[str, str] = {}
        self._shared_topics: dict[str, str] = {}
        self._ever: set[str] = set()  # names of topics of the script, also of those that are deleted
        self._made = 0
        self._beats: dict[int, Body] = {}
        self._lost: set[int] = set()
        self._syncs: dict[int, str] = {}
        self._synced: dict[str, dict[str, list[int]]] = {}  # what SyncGroup gave to slots of the classic protocol
        self._votes: dict[tuple[str, str], str] = {}  # by group and member id, and by group and instance id
        self._probes = itertools.count()

    async def close(self) -> None:
        """Delete the topics of the script, and close the connections."""
        if self.topics:
            names = [self._prefix + each for each in self.topics]
            await self._ask(DeleteTopicsRequest(topic_names=names, timeout_ms=10_000), 5)
        await super().close()

    async def _ask(self, message: Any, version: int) -> Any:
        return await (await self._wire(CONTROL)).request(message, version)

    # --- what a script does ---

    async def execute(self, index: int, step: Step) -> None:
        self._settled = ""
        if step.get("api") in (BEAT, DESCRIBE):
            self._sees_consumers = True
        if step.get("api") == BEAT:
            self.is_loose = self.is_loose or step.get("loose", False)
            self._beats[index] = self.resolve(step["body"])
            if step.get("lost"):
                self._lost.add(index)
        if step.get("api") == "JoinGroup" and META in repr(step["body"]["protocols"]):
            self.is_mixed = True
        if step.get("api") == "SyncGroup":
            self._syncs[index] = str(step["body"]["member_id"]).removeprefix("$id:").partition("#")[0]
        await super().execute(index, step)
        if index in self._beats and "as" in step:
            self.clients.sent(step["as"], step["body"])

    def resolve(self, value: Any) -> Any:
        if not isinstance(value, str) or not value.startswith("$"):
            return super().resolve(value)
        if TOPIC.fullmatch(value):
            return self._prefix + value[1:]
        if value.startswith(META):
            return encoded_subscription(value, self._prefix, self._synced.get(subscription_of(value), {}))
        if value.startswith(GIVEN):
            return encoded_assignment(value, self._prefix)
        if value.startswith(REGEX):
            return re.escape(self._prefix) + value.removeprefix(REGEX)
        topic = TOPIC_ID.fullmatch(value)
        if topic is not None:
            return self.topics.get(topic.group(1), (NO_ID, 0))[0]
        topic = SHARED_TOPIC_ID.fullmatch(value)
        if topic is not None:
            return self._shared_topics.get(topic.group(1), NO_ID)
        found = self.clients.value_of(value)
        return super().resolve(value) if found is None else found

    def _learn(self, sent: Sent, answer: Any) -> None:
        super()._learn(sent, answer)
        slot_of_sync = self._syncs.pop(sent.index, None)
        if slot_of_sync is not None and answer.error_code == 0:
            self._synced[slot_of_sync] = assigned(answer.assignment.decode("latin-1"))
        body = self._beats.pop(sent.index, None)
        if sent.api != BEAT or body is None:
            return
        if answer.error_code == 0:
            self._count_vote(body, answer.member_id)
        slot = sent.slot or f"stranger{sent.index}"
        if not body["member_id"] and answer.error_code == 0 and answer.member_id not in self._names:
            ids = self.ids.setdefault(slot, [])
            self._names[answer.member_id] = f"$id:{slot}#{len(ids)}"
            ids.append(answer.member_id)
        if sent.slot is not None and sent.index not in self._lost:
            self.clients.of(sent.slot).learn(body, answer)

    def _count_vote(self, body: Body, member_id: str) -> None:
        group_id = body["group_id"]
        keys = [(group_id, member_id), (group_id, f"instance {body.get('instance_id')}")]
        vote = body.get("server_assignor") or next((self._votes[key] for key in keys if key in self._votes), None)
        for key in keys if body.get("instance_id") else keys[:1]:
            if body["member_epoch"] == -1 or vote is None:
                self._votes.pop(key, None)
            else:
                self._votes[key] = vote

    def votes_in(self, group: str) -> list[str]:
        """Return the assignors that the members of a group have voted for."""
        members = {each["member_id"] for each in self.consumers.get(group, {}).get("members", [])}
        return [
            vote
            for (group_id, member_id), vote in self._votes.items()
            if group_id == self._prefix + group and self.comparable_value(member_id) in members
        ]

    # --- topics ---

    async def change_topics(self, step: Step, groups: list[str]) -> str:
        """Change topics, and wait until the coordinator knows of it. Return what it does not get to know."""
        self._settled = ""
        named = {name.removeprefix("$"): count for name, count in step["topics"].items()}
        if step["do"] == "create":
            await self._create(named)
        elif step["do"] == "grow":
            await self._grow(named)
        else:
            await self._delete(named)
        if not await self._becomes(self._topics_are_known):
            return "the topics"
        left = await self._becomes(lambda: self._has_no_offsets_of(named, groups)) if step["do"] == "delete" else True
        return "" if left else "that the offsets of deleted topics are to be deleted"

    async def _create(self, named: dict[str, int]) -> None:
        topics = [
            CreatableTopic(name=self._prefix + name, num_partitions=count, replication_factor=1)
            for name, count in named.items()
            if name not in self.topics
        ]
        if not self._shared_topics:
            await self._find_shared_topics()
        if not topics:
            return
        answer = await self._ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7)
        self._made += 1
        self._ever |= set(named)
        for each in answer.topics:
            assert each.error_code == 0, each
            name, topic_id = each.name.removeprefix(self._prefix), each.topic_id.decode("latin-1")
            self.topics[name] = (topic_id, named[name])
            self._topic_names[topic_id] = f"${name}@{self._made}"

    async def _find_shared_topics(self) -> None:
        """Learn the ids of the topics that are always there."""
        asked = [MetadataRequestTopic(name=each) for each in TOPICS]
        request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
        for each in (await self._ask(request, 12)).topics:
            topic_id = each.topic_id.decode("latin-1")
            self._shared_topics[each.name] = topic_id
            self._topic_names[topic_id] = each.name

    async def _grow(self, named: dict[str, int]) -> None:
        grown = {name: count for name, count in named.items() if name in self.topics and count > self.topics[name][1]}
        topics = [CreatePartitionsTopic(name=self._prefix + each, count=grown[each]) for each in grown]
        for topic in topics:
            topic.assignments = None
        if topics:
            answer = await self._ask(CreatePartitionsRequest(topics=topics, timeout_ms=10_000, validate_only=False), 3)
            assert all(each.error_code == 0 for each in answer.results), answer
        self.topics |= {name: (self.topics[name][0], count) for name, count in grown.items()}

    async def _delete(self, named: dict[str, int]) -> None:
        names = [each for each in named if each in self.topics]
        if not names:
            return
        request = DeleteTopicsRequest(topic_names=[self._prefix + each for each in names], timeout_ms=10_000)
        answer = await self._ask(request, 5)
        assert all(each.error_code == 0 for each in answer.responses), answer
        for name in names:
            del self.topics[name]

    async def _has_no_offsets_of(self, names: Iterable[str], groups: list[str]) -> bool:
        wanted = [OffsetFetchRequestGroup(group_id=self._prefix + each, topics=None) for each in groups]
        answer = await self._ask(OffsetFetchRequest(groups=wanted), 8)
        left = {topic.name.removeprefix(self._prefix) for each in answer.groups for topic in each.topics}
        return left.isdisjoint(names)

    async def _becomes(self, condition: Callable[[], Awaitable[bool]]) -> bool:
        """Return whether a condition becomes true within some seconds."""
        try:
            return await eventually_answered(condition, "the condition", within_s=KNOWN_WITHIN_S)
        except AssertionError:
            return False

    # --- probes ---

    def _probe_group(self) -> str:
        return f"probe{next(self._probes)}-{self._prefix}"

    async def _topics_are_known(self) -> bool:
        """Join a group of its own: a member that is alone is assigned all partitions that the coordinator knows."""
        group = self._probe_group()
        names = [self._prefix + each for each in self._ever]
        told = await self._beat_once({**_join_of(group), "subscribed_topic_names": names})
        found = {
            part.topic_id.decode("latin-1"): len(part.partitions)
            for part in (told.assignment.topic_partitions if told.assignment else [])
        }
        await self._end_probe(group)
        return found == dict(self.topics.values())

    async def await_regexes(self) -> str:
        """Wait until what matches the regular expressions of earlier heartbeats has been found and has been applied."""
        group = self._probe_group()
        told = await self._beat_once({**_join_of(group), "subscribed_topic_regex": TOPICS[0]})

        async def is_resolved() -> bool:
            request = ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)
            (described,) = (await self._ask(request, DESCRIBE_VERSION)).groups
            return bool(described.group_epoch > told.member_epoch)

        is_known = await self._becomes(is_resolved)
        await self._end_probe(group)
        return "" if is_known else "the topics of regular expressions"

    async def _end_probe(self, group: str) -> None:
        await self._beat_once({"group_id": group, "member_id": PROBE, "member_epoch": -1})
        await self._ask(DeleteGroupsRequest(groups_names=[group]), 2)

    async def _beat_once(self, body: Body) -> Any:
        return await self._ask(build(ConsumerGroupHeartbeatRequest, body), BEAT_VERSION)

    # --- simulated clients ---

    async def settle_members(self, group: str) -> str:
        """Let all members of a group follow their assignments until nothing changes any more."""
        group_id = self._prefix + group
        self._settled = group
        before = None
        for _ in range(MOST_ROUNDS):
            for client in self.clients.in_group(group_id):
                await self._follow(client)
            await self.look([group])
            now = self._position(group)
            if now == before:
                return ""
            before = now
        return "the assignments"

    async def keep_alive(self, slots: list[str]) -> str:
        """Let the clients of some slots send a heartbeat."""
        for slot in slots:
            if self.clients.of(slot).is_member:
                await self._follow(self.clients.of(slot))
        return ""

    def _position(self, group: str) -> str:
        clients = self.clients.in_group(self._prefix + group)
        return repr((clients, self.consumers.get(group)))

    async def _follow(self, client: Client) -> None:
        body = client.next_beat()
        told = {topic_id: list(each) for topic_id, each in client.told.items()}
        answer = await self._beat_once(body)
        if answer.error_code == FENCED:
            body = client.next_join()
            answer = await self._beat_once(body)
        client.held = told
        client.learn(body, answer)

    # --- what the server did ---

    async def look(self, groups: list[str]) -> None:
        await super().look(groups)
        if not self._sees_consumers or not groups:
            return
        names = [self._prefix + each for each in groups]
        request = ConsumerGroupDescribeRequest(group_ids=names, include_authorized_operations=False)
        answer = self.comparable_value(plain(await self._ask(request, DESCRIBE_VERSION)))
        for each in answer["groups"]:
            ordered_description(each)
        self.consumers = {each["group_id"][1:]: each for each in answer["groups"] if not each.get("error_code")}

    def outlines(self, groups: list[str]) -> dict[str, Any]:
        found = super().outlines(groups)
        for name in groups if self._sees_consumers else ():
            described = self.consumers.get(name)
            if described is not None:
                is_settled = name == self._settled
                reduced = loose_description(described, is_settled=is_settled) if self.is_loose else described
                found[name] = {**(found[name] or {}), "consumer": reduced}
        return found

    # --- what can be compared ---

    def comparable(self, index: int, step: Step) -> Any:
        found = super().comparable(index, step)
        if "member_id_form" in found:
            found["member_id_form"] = SERVER_ID.sub("?", found["member_id_form"])
        return found

    def comparable_value(self, value: Any) -> Any:
        if isinstance(value, str):
            if value in self._topic_names:
                return self._topic_names[value]
            if value.startswith(re.escape(self._prefix)):
                return REGEX + value.removeprefix(re.escape(self._prefix))
            if value.find(self._prefix) > 0:
                return in_words(value, self._prefix) or super().comparable_value(value)
        return super().comparable_value(value)

    def _ordered(self, found: Any, step: Step) -> Any:
        found = super()._ordered(found, step)
        if step.get("api") == BEAT:
            ordered_assignment(found.get("assignment"))
            return loose_beat(found) if self.is_loose else found
        if step.get("api") == DESCRIBE:
            for each in found.get("groups", []):
                ordered_description(each)
            if self.is_loose:
                found["groups"] = [loose_description(each) for each in found.get("groups", [])]
            found["groups"] = sorted(found.get("groups", []), key=lambda each: str(each.get("group_id")))
        if self.is_loose and self.is_mixed:
            loose_classic(step.get("api", ""), found)
        if step.get("api") == "ListGroups" and self.is_loose:
            for each in found["groups"]:
                each.pop("group_state", None)
        return found


def _join_of(group: str) -> Body:
    return {
        "group_id": group,
        "member_id": PROBE,
        "member_epoch": 0,
        "rebalance_timeout_ms": LONG_MS,
        "topic_partitions": [],
    }
