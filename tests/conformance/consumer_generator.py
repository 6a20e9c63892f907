"""Scripts of KIP-848 groups, beside groups of the classic protocol: seeds and looks at Kafka give the next request.

Kafka's choice of partitions must be determined, or else the script is *loose* (see consumer_outline.py). It is with
the assignor `range`, which goes by instance ids and member ids. With `uniform`, Kafka's order is that of hash tables,
so in `whole` scripts each member gets the same number of partitions of one topic, however many members there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from tests.conformance.consumer_lockstep import ConsumerLockstep
from tests.conformance.consumer_outline import size_of
from tests.conformance.consumer_side import BEAT, DESCRIBE
from tests.conformance.generator import ADMIN, LONG_MS, Generator
from tests.conformance.lockstep import CONSUMER_MAX_SIZE, SHORT_MS, Lockstep
from tests.conformance.script import Step

FIRST_CONNECTION: Final = 60  # of the members of KIP-848 groups
LETTERS: Final = "abcdefghijklm"  # member ids in the order of Java's hash tables
WHOLE: Final = 12  # a number of partitions that each possible number of members divides
TOPICS: Final = ("t0", "t1", "t2", "t3")
NAMES: Final[tuple[list[str], ...]] = (
    ["t0"],
    ["t0"],
    ["t1"],
    ["t0", "t1"],
    ["t0", "t1"],
    ["t1", "t2"],
    ["t3"],
    [],
    ["t0", "t1", "t2", "t3"],
)
REGEXES: Final = ("$re:t0", "$re:t.*", "$re:t[12]", "$re:none", "$re:t1|t2", "t0")
INVALID_REGEXES: Final = ("(a", "(?=x)", "a++", "(a)\\1", "[", "*", "(?<!a)b", "(?>a)", "\\Z", "a{1001}", "x\\")
STRANGER: Final = "o"  # a member id that no seat has
JOIN_WEIGHTS: Final = (0.5, 0.35, 0.25, 0.15, 0.03)  # by the number of members
TOO_LATE_S: Final = 5.0  # for another step after the first regular expression of a script


@dataclass(slots=True)
class Seat:
    """A member of a KIP-848 group, or one to be."""

    name: str
    group: str
    connection: int
    member_id: str  # empty: the server makes it, as version 0 allows
    instance: str | None
    rebalance_ms: int
    names: list[str] | None
    regex: str | None
    assignor: str | None
    rack: str | None
    was_sent: bool = False
    others: list[str] = field(default_factory=list)  # member ids that it had before

    @property
    def id(self) -> str:
        return self.member_id or f"$id:{self.name}"


class ConsumerGenerator(Generator):
    """One script's worth of decisions. Each group is of one protocol, but an empty one may become one of the other."""

    def __init__(self, seed: str, steps: int, versions: dict[str, range], *, has_short_sessions: bool = False) -> None:
        super().__init__(seed, steps, versions)
        chance = self._random.random()
        self.flavour = "range" if chance < 0.5 else "whole" if chance < 0.7 else "loose"
        self.kind = "short" if self._random.random() < 0.2 and self.flavour != "loose" else "plain"
        self._rebalance_short = self.kind == "short"
        self._has_short_sessions = has_short_sessions
        self._consumer_groups = ["g0"] if self._random.random() < 0.75 else ["g0", "g1"]
        self._groups = [*self._consumer_groups, *(["g2"] if self._random.random() < 0.25 else [])]
        self._types = dict.fromkeys(self._groups, "consumer")
        self._regex_share = self._random.choice((0.0, 0.0, 0.3, 0.7)) if self.flavour != "whole" else 0.0
        self._seats: list[Seat] = []
        self._topics: dict[str, int] = {}
        votes: dict[str, tuple[tuple[str | None, ...], ...]] = {
            "range": (("range",),),
            "whole": ((None, "uniform"), (None, "range"), ("range", "range", "uniform")),
            "loose": ((None, "uniform"), (None, "range"), ("uniform", "range", "range", None)),
        }
        self._votes = self._random.choice(votes[self.flavour])
        self._passes = 1 if self._regex_share and self._random.random() < 0.1 else 0

    # --- what comes next ---

    def next_step(self, run: Lockstep) -> Step | None:
        if self._left <= 0 or not isinstance(run, ConsumerLockstep):
            return None
        self._left -= 1
        if not self._topics:
            return self._create(self._first_topics())
        if run.time_is_short():
            return self._wait_step(run)
        if run.regex_age_s() > TOO_LATE_S:
            return self._pass()
        for group in self._groups:
            if group in self._initial:
                return self._step_of(run, group)
        group = self._random.choice(self._groups)
        if run.kafka.state(group) not in ("Empty", "Dead"):
            return self._classic_step(run, group)
        members = run.kafka.consumers.get(group, {}).get("members", [])
        if not members and self._random.random() < (0.1 if group in self._consumer_groups else 0.9):
            return self._step_of(run, group)
        return self._loose(self._consumer_step(run, group))

    def _loose(self, step: Step) -> Step:
        """Mark a heartbeat of a script in which members may be assigned other partitions."""
        if step.get("api") == BEAT and self.flavour == "loose":
            step["loose"] = True
        return step

    def _wait_step(self, run: ConsumerLockstep) -> Step:
        """Wait for timers; if the sessions of all members are short, some go on sending heartbeats."""
        joined = [each.name for each in self._seats if run.kafka.clients.of(each.name).is_member]
        if not self._has_short_sessions or not joined:
            return {"op": "wait"}
        return {"op": "wait", "keep": self._random.sample(joined, self._random.randint(0, len(joined)))}

    def _pass(self) -> Step | None:
        if not self._passes:
            self._left = 0
            return None
        self._passes -= 1
        return {"op": "pass"}

    def _classic_step(self, run: ConsumerLockstep, group: str) -> Step:
        if self._random.random() < 0.05:
            return self._stray_beat(run, group)
        return self._step_of(run, group)

    def _first_topics(self) -> dict[str, int]:
        if self.flavour == "whole":
            return {"t0": WHOLE}
        counts = (1, 2, 3, 4, 6, 7)
        return {name: self._random.choice(counts) for name in TOPICS[: self._random.choice((1, 2, 2, 3))]}

    def _create(self, counts: dict[str, int]) -> Step:
        self._topics |= counts
        return {"op": "topics", "do": "create", "topics": {f"${name}": count for name, count in counts.items()}}

    def _change_topics(self) -> Step:
        missing = [each for each in TOPICS if each not in self._topics]
        if self.flavour == "whole":
            missing = [each for each in missing if each == "t0"]
        present = list(self._topics)
        chance = self._random.random()
        if missing and (chance < 0.45 or not present):
            count = WHOLE if self.flavour == "whole" else self._random.choice((1, 2, 3, 5))
            return self._create({self._random.choice(missing): count})
        name = self._random.choice(present)
        if chance < 0.75 and self.flavour != "whole":
            self._topics[name] += self._random.choice((1, 2, 3))
            return {"op": "topics", "do": "grow", "topics": {f"${name}": self._topics[name]}}
        if len(present) == 1 and self._random.random() < 0.5:
            return self._change_topics() if self.flavour != "whole" else {"op": "converge", "g": "g0"}
        del self._topics[name]
        return {"op": "topics", "do": "delete", "topics": {f"${name}": 0}}

    # --- members ---

    def _new_seat(self, group: str) -> Seat:
        number = len(self._seats)
        used = [each.member_id for each in self._seats if each.group == group]
        free = [each for each in LETTERS if each not in used] or ["zz" + str(number)]
        is_static = self._random.random() < 0.35
        makes_id = self._random.random() < 0.15 and (self.flavour == "loose" or (is_static and self.flavour == "range"))
        seat = Seat(
            name=f"c{number}",
            group=group,
            connection=FIRST_CONNECTION + number % 28,
            member_id="" if makes_id else self._random.choice(free),
            instance=f"i{self._random.choice((0, 1, 2))}" if is_static else None,
            rebalance_ms=SHORT_MS if self.kind == "short" and self._random.random() < 0.7 else LONG_MS,
            names=None,
            regex=None,
            assignor=self._assignor(),
            rack=self._random.choice((None, None, "r1", "r2")),
        )
        self._subscribe(seat)
        self._seats.append(seat)
        return seat

    def _assignor(self) -> str | None:
        return self._random.choice(self._votes)

    def _subscribe(self, seat: Seat) -> None:
        """Give a member another subscription."""
        if self.flavour == "whole":
            seat.names = ["$t0"]
            return
        seat.regex = self._random.choice(REGEXES) if self._random.random() < self._regex_share else None
        if seat.regex is None or self._random.random() < 0.3:
            seat.names = [f"${each}" for each in self._random.choice(NAMES)]
        else:
            seat.names = None

    def _seats_of(self, run: ConsumerLockstep, group: str, *, joined: bool) -> list[Seat]:
        clients = run.kafka.clients
        return [each for each in self._seats if each.group == group and clients.of(each.name).is_member == joined]

    # --- requests of members ---

    def _beat(self, seat: Seat, epoch: Any, *, version: int | None = None, **fields: Any) -> Step:
        body: dict[str, Any] = {"group_id": f"${seat.group}", "member_id": seat.id, "member_epoch": epoch}
        if seat.instance is not None and self._random.random() > 0.02:
            body["instance_id"] = seat.instance
        body |= fields
        if version is None:
            version = 1 if body.get("subscribed_topic_regex") is not None else self._version(BEAT)
        connection = seat.connection if self._random.random() < 0.95 else ADMIN
        more: dict[str, Any] = {"as": seat.name}
        return self._send(connection, BEAT, body, v=version, **more)

    def _join(self, run: Lockstep, seat: Any, *, member_id: str | None = None) -> Step:
        if not isinstance(seat, Seat):
            return super()._join(run, seat, member_id=member_id)
        fields: dict[str, Any] = {
            "rebalance_timeout_ms": seat.rebalance_ms,
            "topic_partitions": [],
            "subscribed_topic_names": seat.names,
            "subscribed_topic_regex": seat.regex,
        }
        if seat.assignor is not None:
            fields["server_assignor"] = seat.assignor
        if seat.rack is not None:
            fields["rack_id"] = seat.rack
        fields = {name: each for name, each in fields.items() if each is not None}
        step = self._beat(seat, 0, version=0 if self._makes_id(run, seat) else None, **fields)
        if self._makes_id(run, seat):
            step["body"] |= {"member_id": "", "instance_id": seat.instance}
            step["body"].pop("subscribed_topic_regex", None)
            step["body"].setdefault("subscribed_topic_names", ["$t0"])
        seat.was_sent = True
        return step

    @staticmethod
    def _makes_id(run: Lockstep, seat: Seat) -> bool:
        return not seat.member_id and not run.kafka.ids.get(seat.name)

    def _full(self, seat: Seat, owned: str) -> Step:
        fields: dict[str, Any] = {
            "rebalance_timeout_ms": seat.rebalance_ms,
            "subscribed_topic_names": seat.names,
            "topic_partitions": f"${owned}:{seat.name}",
        }
        if seat.regex is not None:
            fields["subscribed_topic_regex"] = seat.regex
        fields = {name: each for name, each in fields.items() if each is not None}
        return self._beat(seat, f"$epoch:{seat.name}", **fields)

    def _change(self, seat: Seat) -> Step:
        """Another subscription, assignor, rack or timeout."""
        chance = self._random.random()
        epoch = f"$epoch:{seat.name}"
        fields: dict[str, Any] = {}
        if chance < 0.75 and self.flavour != "whole":
            had_regex = seat.regex is not None
            self._subscribe(seat)
            if seat.regex is not None:
                fields["subscribed_topic_regex"] = seat.regex
            elif had_regex:
                fields["subscribed_topic_regex"] = ""
            if seat.names is not None:
                fields["subscribed_topic_names"] = seat.names
        elif chance < 0.85:
            seat.rack = self._random.choice(("r1", "r2", "r3"))
            fields["rack_id"] = seat.rack
        elif chance < 0.95:
            assignor = self._assignor()
            fields |= {} if assignor is None else {"server_assignor": assignor}
        else:
            fields["rebalance_timeout_ms"] = seat.rebalance_ms
        if self._random.random() < 0.3:
            fields["topic_partitions"] = f"$own:{seat.name}"
        return self._beat(seat, epoch, **fields)

    def _leave_beat(self, seat: Seat) -> Step:
        epoch = -1
        if seat.instance is not None and self._random.random() < 0.7:
            epoch = -2
        return self._beat(seat, epoch)

    def _next_run(self, seat: Seat) -> Seat:
        """A static member that comes back, perhaps with a new member id."""
        if self._random.random() < 0.3:
            return seat
        new = self._new_seat(seat.group)
        new.instance, new.names, new.regex, new.assignor = seat.instance, seat.names, seat.regex, seat.assignor
        if self.flavour != "whole" and self._random.random() < 0.25:
            self._subscribe(new)
        return new

    # --- the usual ---

    def _consumer_step(self, run: ConsumerLockstep, group: str) -> Step:
        if self._random.random() < self._odd:
            return self._odd_consumer_step(run, group)
        members = run.kafka.consumers.get(group, {}).get("members", [])
        joined = self._seats_of(run, group, joined=True)
        if not joined and len(members) < CONSUMER_MAX_SIZE and self._random.random() < 0.85:
            return self._some_join(run, group)
        behind = [each for each in joined if run.kafka.clients.of(each.name).is_behind]
        away = [each for each in self._seats_of(run, group, joined=False) if each.was_sent and each.instance]
        fenced = [
            each
            for each in self._seats_of(run, group, joined=False)
            if each.was_sent and run.kafka.clients.of(each.name).error in (25, 110)
        ]
        choices: list[tuple[float, Any]] = [
            (JOIN_WEIGHTS[min(len(members), CONSUMER_MAX_SIZE)], lambda: self._some_join(run, group)),
            (0.01 if self._has_short_sessions else 0.05, self._change_topics),
            (0.08, lambda: {"op": "converge", "g": group}),
            (0.1, lambda: self._consumer_offsets(run, group, joined)),
            (0.1, lambda: self._consumer_admin(run, group, members)),
        ]
        if joined:
            pick = self._random.choice(joined)
            choices += [
                (0.22, lambda: self._beat(pick, f"$epoch:{pick.name}")),
                (0.06, lambda: self._full(pick, self._random.choice(("own", "own", "held")))),
                (0.1, lambda: self._change(pick)),
                (0.07, lambda: self._leave_beat(pick)),
                (0.02, lambda: self._rejoin(run, pick)),
            ]
            if self.flavour != "loose":
                choices.append((0.04, lambda: {**self._full(pick, "own"), "lost": True}))
                choices.append((0.04, lambda: self._beat(pick, f"$epoch:{pick.name}") | {"lost": True}))
        if behind:
            late = self._random.choice(behind)
            choices.append((0.45, lambda: self._acknowledge(late)))
        if away:
            choices.append((0.12, lambda: self._rejoin(run, self._next_run(self._random.choice(away)))))
        if fenced:
            choices.append((0.25, lambda: self._rejoin(run, self._random.choice(fenced))))
        if self.kind == "short" or self._has_short_sessions:
            choices.append((0.05, lambda: self._wait_step(run)))
        weights = [weight for weight, _ in choices]
        (chosen,) = self._random.choices([make for _, make in choices], weights)
        step: Step = chosen()
        return step

    def _some_join(self, run: ConsumerLockstep, group: str) -> Step:
        """A new member, or one that left joins again."""
        if self.flavour == "whole" and not self._is_even(run, group):
            joined = self._seats_of(run, group, joined=True)
            if joined:
                return self._beat(joined[0], f"$epoch:{joined[0].name}")
            return self._send(ADMIN, DESCRIBE, {"group_ids": [f"${group}"]})
        gone = [each for each in self._seats_of(run, group, joined=False) if each.was_sent]
        if gone and self._random.random() < 0.3:
            return self._join(run, self._random.choice(gone))
        return self._join(run, self._new_seat(group))

    def _is_even(self, run: ConsumerLockstep, group: str) -> bool:
        """Return whether all members have the same number of partitions, and no partition is left to give."""
        described = run.kafka.consumers.get(group, {})
        members = described.get("members", [])
        sizes = {size_of(each.get("target_assignment")) for each in members}
        there_are = WHOLE if self._topics else 0
        return not members or (
            described["group_epoch"] == described["assignment_epoch"]
            and len(sizes) == 1
            and sum(sizes) * len(members) == there_are
        )

    def _rejoin(self, run: ConsumerLockstep, seat: Seat) -> Step:
        return self._join(run, seat)

    def _acknowledge(self, seat: Seat) -> Step:
        """The heartbeat of a client that has given up, and taken, all that it was told; sometimes another one first."""
        chance = self._random.random()
        epoch = f"$epoch:{seat.name}"
        if chance < 0.7:
            return self._beat(seat, epoch, topic_partitions=f"$own:{seat.name}")
        if chance < 0.8:
            return self._full(seat, "own")
        if chance < 0.9:
            return self._full(seat, "held")
        return self._beat(seat, epoch, topic_partitions=f"$held:{seat.name}")

    # --- offsets and administration ---

    def _consumer_topic(self, by_id: bool = False) -> dict[str, str]:
        name = self._random.choice(("$t0", "$t0", "$t1", "$t1", "$t2", "$t9", "t0"))
        if not by_id:
            return {"name": name}
        return {"topic_id": f"$topic:{name[1:]}" if name.startswith("$") else f"$shared:{name}"}

    def _consumer_offsets(self, run: ConsumerLockstep, group: str, joined: list[Seat]) -> Step:
        chance = self._random.random()
        if chance < 0.55:
            return self._consumer_commit(run, group, joined)
        if chance < 0.85:
            return self._consumer_fetch(group, joined)
        topics = [
            {**self._consumer_topic(), "partitions": [{"partition_index": each} for each in self._partitions()]}
            for _ in range(self._random.choice((1, 1, 2)))
        ]
        return self._send(ADMIN, "OffsetDelete", {"group_id": f"${group}", "topics": topics})

    def _consumer_commit(self, run: ConsumerLockstep, group: str, joined: list[Seat]) -> Step:
        body: dict[str, Any] = {"group_id": f"${group}", "topics": []}
        connection, at_least = ADMIN, 8 if self._random.random() < 0.2 else 9
        if joined and self._random.random() < 0.9:
            seat = self._random.choice(joined)
            connection = seat.connection
            body["member_id"] = seat.id
            body["generation_id_or_member_epoch"] = f"$epoch:{seat.name}"
            if self._random.random() < 0.3 and self.flavour != "loose":
                older = (f"$epoch:{seat.name}:-1", f"$epoch:{seat.name}:-2", f"$epoch:{seat.name}:+1", -1, 0, 77)
                body["generation_id_or_member_epoch"] = self._random.choice(older)
            if seat.instance is not None and self._random.random() < 0.7:
                body["group_instance_id"] = seat.instance
        elif self._random.random() < 0.4:
            body["member_id"] = self._random.choice(("", "stranger"))
            body["generation_id_or_member_epoch"] = self._random.choice((-1, 0, 1, -5))
        version = self._version("OffsetCommit", at_least)
        for _ in range(self._random.choice((1, 1, 2))):
            partitions = []
            for partition in self._random.choice(([0], [1], [0, 1, 2], [0, 1, 2, 3, 4, 5, 6, 11])):
                self._offset += 1
                partitions.append({"partition_index": partition, "committed_offset": self._offset})
            body["topics"].append({**self._consumer_topic(version >= 10), "partitions": partitions})
        return self._send(connection, "OffsetCommit", body, v=version)

    def _consumer_fetch(self, group: str, joined: list[Seat]) -> Step:
        version = self._version("OffsetFetch", 8)
        entry: dict[str, Any] = {"group_id": f"${group}", "topics": None}
        if self._random.random() < 0.5:
            entry["topics"] = [{**self._consumer_topic(version >= 10), "partition_indexes": self._partitions()}]
        chance = self._random.random()
        if joined and chance < 0.6:
            seat = self._random.choice(joined)
            entry["member_id"] = seat.id
            entry["member_epoch"] = f"$epoch:{seat.name}"
            if chance < 0.2:
                entry["member_epoch"] = self._random.choice((f"$epoch:{seat.name}:+1", -1, 99))
        elif chance < 0.8:
            entry["member_id"] = self._random.choice((None, "", "stranger"))
            entry["member_epoch"] = self._random.choice((-1, 0, 3))
        if version < 9:
            entry = {name: each for name, each in entry.items() if not name.startswith("member")}
        body = {"groups": [entry], "require_stable": self._random.random() < 0.3}
        return self._send(ADMIN, "OffsetFetch", body, v=version)

    def _consumer_admin(self, run: ConsumerLockstep, group: str, members: list[Any]) -> Step:
        chance = self._random.random()
        names = [f"${group}"]
        if chance < 0.35:
            names = self._random.choice((names, names, [f"${each}" for each in self._groups], [*names, "stranger"]))
            body = {"group_ids": names, "include_authorized_operations": self._random.random() < 0.3}
            return self._send(ADMIN, DESCRIBE, body)
        if chance < 0.55:
            return self._send(ADMIN, "DescribeGroups", {"groups": names}, at_least=5)
        if chance < 0.85:
            version = self._version("ListGroups", 3)
            listing: dict[str, Any] = {}
            if version >= 4 and self._random.random() < 0.5 and self.flavour != "loose":
                states = (["Stable"], ["assigning"], ["RECONCILING", "Empty"], ["Dead"], ["Empty", "nonsense"])
                listing["states_filter"] = self._random.choice(states)
            if version >= 5 and self._random.random() < 0.6:
                listing["types_filter"] = self._random.choice((["consumer"], ["Consumer"], ["classic"], ["foo"]))
            return self._send(ADMIN, "ListGroups", listing, v=version)
        if members and self._random.random() < 0.5:
            return self._consumer_admin(run, group, members)
        return self._send(ADMIN, "DeleteGroups", {"groups_names": names})

    # --- what no client should do ---

    def _stray_beat(self, run: ConsumerLockstep, group: str) -> Step:
        """A heartbeat of an unknown member, for a group of the other protocol or none."""
        body = {"group_id": f"${group}", "member_id": "stranger", "member_epoch": self._random.choice((-1, 1, 5, 77))}
        return self._send(ADMIN, BEAT, body)

    def _odd_consumer_step(self, run: ConsumerLockstep, group: str) -> Step:
        seats = [each for each in self._seats if each.group == group and each.was_sent]
        seat = self._random.choice(seats) if seats else self._new_seat(group)
        chance = self._random.random()
        if chance < 0.1:
            return self._stray_beat(run, group)
        if chance < 0.4:
            return self._odd_epoch(seat)
        if chance < 0.75:
            return self._odd_join(run, seat)
        if chance < 0.9:
            return self._odd_owned(seat)
        step = self._consumer_offsets(run, group, seats)
        if step["api"] == "OffsetCommit":
            self._bend(step["body"], "member_id", ("", "stranger", "a", "b"))
            if self.flavour != "loose":
                epochs = (-1, 0, 1, 2, f"$epoch:{seat.name}:-1")
                self._bend(step["body"], "generation_id_or_member_epoch", epochs)
        return step

    def _odd_epoch(self, seat: Seat) -> Step:
        exact: tuple[Any, ...] = (
            f"$epoch:{seat.name}:-1",
            f"$epoch:{seat.name}:-1",
            f"$epoch:{seat.name}:-2",
            f"$epoch:{seat.name}:+1",
            1,
            2,
            -2,
        )
        always: tuple[Any, ...] = (f"$epoch:{seat.name}:+9", 77, -3, -(2**31), 2**31 - 1, -1)
        step = self._beat(seat, self._random.choice(always if self.flavour == "loose" else exact + always))
        if self._random.random() < 0.4:
            owned = ("$own:", "$held:") if self.flavour != "loose" else ("$own:",)
            step["body"]["topic_partitions"] = self._random.choice(owned) + seat.name
        self._bend_identity_of(step)
        if self.flavour != "loose" and step["body"]["member_epoch"] != -1 and self._random.random() < 0.5:
            step.pop("as", None)
        return step

    def _bend_identity_of(self, step: Step) -> None:
        chance = self._random.random()
        if chance < 0.15:
            step["body"]["member_id"] = self._random.choice(("", " ", "\t\n", *self._other_ids()))
            step.pop("as", None)
        elif chance < 0.3:
            step["body"]["instance_id"] = self._random.choice((None, "", " ", "i0", "i1", "zz"))
        elif chance < 0.36:
            step["body"]["rack_id"] = self._random.choice(("", " ", "r9"))
        elif chance < 0.42:
            step["body"]["server_assignor"] = self._random.choice(("", "sticky", "Range", "uniform "))
        elif chance < 0.46:
            step["body"]["group_id"] = self._random.choice(("", " ", "\t"))

    def _other_ids(self) -> tuple[str, ...]:
        return (STRANGER, "a", "b") if self.flavour != "loose" else ()

    def _odd_join(self, run: ConsumerLockstep, seat: Seat) -> Step:
        step = self._join(run, seat)
        body = step["body"]
        chance = self._random.random()
        if chance < 0.1:
            body["rebalance_timeout_ms"] = -1
        elif chance < 0.25:
            owned = [{"topic_id": "$topic:t0", "partitions": self._random.choice(([0], [], [0, 0]))}]
            body["topic_partitions"] = self._random.choice((None, owned, owned))
        elif chance < 0.35:
            body["subscribed_topic_names"] = None
            body.pop("subscribed_topic_regex", None)
        elif chance < 0.5 and step["v"] >= 1:
            body["subscribed_topic_regex"] = self._random.choice(INVALID_REGEXES)
        elif chance < 0.65:
            body["member_id"] = self._random.choice(("", " ", "\x00"))
        elif chance < 0.72 and self.flavour != "whole":
            body["subscribed_topic_names"] = self._random.choice((["", "$t0"], ["$t0", "$t0"], [" "]))
        else:
            self._bend_identity_of(step)
        if step.get("as") and body["member_id"] != seat.id and body["member_id"] != "":
            step.pop("as", None)
        if body["member_id"] == "" and self.flavour != "loose":
            step["v"] = 1  # a member id of the server would decide who gets what
        return step

    def _odd_owned(self, seat: Seat) -> Step:
        owned: tuple[Any, ...] = (
            f"$own:{seat.name}:less",
            f"$own:{seat.name}:more",
            f"$held:{seat.name}:less",
            [],
            [{"topic_id": "$topic:t0", "partitions": [0, 1]}],
            [{"topic_id": "$topic:t0", "partitions": [0, 0, -1]}],
            [{"topic_id": "$topic:t9", "partitions": [0]}],
        )
        step = self._beat(seat, f"$epoch:{seat.name}", topic_partitions=self._random.choice(owned))
        if self._random.random() < 0.3 and self.flavour != "loose":
            step["body"]["member_epoch"] = f"$epoch:{seat.name}:-1"
        return step
