"""The timing wheel compared with a sorted list of deadlines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from coordinator.core.purgatory.timing_wheel import MOVES_AT_ONCE, TimerEntry, TimingWheel

# Around the bounds of the rings (20^k ms) and far beyond: eleven days need five more rings.
DELAYS = st.one_of(
    st.integers(-5, 450),
    st.integers(7_900, 8_100),
    st.integers(0, 200_000),
    st.integers(0, 1_000_000_000),
    st.sampled_from([0, 1, 19, 20, 21, 399, 400, 401, 7_999, 8_000, 8_001, 159_999, 160_000, 160_001, 3_200_000]),
)


def take_all(wheel: TimingWheel[TimerEntry]) -> list[TimerEntry]:
    taken = []
    while (entry := wheel.pop_due()) is not None:
        taken.append(entry)
    return taken


class WheelAgainstSortedList(RuleBasedStateMachine):
    entries = Bundle("entries")

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 1_700_000_123
        self.wheel: TimingWheel[TimerEntry] = TimingWheel(self.now_ms)
        self.expected: dict[TimerEntry, int] = {}  # deadlines of the armed entries

    @rule(target=entries, delay=DELAYS)
    def start(self, delay: int) -> TimerEntry:
        entry = TimerEntry()
        self.wheel.start(entry, self.now_ms + delay)
        self.expected[entry] = self.now_ms + delay
        return entry

    @rule(entry=entries, delay=DELAYS)
    def start_again(self, entry: TimerEntry, delay: int) -> None:
        self.wheel.start(entry, self.now_ms + delay)
        self.expected[entry] = self.now_ms + delay

    @rule(entry=consumes(entries))
    def cancel(self, entry: TimerEntry) -> None:
        assert self.wheel.cancel(entry) is (self.expected.pop(entry, None) is not None)
        assert not entry.is_armed

    @rule(elapsed=DELAYS.filter(lambda ms: ms >= 0))
    def advance(self, elapsed: int) -> None:
        self.now_ms += elapsed
        self.wheel.advance(self.now_ms)
        fired = take_all(self.wheel)
        assert set(fired) == {entry for entry, deadline in self.expected.items() if deadline <= self.now_ms}
        in_time = [self.expected[entry] for entry in fired if self.expected[entry] > self.now_ms - elapsed]
        assert in_time == sorted(in_time)
        for entry in fired:
            del self.expected[entry]

    @invariant()
    def it_knows_how_many_and_when(self) -> None:
        assert len(self.wheel) == len(self.expected)
        call_at = self.wheel.next_deadline_ms()
        if self.expected:
            assert call_at is not None
            assert call_at <= max(self.now_ms, min(self.expected.values()))
        else:
            assert call_at is None


TestWheelAgainstSortedList = WheelAgainstSortedList.TestCase


@given(st.lists(st.integers(1, 50_000_000), max_size=60))
def test_advancing_to_each_next_deadline_fires_every_entry_exactly_on_time(delays: list[int]) -> None:
    wheel: TimingWheel[TimerEntry] = TimingWheel(7)
    for delay in delays:
        wheel.start(TimerEntry(), 7 + delay)
    fired = []
    while (call_at := wheel.next_deadline_ms()) is not None:
        wheel.advance(call_at)
        fired += [(call_at, entry.fires_at_ms) for entry in take_all(wheel)]
    assert [at for at, _ in fired] == [deadline for _, deadline in fired] == sorted(7 + delay for delay in delays)


def test_entry_cancelled_after_it_fired_does_not_run() -> None:
    wheel: TimingWheel[TimerEntry] = TimingWheel()
    first, second = TimerEntry(), TimerEntry()
    wheel.start(first, 10)
    wheel.start(second, 10)
    wheel.advance(10)
    assert wheel.pop_due() is first
    wheel.cancel(second)
    assert wheel.pop_due() is None


def test_entry_started_with_a_past_deadline_waits_for_the_next_advance() -> None:
    wheel: TimingWheel[TimerEntry] = TimingWheel(100)
    wheel.start(entry := TimerEntry(), 100)
    assert wheel.pop_due() is None
    assert wheel.next_deadline_ms() == 100
    wheel.advance(100)
    assert wheel.pop_due() is entry


def test_entries_of_one_millisecond_fire_in_the_order_of_their_start() -> None:
    wheel: TimingWheel[TimerEntry] = TimingWheel()
    entries = [TimerEntry() for _ in range(50)]
    for entry in entries:
        wheel.start(entry, 5_000)
    wheel.advance(6_000)
    assert take_all(wheel) == entries


def test_bucket_emptied_by_cancellation_has_no_deadline() -> None:
    wheel: TimingWheel[TimerEntry] = TimingWheel()
    wheel.start(entry := TimerEntry(), 500)
    wheel.start(TimerEntry(), 90_000)
    wheel.cancel(entry)
    call_at = wheel.next_deadline_ms()
    assert call_at is not None
    assert 80_000 <= call_at <= 90_000  # the start of the coarse tick with the other entry


def test_wheel_continues_after_an_advance_by_a_year() -> None:
    wheel: TimingWheel[TimerEntry] = TimingWheel()
    wheel.start(early := TimerEntry(), 45_000)
    year = 365 * 24 * 3_600_000
    wheel.advance(year)
    assert take_all(wheel) == [early]
    wheel.start(late := TimerEntry(), year + 3)
    wheel.advance(year + 2)
    assert take_all(wheel) == []
    wheel.advance(year + 3)
    assert take_all(wheel) == [late]


def test_one_advance_moves_a_bounded_number_of_entries_and_none_is_early_or_lost() -> None:
    wheel: TimingWheel[TimerEntry] = TimingWheel()
    count = 3 * MOVES_AT_ONCE + 7
    entries = [TimerEntry() for _ in range(count)]
    for number, entry in enumerate(entries):
        wheel.start(entry, 160_000 + number % 50)
    wheel.advance(160_049)  # all are due now, and all are in one bucket
    fired = take_all(wheel)
    assert len(fired) <= MOVES_AT_ONCE
    rounds = 1
    while (call_at := wheel.next_deadline_ms()) is not None:
        assert call_at <= 160_049, "the rest is due at once"
        wheel.advance(160_049)
        fired += take_all(wheel)
        rounds += 1
        assert rounds < 20
    assert len(wheel) == 0
    assert [entry.fires_at_ms for entry in fired] == sorted(entry.fires_at_ms for entry in entries)
    assert fired == sorted(entries, key=lambda entry: entry.fires_at_ms), "in the order they were started"
