"""Causes that are planted in groups of the corpus: each makes a group, and lets things happen to its members.

Every group has noise beside its cause: a deploy in some weeks, single crashes, short silences, a member more. Times are
drawn from the whole period and from bursts, sizes and settings from ranges; nothing is taken from the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from coordinator.report.cases import ProblemKind
from coordinator.whatif.spec import Latency, PlayedGroup, PlayedMember, Reactions, Stimulus, StimulusAction

START_MS: Final = 1_790_035_200_000  # midnight in UTC
SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
WARM_UP: Final = HOUR  # before anything happens
QUICK: Final = Latency(40, 0.5)
JAVA, OLDER, RDKAFKA = "apache-kafka-java 4.1.0", "apache-kafka-java 3.4.1", "librdkafka 2.11.1"


@dataclass(frozen=True, slots=True)
class Planted:
    """The cause in a group, and the member, host or version that is behind it; empty: the group itself."""

    kind: ProblemKind
    subject: str = ""


@dataclass(slots=True)
class Plot:
    """A group under construction."""

    chance: Random
    name: str
    days: int
    strength: float = 1.0  # of its cause: how often it strikes
    assignor: str = "cooperative-sticky"
    partitions: int = 12
    members: list[PlayedMember] = field(default_factory=list)
    starters: list[PlayedMember] = field(default_factory=list)
    stimuli: list[Stimulus] = field(default_factory=list)
    planted: list[Planted] = field(default_factory=list)
    broker: dict[str, int] = field(default_factory=dict)
    join: Latency = QUICK
    deploys: list[int] = field(default_factory=list)  # when the last member was back
    lag_grows: bool = False  # after deploys, and stays
    retrying: set[str] = field(default_factory=set)  # members that try again when the group is full
    twins: set[str] = field(default_factory=set)  # members with one instance id
    late_commits: set[str] = field(default_factory=set)  # members that commit for the generation before

    def spec(self) -> PlayedGroup:
        topics = {"orders": self.partitions - self.partitions // 3, "payments": self.partitions // 3}
        broker = {"group_initial_rebalance_delay_ms": 3_000, **self.broker}
        reactions = Reactions(join=self.join, plan=Latency(15), sync=Latency(5))
        return PlayedGroup(self.name, tuple(self.members), topics, self.assignor, reactions, broker)

    # -- members -------------------------------------------------------------------------------------------------

    def member(self, host: str = "", **facts: Any) -> PlayedMember:
        """Add a member, which is down."""
        number = len(self.members)
        facts.setdefault("session_timeout_ms", self.chance.choice((10_000, 30_000, 45_000)))
        facts.setdefault("software", JAVA)
        made = PlayedMember(
            f"m{number}", f"{self.name}-{number}", host or f"10.{number // 200}.7.{number % 200}", **facts
        )
        self.members.append(made)
        return made

    def crew(self, least: int, most: int, **facts: Any) -> list[PlayedMember]:
        """Add members that are there from the beginning."""
        made = [self.member(**facts) for _ in range(self.chance.randint(least, most))]
        for each in made:
            self.happen(START_MS + self.chance.randrange(2 * SECOND), StimulusAction.START, each)
        self.starters += made
        return made

    def happen(self, at_ms: int, action: StimulusAction, member: PlayedMember | None = None, **facts: Any) -> None:
        if at_ms < START_MS + self.days * DAY - HOUR:
            self.stimuli.append(Stimulus(int(at_ms), action, member.name if member else "", **facts))

    # -- times ---------------------------------------------------------------------------------------------------

    def some_time(self) -> int:
        return START_MS + self.chance.randrange(WARM_UP, self.days * DAY - 2 * HOUR)

    def some_times(self, least: float, most: float) -> list[int]:
        """Return moments of the period, at least a quarter of an hour apart; numbers are for 14 days."""
        number = max(round(self.chance.uniform(least, most) * self.strength * self.days / 14), 1)
        kept: list[int] = []
        for at_ms in sorted(self.some_time() for _ in range(number)):
            if not kept or at_ms - kept[-1] > 15 * MINUTE:
                kept.append(at_ms)
        return kept

    # -- what happens --------------------------------------------------------------------------------------------

    def silence(self, member: PlayedMember, at_ms: int) -> None:
        """Let it be silent for longer than its session timeout."""
        for_ms = member.session_timeout_ms + self.chance.randrange(5 * SECOND, 60 * SECOND)
        self.happen(at_ms, StimulusAction.PAUSE, member, for_ms=for_ms)

    def crash(self, member: PlayedMember, at_ms: int) -> int:
        """Let it end, without a word or closing, and start again. Return when it is back."""
        action = self.chance.choice((StimulusAction.CRASH, StimulusAction.CRASH, StimulusAction.STOP))
        back_ms = at_ms + self.chance.randrange(2 * SECOND, 90 * SECOND)
        self.happen(at_ms, action, member)
        self.happen(back_ms, StimulusAction.START, member)
        return back_ms

    def deploy(self, members: list[PlayedMember], at_ms: int) -> None:
        """Restart all members, one after another or all at once."""
        together = self.chance.random() < 0.3
        for member in members:
            away_ms = self.chance.randrange(3 * SECOND, 40 * SECOND)
            self.happen(at_ms, StimulusAction.RESTART, member, for_ms=away_ms)
            at_ms += 0 if together else away_ms + self.chance.randrange(5 * SECOND, 60 * SECOND)
        self.deploys.append(at_ms + 45 * SECOND)

    def deploy_pods(self, members: list[PlayedMember], at_ms: int) -> list[PlayedMember]:
        """Replace all members by others with the same client ids, on other hosts. Return these."""
        made = []
        for old in members:
            new = replace(self.member(), client_id=old.client_id, session_timeout_ms=old.session_timeout_ms)
            self.members[-1] = new
            self.happen(at_ms, StimulusAction.STOP, old)
            self.happen(at_ms + self.chance.randrange(-20 * SECOND, 40 * SECOND), StimulusAction.START, new)
            at_ms += self.chance.randrange(20 * SECOND, 90 * SECOND)
            made.append(new)
        self.deploys.append(at_ms + 45 * SECOND)
        return made

    def replacement(self, gone: PlayedMember, at_ms: int) -> PlayedMember:
        """Let a member stop for good, and another one start on another host."""
        made = self.member(session_timeout_ms=gone.session_timeout_ms, is_parked=gone.is_parked, software=gone.software)
        self.happen(at_ms, StimulusAction.STOP, gone)
        self.happen(at_ms + self.chance.randrange(20 * SECOND, 4 * MINUTE), StimulusAction.START, made)
        return made

    def replacements(self, crew: list[PlayedMember], least: float, most: float) -> list[int]:
        """Replace members now and then. Return when."""
        present = list(crew)
        times = self.some_times(least, most)
        for at_ms in times:
            place = self.chance.randrange(len(present))
            present[place] = self.replacement(present[place], at_ms)
        return times

    def noise(self, crew: list[PlayedMember]) -> None:
        """Add what happens in any group."""
        chance = self.chance
        weeks = max(self.days // 7, 1)
        deploys_are_planted = bool(self.deploys)
        for week in range(weeks):
            at_ms = START_MS + week * 7 * DAY + chance.randrange(2 * HOUR, min(7, self.days) * DAY - 3 * HOUR)
            if chance.random() < 0.6 and not deploys_are_planted:
                self.deploy(crew, at_ms)
        for _ in range(chance.randint(0, 2)):
            self.crash(chance.choice(crew), self.some_time())
        if chance.random() < 0.4:
            self.silence(chance.choice(crew), self.some_time())
        if chance.random() < 0.3:
            self.happen(self.some_time(), StimulusAction.START, self.member())
        if chance.random() < 0.2:
            member = chance.choice(crew)
            self.happen(self.some_time(), StimulusAction.SLOW_POLL, member, for_ms=member.rebalance_timeout_ms + MINUTE)


Plant = Callable[[Plot], list[PlayedMember]]  # returns the members for the noise: none if members are replaced


def _any_assignor(plot: Plot) -> None:
    plot.assignor = plot.chance.choice(("range", "roundrobin", "sticky", "cooperative-sticky", "cooperative-sticky"))
    plot.partitions = plot.chance.choice((6, 12, 24, 48))


def healthy(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    crew = plot.crew(1, 10)
    if plot.chance.random() < 0.25:
        plot.members[:] = [replace(each, instance_id=each.client_id, session_timeout_ms=120 * SECOND) for each in crew]
    return list(plot.members)


def crash_loop(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    crew = plot.crew(2, 8)
    culprit = plot.chance.choice(crew)
    for _ in range(plot.chance.randint(1, 3)):
        at_ms = plot.some_time()
        for _ in range(round(plot.chance.randint(5, 20) * plot.strength)):
            at_ms = plot.crash(culprit, at_ms) + plot.chance.randrange(30 * SECOND, 15 * MINUTE)
    plot.planted.append(Planted(ProblemKind.CRASH_LOOP, culprit.client_id))
    return crew


def member(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    crew = plot.crew(3, 8)
    culprit = plot.chance.choice(crew)
    for at_ms in plot.some_times(8, 24):
        plot.silence(culprit, at_ms)
    plot.planted.append(Planted(ProblemKind.MEMBER, culprit.client_id))
    return crew


def host(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    crew = plot.crew(2, 6)
    there = plot.crew(2, 3, host="10.99.0.1")
    for at_ms in plot.some_times(5, 14):
        for each in there:
            plot.silence(each, at_ms + plot.chance.randrange(SECOND))
    plot.planted.append(Planted(ProblemKind.HOST, "10.99.0.1"))
    return crew + there


def version(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    bad = plot.chance.choice((RDKAFKA, OLDER))
    crew = plot.crew(3, 6)
    others = plot.crew(3, 5, software=bad)
    for each in others:
        for at_ms in plot.some_times(4, 9):
            plot.chance.choice((plot.silence, plot.crash))(each, at_ms)
    plot.planted.append(Planted(ProblemKind.VERSION, bad))
    return crew + others


def slow_poll(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    crew = plot.crew(2, 8, rebalance_timeout_ms=plot.chance.choice((60, 120, 300)) * SECOND)
    slow = plot.chance.sample(crew, plot.chance.choice((1, 1, 2)))
    for each in slow:
        for at_ms in plot.some_times(6, 25):
            for_ms = each.rebalance_timeout_ms + plot.chance.randrange(5 * SECOND, 5 * MINUTE)
            plot.happen(at_ms, StimulusAction.SLOW_POLL, each, for_ms=for_ms)
    plot.planted.append(Planted(ProblemKind.SLOW_POLL, slow[0].client_id if len(slow) == 1 else ""))
    return crew


def duplicate_instance(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    crew = plot.crew(2, 5)
    statics = [replace(each, instance_id=f"{plot.name}-i{number}") for number, each in enumerate(crew)]
    plot.members[: len(crew)] = statics
    twin = plot.member(instance_id=statics[0].instance_id)
    plot.twins |= {twin.name, statics[0].name}
    for _ in range(plot.chance.randint(1, 4)):
        at_ms = plot.some_time()
        for turn in range(round(plot.chance.randint(6, 24) * plot.strength)):
            plot.happen(at_ms, StimulusAction.START, (twin, statics[0])[turn % 2])
            at_ms += plot.chance.randrange(4 * SECOND, 40 * SECOND)
    plot.planted.append(Planted(ProblemKind.DUPLICATE_INSTANCE, statics[0].instance_id or ""))
    return statics[1:]


def static(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    are_pods = not plot.starters and plot.chance.random() < 0.4
    plot.crew(2, 7)
    crew = plot.starters
    for number in range(plot.days):
        at_ms = START_MS + number * DAY + plot.chance.randrange(8 * HOUR, 18 * HOUR)
        if plot.chance.random() > plot.strength:
            continue
        if are_pods:
            crew = plot.deploy_pods(crew, at_ms)
        elif plot.chance.random() < 0.85:
            plot.deploy(crew, at_ms)
    plot.planted.append(Planted(ProblemKind.STATIC))
    return [] if are_pods else crew


def scaling(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    crew = plot.crew(2, 4)
    more = [plot.member() for _ in range(plot.chance.randint(2, 4))]
    for number in range(plot.days):
        at_ms = START_MS + number * DAY + plot.chance.randrange(HOUR, 3 * HOUR)
        for _ in range(round(plot.chance.randint(2, 4) * plot.strength)):
            for each in more:
                up_ms = at_ms + plot.chance.randrange(5 * MINUTE)
                plot.happen(up_ms, StimulusAction.START, each)
                plot.happen(up_ms + plot.chance.randrange(60 * MINUTE, 120 * MINUTE), StimulusAction.STOP, each)
            at_ms += plot.chance.randrange(200 * MINUTE, 300 * MINUTE)
    plot.planted.append(Planted(ProblemKind.SCALING))
    return crew


def cooperative(plot: Plot) -> list[PlayedMember]:
    plot.assignor = plot.chance.choice(("range", "roundrobin", "sticky"))
    plot.partitions = plot.chance.choice((24, 48, 60))
    plot.join = Latency(plot.chance.uniform(500, 3_000), 0.5)
    crew = plot.crew(5, 10)
    plot.replacements(crew, 18, 40)
    plot.planted.append(Planted(ProblemKind.COOPERATIVE))
    return []


def consumer_protocol(plot: Plot) -> list[PlayedMember]:
    plot.partitions = plot.chance.choice((48, 96))
    plot.join = Latency(plot.chance.uniform(4_000, 9_000), 0.5)
    crew = plot.crew(10, 14)
    plot.replacements(crew, 18, 40)
    plot.planted.append(Planted(ProblemKind.CONSUMER_PROTOCOL))
    return []


def slow_join(plot: Plot) -> list[PlayedMember]:
    plot.assignor = plot.chance.choice(("sticky", "cooperative-sticky"))
    crew = plot.crew(4, 8)
    late = crew.pop()
    times = plot.replacements(crew, 14, 26)
    for at_ms in times:
        for again_ms in range(at_ms - SECOND, at_ms + 4 * MINUTE, 20 * SECOND):  # it is busy all the time
            plot.happen(again_ms, StimulusAction.SLOW_POLL, late, for_ms=plot.chance.randrange(8 * SECOND, 19 * SECOND))
    plot.planted.append(Planted(ProblemKind.SLOW_JOIN, late.client_id))
    return []


def subscription(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    crew = plot.crew(2, 7)
    culprit = plot.chance.choice(crew)
    for at_ms in plot.some_times(16, 60):
        plot.happen(at_ms, StimulusAction.RESUBSCRIBE, culprit)
    plot.planted.append(Planted(ProblemKind.SUBSCRIPTION, culprit.client_id))
    return crew


def topics(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    crew = plot.crew(2, 7)
    for at_ms in plot.some_times(16, 40):
        plot.happen(at_ms, StimulusAction.GROW, topic="orders", partitions=1)
    plot.planted.append(Planted(ProblemKind.TOPICS))
    return crew


def moves(plot: Plot) -> list[PlayedMember]:
    plot.assignor = plot.chance.choice(("range", "roundrobin"))
    plot.partitions = plot.chance.choice((48, 96))
    plot.join = Latency(5)
    crew = plot.crew(4, 8, is_parked=True)
    plot.replacements(crew, 18, 40)
    plot.planted.append(Planted(ProblemKind.MOVES))
    return []


def join_refused(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    crew = plot.crew(3, 6)
    plot.broker["group_max_size"] = len(crew)
    extra = plot.member()
    plot.retrying.add(extra.name)
    for _ in range(plot.chance.randint(1, 3)):
        plot.happen(plot.some_time(), StimulusAction.START, extra)
    plot.planted.append(Planted(ProblemKind.JOIN_REFUSED, extra.client_id))
    return []


def commit_refused(plot: Plot) -> list[PlayedMember]:
    crew = plot.crew(4, 8)
    late = crew.pop()
    plot.late_commits.add(late.name)
    plot.replacements(crew, 12, 20)
    plot.planted.append(Planted(ProblemKind.COMMIT_REFUSED, late.client_id))
    return []


def flapping(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    crew = plot.crew(4, 9)
    day_ms = START_MS + plot.chance.randrange(1, plot.days - 1) * DAY
    for _ in range(round(plot.chance.randint(12, 30) * plot.strength)):
        at_ms = day_ms + plot.chance.randrange(DAY - HOUR)
        plot.chance.choice((plot.silence, plot.crash))(plot.chance.choice(crew), at_ms)
    plot.planted.append(Planted(ProblemKind.FLAPPING))
    return crew


def deploy_lag(plot: Plot) -> list[PlayedMember]:
    _any_assignor(plot)
    crew = plot.crew(2, 6)
    plot.deploy(plot.starters, plot.some_time())
    plot.lag_grows = True
    plot.planted.append(Planted(ProblemKind.DEPLOY_LAG))
    return crew


CAUSES: Final[tuple[Plant, ...]] = (
    crash_loop,
    member,
    host,
    version,
    slow_poll,
    duplicate_instance,
    static,
    scaling,
    cooperative,
    consumer_protocol,
    slow_join,
    subscription,
    topics,
    moves,
    join_refused,
    commit_refused,
    flapping,
    deploy_lag,
)
# Two causes in one group, each with members of its own; a deploy is of all members.
BOTH: Final[tuple[tuple[Plant, Plant], ...]] = (
    (slow_poll, deploy_lag),
    (host, static),
    (subscription, member),
    (topics, crash_loop),
    (slow_poll, static),
    (scaling, crash_loop),
    (version, topics),
    (member, deploy_lag),
)
PER_CAUSE: Final = 11
HEALTHY: Final = 120  # so many groups have noise alone; with the others they are more than 300


def restless(plot: Plot) -> list[PlayedMember]:
    """Make a healthy group with much noise: more than once, and never by one cause."""
    crew = healthy(plot)
    plot.noise(crew)
    for each in plot.chance.sample(crew, min(3, len(crew))):
        plot.crash(each, plot.some_time())
    return crew


def plots(
    seed: int, days: int, per_cause: int = PER_CAUSE, healthy_groups: int = HEALTHY, strength: float = 1.0
) -> Iterator[Plot]:
    """Yield the groups of a corpus: with each cause, with two causes, and with noise alone."""
    plans: list[tuple[Plant, ...]] = [(plant,) for plant in CAUSES for _ in range(per_cause)]
    plans += [both for both in BOTH for _ in range(-(-per_cause // 4))]
    plans += [((healthy, restless)[number % 2],) for number in range(healthy_groups)]
    for number, plants in enumerate(plans):
        chance = Random(f"{seed} {number}")
        plot = Plot(chance, f"group-{number:03}-{chance.getrandbits(24):06x}", days, strength)
        crew = [each for plant in plants for each in plant(plot)]
        if crew:
            plot.noise(crew)
        yield plot
