"""Writes scripts while they run: a seed, and a look at what Kafka said so far, give the next request.

Most steps are what a client might do in this state of its group, so that scripts get deep into rebalances; the others
are what no client should do: stale generations, foreign ids, wrong protocols, requests on a connection that is stuck.
Four kinds of script, drawn by the seed: `plain` (long timeouts: nothing happens by itself), `short` (some session and
rebalance timeouts pass, and the script waits for them), `offsets` (commits, fetches and deletions above all) and
`console` (what consoles ask of the broker: log directories, elections, reassignments, resources, partitions).
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Any, Final

from tests.conformance.frames import bent_frame
from tests.conformance.lockstep import INITIAL_DELAY_MS, SHORT_MS, Lockstep
from tests.conformance.script import Step

LONG_MS: Final = 60_000
LISTS: Final = (
    ("range",),
    ("range",),
    ("range", "roundrobin"),
    ("roundrobin", "range"),
    ("roundrobin", "range", "sticky"),
    ("sticky",),
)
TOPIC: Final = 2  # the type of a resource that has settings
DELETE, APPEND, SUBTRACT = 1, 2, 3  # operations on settings
ADMIN: Final = 50  # the first of the connections for requests that belong to no member
CONSOLE: Final = (
    *("DescribeLogDirs", "ElectLeaders", "ListConfigResources", "DescribeTopicPartitions"),
    *("AlterReplicaLogDirs", "AlterPartitionReassignments", "ListPartitionReassignments"),
)
MALFORMED: Final = (
    "00000000",  # no header at all
    "ffffffff",  # a negative length
    "7fffffff000b",  # longer than any server allows
    "0000000a03e80000000000010000",  # an unknown key
    "0000000a000b00630000000100ff",  # a version that does not exist
    "0000000e000b00000000000100000007666f6f62",  # a string longer than its frame
)


@dataclass(slots=True)
class Slot:
    """A member, or one to be."""

    name: str
    group: str
    connection: int
    instance: str | None
    protocols: tuple[str, ...]
    metadata: str
    session_ms: int
    rebalance_ms: int
    sent_join: bool = False


class Generator:
    """One script's worth of decisions; `next_step` is what Lockstep asks."""

    def __init__(self, seed: str, steps: int, versions: dict[str, range]) -> None:
        self._random = random.Random(seed)
        self._left = steps
        self._versions = versions
        kind = self._random.random()
        self.kind = "short" if kind < 0.25 else "offsets" if kind < 0.4 else "console" if kind < 0.45 else "plain"
        self._groups = ["g0"] if self._random.random() < 0.75 else ["g0", "g1"]
        self._types = {
            each: self._random.choice(("consumer", "consumer", "consumer", "connect")) for each in self._groups
        }
        self._rebalance_short = self.kind == "short" and self._random.random() < 0.6
        self._odd = self._random.choice((0.05, 0.12, 0.25))
        self._newest_only = self._random.random() < 0.4
        self._slots: list[Slot] = []
        self._initial: dict[str, float] = {}  # groups in their initial delay, and since when
        self._queue: list[Step] = []
        self._offset = 0

    def next_step(self, run: Lockstep) -> Step | None:
        if self._left <= 0:
            return None
        self._left -= 1
        if self._queue:
            return self._queue.pop(0)
        if self.kind == "console":
            return self._console_step()
        if run.time_is_short():
            return {"op": "wait"}
        return self._step_of(run, self._random.choice(self._groups))

    def _step_of(self, run: Lockstep, group: str) -> Step:
        """Return a step about a group of the classic protocol."""
        state = run.kafka.state(group)
        now = asyncio.get_running_loop().time()
        for name, since in self._initial.items():
            if now - since > 0.2 * INITIAL_DELAY_MS / 1000:
                self._initial.pop(name)
                return {"op": "settle", "g": name}
        if state == "PreparingRebalance" and group in self._initial and self._random.random() < 0.55:
            self._initial.pop(group)
            return {"op": "settle", "g": group}
        if self._random.random() < self._odd:
            step = self._odd_step(run, group)
        elif self.kind == "offsets" and self._random.random() < 0.6:
            step = self._offsets_step(run, group)
        else:
            step = self._likely_step(run, group, state)
        if state in ("Empty", "Dead") and step.get("api") == "JoinGroup":
            self._initial[group] = now
        return step

    # --- members ---

    def _new_slot(self, group: str) -> Slot:
        number = len(self._slots)
        statics = sum(1 for each in self._slots if each.instance)
        instance = f"i{statics}" if self._random.random() < 0.3 else None
        topic = self._random.choice(("t0", "t0", "t1", "none"))
        metadata = f"$sub:{topic}" if self._random.random() < 0.9 else self._random.choice(("", "x", "\x00"))
        short_session = self.kind == "short" and self._random.random() < 0.6
        slot = Slot(
            name=f"m{number}",
            group=group,
            connection=number,
            instance=instance,
            protocols=self._random.choice(LISTS[:5]),
            metadata=metadata,
            session_ms=SHORT_MS if short_session else LONG_MS,
            rebalance_ms=SHORT_MS if self._rebalance_short else LONG_MS,
        )
        self._slots.append(slot)
        return slot

    def _members(self, run: Lockstep, group: str) -> list[Slot]:
        """The slots that Kafka holds as members now."""
        present = {each.get("member_id", "") for each in run.kafka.view.get(group, {}).get("members", [])}
        return [each for each in self._slots if each.group == group and self._newest_id(run, each) in present]

    @staticmethod
    def _newest_id(run: Lockstep, slot: Slot) -> str:
        return f"$id:{slot.name}#{len(run.kafka.ids.get(slot.name, [])) - 1}"

    @staticmethod
    def _parked(run: Lockstep, slot: Slot) -> bool:
        return any(sent.slot == slot.name for sent in run.kafka.pending.values())

    @staticmethod
    def _was_removed(run: Lockstep, slot: Slot) -> bool:
        """Its newest answer was that it is not known, or that there is no room: a client starts again."""
        for index in sorted(run.kafka.answers, reverse=True):
            step, answer = run.script[index], run.kafka.answers[index]
            body = step.get("body", {})
            is_its = step.get("as") == slot.name or body.get("member_id") == f"$id:{slot.name}"
            if is_its and not isinstance(answer, dict) and hasattr(answer, "error_code"):
                return answer.error_code in (25, 81, 82)
        return False

    def _version(self, api: str, at_least: int = 0) -> int:
        versions = [each for each in self._versions[api] if each >= at_least]
        if self._newest_only and self._random.random() < 0.8:
            return versions[-1]
        return self._random.choice(versions)

    def _send(self, connection: int, api: str, body: dict[str, Any], *, at_least: int = 0, **more: Any) -> Step:
        version = more.pop("v", None)
        version = self._version(api, at_least) if version is None else version
        return {"op": "send", "c": connection, "api": api, "v": version, **more, "body": body}

    def _connection(self, run: Lockstep, slot: Slot, *, same: float = 0.25) -> int:
        """The member's own connection, or the other one it has beside it when the first may be stuck."""
        if not run.kafka.blocked(slot.connection) and self._random.random() < same:
            return slot.connection
        if self._random.random() < 0.03:
            return slot.connection  # even if it is stuck: the request waits behind
        return slot.connection + 20

    # --- requests ---

    def _join(self, run: Lockstep, slot: Slot, *, member_id: str | None = None) -> Step:
        if member_id is None:
            member_id = f"$id:{slot.name}" if run.kafka.ids.get(slot.name) else ""
            if self._was_removed(run, slot) and self._random.random() < 0.85:
                member_id = ""
        body: dict[str, Any] = {
            "group_id": f"${slot.group}",
            "session_timeout_ms": slot.session_ms,
            "rebalance_timeout_ms": slot.rebalance_ms,
            "member_id": member_id,
            "protocol_type": self._types[slot.group],
            "protocols": [{"name": each, "metadata": slot.metadata} for each in slot.protocols],
        }
        if slot.instance is not None:
            body["group_instance_id"] = slot.instance
        if self._random.random() < 0.1:
            body["reason"] = "because"
        connection = slot.connection
        if run.kafka.blocked(connection) and self._random.random() < 0.95:
            connection = slot.connection + 20
        slot.sent_join = True
        return self._send(connection, "JoinGroup", body, at_least=5 if slot.instance else 0, **{"as": slot.name})

    def _sync(self, run: Lockstep, slot: Slot, *, leads: bool) -> Step:
        assignments = []
        if leads:
            assignments = [
                {"member_id": f"$id:{each.name}", "assignment": f"for {each.name} {self._left}"}
                for each in self._members(run, slot.group)
                if self._random.random() < 0.93
            ]
            if self._random.random() < 0.1:
                assignments.append({"member_id": "stranger", "assignment": "?"})
            if assignments and self._random.random() < 0.05:
                assignments.append({**assignments[0], "assignment": "twice"})
        elif self._random.random() < 0.05:
            assignments.append({"member_id": f"$id:{slot.name}", "assignment": "mine"})
        version = self._version("SyncGroup", 3 if slot.instance else 0)
        body = {
            "group_id": f"${slot.group}",
            "generation_id": f"$gen:{slot.name}",
            "member_id": f"$id:{slot.name}",
            "assignments": assignments,
        }
        if slot.instance is not None and self._random.random() < 0.9:
            body["group_instance_id"] = slot.instance
        if version >= 5:
            body["protocol_type"] = self._types[slot.group]
            body["protocol_name"] = self._chosen(run, slot.group)
        connection = slot.connection
        if run.kafka.blocked(connection):
            connection += 20
        return self._send(connection, "SyncGroup", body, v=version)

    @staticmethod
    def _newest_join(run: Lockstep, group: str) -> Any:
        """Kafka's newest successful answer to a Join of this group, if any."""
        for index in sorted(run.kafka.answers, reverse=True):
            step, answer = run.script[index], run.kafka.answers[index]
            is_join = step.get("api") == "JoinGroup" and step["body"]["group_id"] == f"${group}"
            if is_join and not isinstance(answer, dict) and answer.error_code == 0:
                return answer
        return None

    def _chosen(self, run: Lockstep, group: str) -> str:
        answer = self._newest_join(run, group)
        return "range" if answer is None else str(answer.protocol_name)

    def _leader(self, run: Lockstep, group: str) -> str:
        answer = self._newest_join(run, group)
        return "" if answer is None else str(answer.leader)

    def _is_leader(self, run: Lockstep, slot: Slot) -> bool:
        return self._leader(run, slot.group) in run.kafka.ids.get(slot.name, [])[-1:]

    def _heartbeat(self, run: Lockstep, slot: Slot) -> Step:
        body = {"group_id": f"${slot.group}", "generation_id": f"$gen:{slot.name}", "member_id": f"$id:{slot.name}"}
        if slot.instance is not None and self._random.random() < 0.8:
            body["group_instance_id"] = slot.instance
        return self._send(self._connection(run, slot), "Heartbeat", body, at_least=3 if slot.instance else 0)

    def _leave(self, run: Lockstep, slots: list[Slot]) -> Step:
        slot = slots[0]
        if len(slots) == 1 and slot.instance is None and self._random.random() < 0.5:
            version = self._random.choice([each for each in self._versions["LeaveGroup"] if each < 3])
            body: dict[str, Any] = {"group_id": f"${slot.group}", "member_id": f"$id:{slot.name}"}
            return self._send(self._connection(run, slot), "LeaveGroup", body, v=version)
        members = []
        for each in slots:
            identity: dict[str, Any] = {"member_id": f"$id:{each.name}", "group_instance_id": each.instance}
            if each.instance is not None and self._random.random() < 0.5:
                identity["member_id"] = ""
            members.append(identity)
        if self._random.random() < 0.15:
            members.append({"member_id": "stranger", "group_instance_id": self._random.choice((None, "i0", "nobody"))})
        body = {"group_id": f"${slot.group}", "members": members}
        return self._send(self._connection(run, slot), "LeaveGroup", body, at_least=3)

    def _likely_step(self, run: Lockstep, group: str, state: str) -> Step:
        chance = self._random.random()
        slots = [each for each in self._slots if each.group == group]
        members = self._members(run, group)
        waiting = [each for each in slots if each.sent_join and each not in members and not self._parked(run, each)]
        if chance < 0.015:
            return self._console_step()
        if chance < 0.06:
            return self._admin(run, group)
        if chance < 0.14:
            return self._offsets_step(run, group)
        if state in ("Empty", "Dead"):
            if waiting and self._random.random() < 0.7:
                return self._join(run, self._random.choice(waiting))
            return self._join(run, self._new_slot(group), member_id="")
        free = [each for each in members if not self._parked(run, each)]
        if state == "PreparingRebalance":
            if waiting and chance < 0.35:
                return self._join(run, self._random.choice(waiting))
            if free and chance < 0.75:
                return self._join(run, self._random.choice(free))
            if chance < 0.82 and len(slots) < 8:
                return self._join(run, self._new_slot(group), member_id="")
            if free and chance < 0.92:
                return self._heartbeat(run, self._random.choice(free))
            if self.kind == "short" and chance < 0.97:
                return {"op": "wait"}
            return self._some_leave(run, group, members)
        if state == "CompletingRebalance":
            leaders = [each for each in free if self._is_leader(run, each)]
            followers = [each for each in free if each not in leaders]
            if leaders and chance < 0.5:
                return self._sync(run, leaders[0], leads=True)
            if followers and chance < 0.75:
                return self._sync(run, self._random.choice(followers), leads=False)
            if free and chance < 0.83:
                return self._heartbeat(run, self._random.choice(free))
            if free and chance < 0.88:
                return self._join(run, self._changed(self._random.choice(free)))
            if self.kind == "short" and chance < 0.92:
                return {"op": "wait"}
            return self._some_leave(run, group, members)
        return self._in_stable(run, group, chance, free, members, waiting)

    def _in_stable(
        self, run: Lockstep, group: str, chance: float, free: list[Slot], members: list[Slot], waiting: list[Slot]
    ) -> Step:
        statics = [each for each in members if each.instance is not None]
        if waiting and chance < 0.25:
            return self._join(run, self._random.choice(waiting))
        if free and chance < 0.35:
            return self._heartbeat(run, self._random.choice(free))
        if free and chance < 0.45:
            return self._sync(run, self._random.choice(free), leads=False)
        if len(members) < 5 and chance < 0.62:
            return self._join(run, self._new_slot(group), member_id="")
        if statics and chance < 0.75:
            return self._join(run, self._changed(self._random.choice(statics), often=0.3), member_id="")
        if free and chance < 0.86:
            return self._join(run, self._changed(self._random.choice(free), often=0.4))
        if self.kind == "short" and chance < 0.92:
            return {"op": "wait"}
        return self._some_leave(run, group, members)

    def _changed(self, slot: Slot, often: float = 0.6) -> Slot:
        """Perhaps with another subscription or other protocols from here on."""
        if self._random.random() < often:
            if self._random.random() < 0.6:
                slot.metadata = f"$sub:{self._random.choice(('t0', 't1', 'none'))}"
            else:
                slot.protocols = self._random.choice(LISTS)
            if self.kind == "short":
                slot.session_ms = self._random.choice((SHORT_MS, LONG_MS))
        return slot

    def _some_leave(self, run: Lockstep, group: str, members: list[Slot]) -> Step:
        slots = [each for each in self._slots if each.group == group]
        pending = [each for each in slots if each not in members]
        if pending and self._random.random() < 0.25:
            return self._leave(run, [self._random.choice(pending)])
        if not members:
            return self._admin(run, group)
        # With two or more left, Kafka chooses any as the next leader: scripts end there, so it is made rare.
        usual = [each for each in members if not self._is_leader(run, each)]
        if usual and len(members) > 2 and self._random.random() < 0.9:
            members = usual
        count = self._random.choice((1, 1, 1, 2, len(members)))
        return self._leave(run, self._random.sample(members, min(count, len(members))))

    # --- offsets and administration ---

    def _topic(self) -> str:
        return self._random.choice(("t0", "t0", "t1", "t1", "missing", ""))

    def _partitions(self) -> list[int]:
        return self._random.choice(([0], [1], [0, 1], [0, 1, 2], [3], [7], [1, 1], [], [-1]))

    def _offsets_step(self, run: Lockstep, group: str) -> Step:
        members = self._members(run, group)
        chance = self._random.random()
        if chance < 0.5:
            return self._commit(run, group, members)
        if chance < 0.85:
            return self._fetch(group)
        return self._offset_delete(group)

    def _commit(self, run: Lockstep, group: str, members: list[Slot]) -> Step:
        body: dict[str, Any] = {"group_id": f"${group}", "topics": []}
        connection = ADMIN
        at_least = 2
        if members and self._random.random() < 0.8:
            slot = self._random.choice(members)
            connection = self._connection(run, slot)
            body["member_id"] = f"$id:{slot.name}"
            body["generation_id_or_member_epoch"] = f"$gen:{slot.name}"
            if self._random.random() < 0.1:
                body["generation_id_or_member_epoch"] = self._random.choice((-1, 0, f"$gen:{slot.name}:-1", 77))
            if slot.instance is not None and self._random.random() < 0.7:
                body["group_instance_id"] = slot.instance
                at_least = 7
        elif self._random.random() < 0.3:
            body["member_id"] = self._random.choice(("", "stranger"))
            body["generation_id_or_member_epoch"] = self._random.choice((-1, 0, 1, -5))
        for _ in range(self._random.choice((0, 1, 1, 1, 2))):
            partitions = []
            for partition in self._partitions():
                self._offset += 1
                each: dict[str, Any] = {"partition_index": partition, "committed_offset": self._offset}
                each["committed_metadata"] = self._random.choice(("", "note", None, "ä😀", "$x4096", "$x4097"))
                if self._random.random() < 0.3:
                    each["committed_leader_epoch"] = self._random.choice((0, 5, -1))
                if self._random.random() < 0.05:
                    each["committed_offset"] = self._random.choice((-1, -100, 2**62))
                partitions.append(each)
            body["topics"].append({**self._named_topic(), "partitions": partitions})
        if self._random.random() < 0.1:
            body["retention_time_ms"] = self._random.choice((-1, 3_600_000))
        return self._send(connection, "OffsetCommit", body, at_least=at_least)

    def _named_topic(self) -> dict[str, str]:
        """Name a topic in both ways, by name and by id: a version has one of them."""
        name = self._topic()
        return {"name": name, "topic_id": f"$shared:{name}"}

    def _fetch(self, group: str) -> Step:
        version = self._version("OffsetFetch")
        if version < 8:
            body: dict[str, Any] = {"group_id": f"${group}"}
            if version >= 2 and self._random.random() < 0.4:
                body["topics"] = None
            else:
                body["topics"] = [
                    {"name": self._topic(), "partition_indexes": self._partitions()}
                    for _ in range(self._random.choice((0, 1, 2)))
                ]
        else:
            body = {"groups": []}
            for _ in range(self._random.choice((0, 1, 1, 2))):
                name = self._random.choice((f"${group}", f"${group}", *(f"${each}" for each in self._groups), "nobody"))
                entry: dict[str, Any] = {"group_id": name, "topics": None}
                if self._random.random() < 0.6:
                    entry["topics"] = [
                        {**self._named_topic(), "partition_indexes": self._partitions()}
                        for _ in range(self._random.choice((0, 1, 2)))
                    ]
                if version >= 9 and self._random.random() < 0.2:
                    entry["member_id"] = self._random.choice((None, "", "stranger"))
                    entry["member_epoch"] = self._random.choice((-1, 0, 3))
                body["groups"].append(entry)
        if version >= 7 and self._random.random() < 0.4:
            body["require_stable"] = True
        return self._send(ADMIN, "OffsetFetch", body, v=version)

    def _offset_delete(self, group: str) -> Step:
        topics = [
            {"name": self._topic(), "partitions": [{"partition_index": each} for each in self._partitions()]}
            for _ in range(self._random.choice((0, 1, 1, 2)))
        ]
        return self._send(ADMIN, "OffsetDelete", {"group_id": f"${group}", "topics": topics})

    def _alter_configs(self) -> Step:
        """Settings of topics that all scripts share: the outcome must not depend on what others set meanwhile."""
        api = self._random.choice(("AlterConfigs", "IncrementalAlterConfigs"))
        names = self._random.choice((["t0"], ["t1"], ["t0", "missing"], ["missing", "t1"], [""], ["a b"], []))
        resources = []
        for name in names:
            configs = [self._setting(api) for _ in range(self._random.choice((0, 1, 1, 1, 2)))]
            kind = self._random.choice((TOPIC, TOPIC, TOPIC, TOPIC, 0, 99))
            resources.append({"resource_type": kind, "resource_name": name, "configs": configs})
        # Kafka 4.4.0 does not answer AlterConfigs with one resource twice: scripts do not ask.
        return self._send(ADMIN, api, {"resources": resources, "validate_only": self._random.random() < 0.3})

    def _setting(self, api: str) -> dict[str, Any]:
        if api == "IncrementalAlterConfigs" and self._random.random() < 0.4:
            operation = self._random.choice((DELETE, APPEND, SUBTRACT))
            value = self._random.choice(("delete", "compact", "delete,compact", None))
            return {"name": "cleanup.policy", "config_operation": operation, "value": value}
        name, values = self._random.choice(
            (
                (
                    "cleanup.policy",
                    # No blank: Kafka keeps its text, and a later APPEND by any script then fails there alone.
                    ("", "delete", "compact", " delete , compact", "delete,delete", ",", "x", None),
                ),
                ("retention.ms", ("-1", "604800000", " 604800000", "-2", "soon", "", None)),
                ("no.such", ("1", "", None)),
            )
        )
        return {"name": name, "value": self._random.choice(values)}

    def _admin(self, run: Lockstep, group: str) -> Step:
        if self._random.random() < 0.1:
            return self._alter_configs()
        chance = self._random.random()
        names = self._random.choice(([f"${group}"], [f"${group}", "nobody"], [f"${each}" for each in self._groups], []))
        if chance < 0.4:
            operations = self._random.random() < 0.4
            return self._send(ADMIN, "DescribeGroups", {"groups": names, "include_authorized_operations": operations})
        if chance < 0.65:
            version = self._version("ListGroups")
            body: dict[str, Any] = {}
            if version >= 4 and self._random.random() < 0.5:
                states = (["Stable"], [" stable "], ["EMPTY", "Dead"], ["PreparingRebalance"], ["nonsense"], [""])
                body["states_filter"] = self._random.choice(states)
            if version >= 5 and self._random.random() < 0.4:
                body["types_filter"] = self._random.choice(
                    (["classic"], ["CLASSIC"], ["consumer"], ["foo"], [" classic"])
                )
            return self._send(ADMIN, "ListGroups", body, v=version)
        if chance < 0.8:
            version = self._version("FindCoordinator")
            body = {}
            if version >= 1:
                body["key_type"] = self._random.choice((0, 0, 0, 0, 0, 0, 1, 2, 3, -1))
            if version >= 4:
                body["coordinator_keys"] = self._random.choice(([f"${group}"], [f"${group}", "", f"${group}"], []))
            else:
                body["key"] = self._random.choice((f"${group}", ""))
            return self._send(ADMIN, "FindCoordinator", body, v=version)
        empty = run.kafka.state(group) in ("Empty", "Dead")
        if not empty and self._random.random() < 0.6:
            return self._admin(run, group)
        names = self._random.choice(([f"${group}"], [f"${group}", "nobody"], [f"${group}", f"${group}"], []))
        return self._send(ADMIN, "DeleteGroups", {"groups_names": names})

    # --- what consoles ask of the broker ---

    def _console_step(self) -> Step:
        api = self._random.choice(CONSOLE)
        version = self._version(api)
        names = [self._random.choice(("t0", "t1", "nope", "a/b")) for _ in range(self._random.choice((0, 1, 2, 4)))]
        body: dict[str, Any] = {}
        if api == "DescribeLogDirs":
            asked = [{"topic": each, "partitions": self._indexes()} for each in names]
            body["topics"] = self._random.choice((None, asked))
        elif api == "ElectLeaders":
            asked = [{"topic": each, "partitions": self._indexes()} for each in names]
            body["topic_partitions"] = self._random.choice((None, asked, asked))
            if version >= 1:
                body["election_type"] = self._random.choice((0, 0, 1, 1, 7, -1))
        elif api == "AlterReplicaLogDirs":  # the directory of the server is not known here
            moved = [{"name": each, "partitions": self._indexes()} for each in names]
            body["dirs"] = [{"path": "/nope", "topics": moved}]
        elif api == "AlterPartitionReassignments":
            places = (None, [1], [1], [7], [], [1, 1], [1, 7])
            parts = [{"partition_index": each, "replicas": self._random.choice(places)} for each in self._indexes()]
            body["topics"] = [{"name": each, "partitions": parts} for each in names]
            if version >= 1:
                body["allow_replication_factor_change"] = self._random.random() < 0.7
        elif api == "ListPartitionReassignments":
            asked = [{"name": each, "partition_indexes": self._indexes()} for each in names]
            body["topics"] = self._random.choice((None, asked))
        elif api == "ListConfigResources":
            if version >= 1:
                types = ([], [2], [4, 2, 8], [16, 32], [0], [1, 2], [64], [4, 4])
                body["resource_types"] = self._random.choice(types)
        else:
            body["topics"] = [{"name": each} for each in names]
            body["response_partition_limit"] = self._random.choice((2000, 1, 2, 3, 0, -5))
            # Other topics than those of the scripts come before t0 and are not the same on both.
            first = self._random.choice(("t0", "t0", "t1", "tA", "u"))
            if not names or self._random.random() < 0.5:
                index = self._random.choice((0, 1, 3, 4, 9, -1))
                body["cursor"] = {"topic_name": first, "partition_index": index}
        return self._send(ADMIN, api, body, v=version)

    def _indexes(self) -> list[int]:
        return [self._random.choice((0, 1, 2, 3, 4, -1)) for _ in range(self._random.choice((0, 1, 2, 3)))]

    # --- what no client should do ---

    def _odd_step(self, run: Lockstep, group: str) -> Step:
        slots = [each for each in self._slots if each.group == group] or [self._new_slot(group)]
        slot = self._random.choice(slots)
        chance = self._random.random()
        if chance < 0.08:
            connections = [each.connection for each in self._slots] + [ADMIN]
            return {"op": "close", "c": self._random.choice(connections)}
        if chance < 0.11:
            return {"op": "bytes", "c": 90 + self._left % 5, "hex": self._random.choice(MALFORMED)}
        if chance < 0.2:
            return {"op": "frame", "c": 99, "hex": bent_frame(self._random, self._versions)}
        if chance < 0.48:
            step = self._join(run, slot)
            return self._bent_join(run, step, slot)
        if chance < 0.6:
            step = self._sync(run, slot, leads=self._random.random() < 0.3)
            self._bend(step["body"], "generation_id", (0, -1, f"$gen:{slot.name}:-1", f"$gen:{slot.name}:+1", 77))
            self._bend_identity(step, slot)
            if step["v"] >= 5:
                self._bend(step["body"], "protocol_type", (None, "", "connect", "consumer"))
                self._bend(step["body"], "protocol_name", (None, "", "range", "roundrobin"))
            return step
        if chance < 0.75:
            step = self._heartbeat(run, slot)
            self._bend(step["body"], "generation_id", (0, -1, f"$gen:{slot.name}:-1", f"$gen:{slot.name}:+1", 77))
            self._bend_identity(step, slot)
            return step
        if chance < 0.88:
            identities: list[dict[str, Any]] = []
            for _ in range(self._random.choice((0, 1, 2, 3))):
                other = self._random.choice(slots)
                member_id = self._random.choice(("", "stranger", f"$id:{other.name}", f"$id:{other.name}#0"))
                instance = self._random.choice((None, other.instance, "i0", "i1", "nobody", ""))
                identities.append({"member_id": member_id, "group_instance_id": instance})
            group_id = self._random.choice((f"${group}", f"${group}", f"${group}", "", "nobody"))
            return self._send(ADMIN, "LeaveGroup", {"group_id": group_id, "members": identities}, at_least=3)
        step = self._offsets_step(run, group)
        if "group_id" in step["body"]:
            self._bend(step["body"], "group_id", ("", "nobody", f"${group}"))
        if step["api"] == "OffsetCommit":
            step["body"].setdefault("member_id", "")
            self._bend(step["body"], "member_id", ("", "stranger", f"$id:{slot.name}#0"))
            if step["body"]["group_id"] == "":
                step["body"]["group_id"] = f"${group}"  # the legacy group is shared by all scripts
        return step

    def _bend(self, body: dict[str, Any], key: str, values: tuple[Any, ...]) -> None:
        if self._random.random() < 0.45:
            body[key] = self._random.choice(values)

    def _bend_identity(self, step: Step, slot: Slot) -> None:
        self._bend(step["body"], "member_id", ("", "stranger", f"$id:{slot.name}#0"))
        if step["v"] >= 3:
            self._bend(step["body"], "group_instance_id", (None, "nobody", "i0", "i1", ""))
        if self._random.random() < 0.08:
            step["body"]["group_id"] = self._random.choice(("", "nobody"))

    def _bent_join(self, run: Lockstep, step: Step, slot: Slot) -> Step:
        body = step["body"]
        chance = self._random.random()
        if chance < 0.15:
            body["protocol_type"] = self._random.choice(("", "connect", "consumer"))
        elif chance < 0.3:
            lists = ((), ("cooperative",), ("range", "range"), ("sticky",))
            names = self._random.choice(lists)
            body["protocols"] = [{"name": each, "metadata": slot.metadata} for each in names]
        elif chance < 0.4:
            body["session_timeout_ms"] = self._random.choice((0, -1, 99, 1_800_001, 2**31 - 1))
        elif chance < 0.5:
            body["group_id"] = self._random.choice(("", f"${slot.group}"))
        elif chance < 0.75:
            body["member_id"] = self._random.choice(("stranger", "", f"$id:{slot.name}#0"))
        elif step["v"] >= 5:
            body["group_instance_id"] = self._random.choice(("i0", "i1", "nobody", "", None))
        if self._random.random() < 0.3:
            step["c"] = slot.connection + 40
        return step
