"""Owners of partitions, from what members say and are told."""

from __future__ import annotations

import pytest

from coordinator.rehearse.callbacks import Callback, CallbackKind, OwnerGap, PartitionOwners, PartitionRelease

ASSIGNED, REVOKED, LOST = CallbackKind


@pytest.fixture
def owners() -> PartitionOwners:
    """Return the owners of four partitions: two of each copy, since 0 s."""
    owners = PartitionOwners()
    owners.set(0, "m1", "copy-1", [0, 1])
    owners.set(0, "m2", "copy-2", [2, 3])
    return owners


def test_a_partition_that_had_no_owner_yet_has_no_gap(owners: PartitionOwners) -> None:
    assert owners.callbacks == [
        Callback(0, "copy-1", ASSIGNED, (0, 1)),
        Callback(0, "copy-2", ASSIGNED, (2, 3)),
    ]
    assert owners.gaps == []
    assert [owners.owner_of(number) for number in range(5)] == ["copy-1", "copy-1", "copy-2", "copy-2", None]


def test_a_partition_that_is_given_up_has_no_owner_until_it_is_given_to_another_member(owners: PartitionOwners) -> None:
    owners.set(1, "m1", "copy-1", [0])
    assert owners.longest_gap_s(1, 0, 3) == 2
    owners.set(4, "m2", "copy-2", [1, 2, 3])
    assert owners.gaps == [OwnerGap(1, 1, 4)]
    assert owners.longest_gap_s(1, 0, 9) == 3
    assert owners.longest_gap_s(1, 5, 9) == 0
    assert owners.callbacks[2:] == [Callback(1, "copy-1", REVOKED, (1,)), Callback(4, "copy-2", ASSIGNED, (1,))]


def test_the_time_of_a_revocation_begins_when_the_member_is_told(owners: PartitionOwners) -> None:
    owners.set(1, "m1", "copy-1", [0, 1], revoking=[1])
    owners.set(2, "m1", "copy-1", [0, 1], revoking=[1])
    assert owners.owner_of(1) == "copy-1"
    owners.set(5, "m1", "copy-1", [0])
    assert owners.callbacks[-1] == Callback(5, "copy-1", REVOKED, (1,), took_s=4)
    assert owners.releases == [PartitionRelease(1, "copy-1", told_s=1, at_s=5)]


def test_a_partition_that_may_be_kept_after_all_is_not_revoked(owners: PartitionOwners) -> None:
    owners.set(1, "m1", "copy-1", [0, 1], revoking=[0, 1])
    owners.set(2, "m1", "copy-1", [0, 1])
    owners.set(5, "m1", "copy-1", [])
    assert owners.callbacks[-1] == Callback(5, "copy-1", REVOKED, (0, 1))


def test_a_copy_that_is_told_to_end_gives_all_up(owners: PartitionOwners) -> None:
    owners.stopping(1, "copy-2")
    owners.set(2, "m2", "copy-2", [2, 3])
    owners.gone(4, "m2", is_lost=False)
    assert owners.callbacks[-1] == Callback(4, "copy-2", REVOKED, (2, 3), took_s=3)
    assert owners.members == {"m1"}


def test_the_partitions_of_a_member_that_is_removed_are_lost(owners: PartitionOwners) -> None:
    owners.gone(4, "m2", is_lost=True)
    assert owners.callbacks[-1] == Callback(4, "copy-2", LOST, (2, 3))
    owners.gone(5, "m2", is_lost=True)
    assert len(owners.callbacks) == 3


def test_partitions_that_another_member_is_given_are_lost_by_their_owner(owners: PartitionOwners) -> None:
    owners.set(2, "m1", "copy-1", [0, 1, 2, 3])
    assert owners.callbacks[2:] == [Callback(2, "copy-2", LOST, (2, 3)), Callback(2, "copy-1", ASSIGNED, (2, 3))]
    assert sorted(owners.gaps) == [OwnerGap(2, 2, 2), OwnerGap(3, 2, 2)]


def test_a_member_has_given_up_what_it_had(owners: PartitionOwners) -> None:
    owners.set(1, "m1", "copy-1", [0])
    assert [owners.has_given_up("m1", number) for number in range(3)] == [False, True, False]
    owners.set(2, "m1", "copy-1", [0, 1])
    assert not owners.has_given_up("m1", 1)


def test_a_partition_is_kept_if_the_assignment_of_its_owner_changed_later(owners: PartitionOwners) -> None:
    assert not owners.was_kept(0)
    owners.set(1, "m1", "copy-1", [0])
    assert owners.was_kept(0)
    assert not owners.was_kept(1)
    owners.set(2, "m2", "copy-2", [1, 2, 3])
    assert [owners.was_kept(number) for number in (1, 2, 3)] == [False, True, True]
