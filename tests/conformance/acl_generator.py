"""Scripts with access rules: the steps of the usual scripts, sent by users, and rules that come and go.

Each connection belongs to a user, who may be the super user. Some steps are sent by another one. Of the requests that
usual scripts do not have, those are here that need rights and change nothing.
"""

from __future__ import annotations

from typing import Any, Final

from coordinator.security.acl.model import CLUSTER_NAME, OPERATIONS, ResourceType
from tests.conformance.generator import ADMIN, Generator, Slot
from tests.conformance.lockstep import Lockstep
from tests.conformance.script import ALL_GROUPS, CAN_PARK, Step

RULES: Final = 60  # the connection of the super user for rules
ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
ALL: Final = 2
DENY, ALLOW = 2, 3
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 2, 3, 4, 5
NAMES: Final = {
    TOPIC: (("t0", LITERAL), ("t1", LITERAL), ("t", PREFIXED), ("t0", PREFIXED), ("missing", LITERAL), ("*", LITERAL)),
    GROUP: (("$g0", LITERAL), ("$g1", LITERAL), (ALL_GROUPS, PREFIXED), ("no", PREFIXED), ("*", LITERAL)),
    CLUSTER: ((CLUSTER_NAME, LITERAL), (CLUSTER_NAME, LITERAL), ("kafka", PREFIXED)),
    TRANSACTIONAL_ID: (("$g0", LITERAL), ("*", LITERAL)),
}
PRINCIPALS: Final = ("User:alice", "User:bob", "User:carol", "User:*", "User:dave")
HOSTS: Final = ("*", "*", "*", "*", "127.0.0.1", "127.0.0.2", "127.0.0.0/8", "10.0.0.0/8")
# What a creation may have wrong, one at a time.
ODD: Final = (
    ("resource_name", ""),
    ("resource_name", "t"),
    ("resource_type", ANY),
    ("resource_type", 99),
    ("resource_pattern_type", ANY),
    ("resource_pattern_type", MATCH),
    ("resource_pattern_type", 99),
    ("operation", ANY),
    ("operation", 99),
    ("permission_type", ANY),
    ("permission_type", 99),
    ("principal", "alice"),
    ("principal", "Group:alice"),
    ("host", ""),
    ("host", "127.0.0.1/33"),
)
OPENINGS: Final = 6
READERS: Final = (
    "Metadata",
    "ListOffsets",
    "OffsetForLeaderEpoch",
    "DescribeCluster",
    "InitProducerId",
    "CreateTopics",
)
MORE_READERS: Final = ("CreatePartitions", "DeleteRecords", "DescribeConfigs", "DescribeAcls")


