"""The offset store agrees with flat dicts and keeps no empty entries; groups are hashed to partitions as in Kafka."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.offsets.store import CommittedOffset, OffsetStore
from coordinator.core.shard import partition_for

GROUPS, TOPICS, PARTITIONS, PRODUCERS = ["g", "h"], ["t", "u"], [0, 1], [1, 2]


def an_offset(number: int) -> CommittedOffset:
    return CommittedOffset(number, -1, "", 0, -1, number)


@st.composite
def operations(draw: st.DrawFn) -> list[tuple[str, int, str, str, int]]:
    one = st.tuples(
        st.sampled_from(["put", "remove", "pend", "commit", "abort"]),
        st.sampled_from(PRODUCERS),
        st.sampled_from(GROUPS),
        st.sampled_from(TOPICS),
        st.sampled_from(PARTITIONS),
    )
    return draw(st.lists(one, max_size=40))


@given(operations())
def test_store_agrees_with_two_flat_dicts(steps: list[tuple[str, int, str, str, int]]) -> None:
    store = OffsetStore()
    committed: dict[tuple[str, str, int], int] = {}
    pending: dict[tuple[int, str, str, int], int] = {}
    for number, (what, producer, group, topic, partition) in enumerate(steps):
        key = (group, topic, partition)
        if what == "put":
            store.put(*key, an_offset(number))
            committed[key] = number
        elif what == "remove":
            store.remove(*key)
            committed.pop(key, None)
            pending = {at: value for at, value in pending.items() if at[1:] != key}
        elif what == "pend":
            store.put_pending(producer, *key, an_offset(number))
            pending[producer, group, topic, partition] = number
        else:
            store.end_transaction(producer, commit=what == "commit")
            for at in [at for at in pending if at[0] == producer]:
                value = pending.pop(at)
                if what == "commit":
                    committed[at[1:]] = max(value, committed.get(at[1:], -1))
        assert store.count == len(committed)
        for g in GROUPS:
            assert {
                (g, t, p): offset.offset for t, offsets in store.of_group(g).items() for p, offset in offsets.items()
            } == {at: value for at, value in committed.items() if at[0] == g}
            assert store.has_pending(g) == any(at[1] == g for at in pending)
            assert set(store.pending_of_group(g)) == {at[2:] for at in pending if at[1] == g}
            for t in TOPICS:
                for p in PARTITIONS:
                    assert store.is_pending(g, t, p) == any(at[1:] == (g, t, p) for at in pending)
    assert all(store.of_group(g) == {} or any(at[0] == g for at in committed) for g in GROUPS)


@given(st.text(max_size=30))
def test_partition_of_a_group_comes_from_the_java_hash(group_id: str) -> None:
    number = 0
    encoded = group_id.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(encoded), 2):
        number = 31 * number + int.from_bytes(encoded[position : position + 2], "big")
    number = (number + 2**31) % 2**32 - 2**31
    expected = 0 if number == -(2**31) else abs(number)
    for partitions in (1, 8, 50):
        assert partition_for(group_id, partitions) == expected % partitions


KNOWN = {
    "": (0, 0),
    "a": (47, 1),
    "foo": (24, 6),
    "bar": (49, 3),
    "test": (48, 2),
    "group": (47, 15),
    "my-group": (12, 2),
    "test-group": (12, 4),
    "connect-cluster": (13, 7),
    "console-consumer-12345": (6, 2),
    "consumer-group-1": (20, 12),
    "group-0": (48, 2),
    "group-1": (49, 3),
    "group-49": (27, 3),
    "polygenelubricants": (0, 0),
    "na\u00efve": (25, 11),
    "\u7fa4\u7ec4": (8, 0),
    "\U0001f600": (49, 3),
}


def test_partitions_of_known_groups_are_those_of_kafka() -> None:
    assert {name: (partition_for(name, 50), partition_for(name, 16)) for name in KNOWN} == KNOWN