class AclGenerator(Generator):
    """One script's worth of decisions, with access rules."""

    def __init__(self, seed: str, steps: int, versions: dict[str, range]) -> None:
        super().__init__(seed, steps, versions)
        if self.kind == "short":  # waiting is what its scripts are about
            self.kind, self._rebalance_short = "plain", False
        self._opening = self._random.choice((0, 1, 2, 3))

    def next_step(self, run: Lockstep) -> Step | None:
        if self._left <= 0:
            return None
        chance = self._random.random()
        if self._opening:
            self._opening -= 1
            self._left -= 1
            return self._create_rules([self._usual_rule() for _ in range(OPENINGS)])
        if chance < 0.14:
            self._left -= 1
            return self._change_rules()
        if chance < 0.3:
            self._left -= 1
            return self._by_user(self._broker_step())
        step = super().next_step(run)
        return step if step is None or step["op"] != "send" else self._by_user(step)

    def _new_slot(self, group: str) -> Slot:
        slot = super()._new_slot(group)
        slot.connection += self._user()
        return slot

    def _user(self) -> int:
        """Return the hundreds of the connections of some user."""
        return 100 * self._random.choice((0, 1, 1, 1, 2, 2, 3))

    def _by_user(self, step: Step) -> Step:
        if step["c"] == ADMIN or (step["api"] not in CAN_PARK and self._random.random() < 0.15):
            step["c"] = step["c"] % 100 + self._user()
        return step

    # --- rules ---

    def _usual_rule(self) -> dict[str, Any]:
        """A right that lets a group work."""
        kind = self._random.choice((TOPIC, GROUP, GROUP, CLUSTER))
        name, pattern = self._random.choice(NAMES[kind][-3:])
        return {
            "resource_type": kind,
            "resource_name": name,
            "resource_pattern_type": pattern,
            "principal": self._random.choice(PRINCIPALS[:4]),
            "host": "*",
            "operation": self._random.choice((ALL, int(self._random.choice(OPERATIONS[ResourceType(kind)])))),
            "permission_type": ALLOW,
        }

    def _rule(self) -> dict[str, Any]:
        kind = self._random.choice((TOPIC, TOPIC, TOPIC, GROUP, GROUP, GROUP, CLUSTER, CLUSTER, TRANSACTIONAL_ID))
        name, pattern = self._random.choice(NAMES[kind])
        operations = [*map(int, OPERATIONS[ResourceType(kind)]), ALL, ALL]
        rule = {
            "resource_type": kind,
            "resource_name": name,
            "resource_pattern_type": pattern,
            "principal": self._random.choice(PRINCIPALS),
            "host": self._random.choice(HOSTS),
            "operation": self._random.choice(operations),
            "permission_type": self._random.choice((ALLOW, ALLOW, DENY)),
        }
        if self._random.random() < 0.05:
            field, value = self._random.choice(ODD)
            rule[field] = value
        return rule

    def _create_rules(self, rules: list[dict[str, Any]]) -> Step:
        return self._send(RULES, "CreateAcls", {"creations": rules})

    def _change_rules(self) -> Step:
        chance = self._random.random()
        count = self._random.choice((1, 1, 2, 3))
        if chance < 0.55:
            step = self._create_rules([self._rule() for _ in range(count)])
        elif chance < 0.85:
            step = self._send(RULES, "DeleteAcls", {"filters": [self._filter() for _ in range(count)]})
        else:
            step = self._describe_rules()
        if self._random.random() < 0.1:
            step["c"] = RULES + self._user()
        return step

    def _filter(self) -> dict[str, Any]:
        """A filter for some rules: those like one rule, of which some fields are left open."""
        rule = self._rule()
        opened = {
            "resource_type": ANY,
            "resource_name": None,
            "resource_pattern_type": self._random.choice((ANY, MATCH)),
            "principal": None,
            "host": None,
            "operation": ANY,
            "permission_type": ANY,
        }
        rule.update({field: value for field, value in opened.items() if self._random.random() < 0.6})
        return {FILTER_FIELDS.get(field, field): value for field, value in rule.items()}

    def _describe_rules(self) -> Step:
        return self._send(RULES, "DescribeAcls", self._filter())

    # --- what brokers are asked by all clients ---

    def _broker_step(self) -> Step:
        api = self._random.choice((*READERS, *MORE_READERS))
        if api == "DescribeAcls":
            step = self._describe_rules()
            step["c"] = ADMIN
            return step
        version = self._version(api)
        names = [self._random.choice(("t0", "t1", "nope", "t0x")) for _ in range(self._random.choice((0, 1, 2, 3)))]
        body: dict[str, Any] = getattr(self, BODIES[api])(version, list(dict.fromkeys(names)))
        return self._send(ADMIN, api, body, v=version)

    def _metadata(self, version: int, names: list[str]) -> dict[str, Any]:
        body: dict[str, Any] = {"topics": [{"name": each} for each in names]}
        if version >= 1 and self._random.random() < 0.3:
            body["topics"] = None
        if version >= 4:
            body["allow_auto_topic_creation"] = self._random.random() < 0.5
        if 8 <= version <= 10:
            body["include_cluster_authorized_operations"] = self._random.random() < 0.5
        if version >= 8:
            body["include_topic_authorized_operations"] = self._random.random() < 0.5
        return body

    def _list_offsets(self, version: int, names: list[str]) -> dict[str, Any]:
        partitions = [{"partition_index": 0, "timestamp": -1}]
        return {"replica_id": -1, "topics": [{"name": each, "partitions": partitions} for each in names]}

    def _leader_epochs(self, version: int, names: list[str]) -> dict[str, Any]:
        body: dict[str, Any] = {"topics": [{"topic": each, "partitions": [{"partition": 0}]} for each in names]}
        if version >= 3:
            body["replica_id"] = self._random.choice((-1, -2))
        return body

    def _cluster(self, version: int, names: list[str]) -> dict[str, Any]:
        return {"include_cluster_authorized_operations": self._random.random() < 0.7}

    def _producer(self, version: int, names: list[str]) -> dict[str, Any]:
        return {"transactional_id": None, "transaction_timeout_ms": 60_000}

    def _new_topics(self, version: int, names: list[str]) -> dict[str, Any]:
        topics = [{"name": each, "num_partitions": 1, "replication_factor": 1} for each in names]
        return {"topics": topics, "validate_only": True, "timeout_ms": 10_000}

    def _partitions_of(self, version: int, names: list[str]) -> dict[str, Any]:
        topics = [{"name": each, "count": 9, "assignments": None} for each in names]
        return {"topics": topics, "validate_only": True, "timeout_ms": 10_000}

    def _records(self, version: int, names: list[str]) -> dict[str, Any]:
        partitions = [{"partition_index": 0, "offset": 0}]
        return {"topics": [{"name": each, "partitions": partitions} for each in names], "timeout_ms": 10_000}

    def _described_settings(self, version: int, names: list[str]) -> dict[str, Any]:
        resources = [{"resource_type": TOPIC, "resource_name": each} for each in names]
        if self._random.random() < 0.4:
            resources.append({"resource_type": CLUSTER, "resource_name": "1"})
        return {"resources": [{**each, "configuration_keys": None} for each in resources]}


FILTER_FIELDS: Final = {
    "resource_type": "resource_type_filter",
    "resource_name": "resource_name_filter",
    "resource_pattern_type": "pattern_type_filter",
    "principal": "principal_filter",
    "host": "host_filter",
}
BODIES: Final = {
    "Metadata": "_metadata",
    "ListOffsets": "_list_offsets",
    "OffsetForLeaderEpoch": "_leader_epochs",
    "DescribeCluster": "_cluster",
    "InitProducerId": "_producer",
    "CreateTopics": "_new_topics",
    "CreatePartitions": "_partitions_of",
    "DeleteRecords": "_records",
    "DescribeConfigs": "_described_settings",
}
