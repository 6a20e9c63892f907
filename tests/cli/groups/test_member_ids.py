"""Short forms of member ids."""

from __future__ import annotations

from coordinator.cli.group_description import DescribedMember
from coordinator.cli.groups.member_ids import find, shortened

A = "web-0f3a51c2-7b11-4a1e-9d20-0123456789ab"
B = "web-0f3a51c2-7b11-4b1e-9d20-0123456789ab"
C = "rdkafka-5d1f0c3e-1111-4a1e-9d20-0123456789ab"


def member(member_id: str, instance_id: str | None = None) -> DescribedMember:
    return DescribedMember(member_id, instance_id, "client", "/h", None, None, None)


def test_id_ends_after_the_first_block_of_its_uuid() -> None:
    assert shortened([A, C]) == {A: "web-0f3a51c2…", C: "rdkafka-5d1f0c3e…"}


def test_ids_are_as_long_as_it_takes_to_tell_them_apart() -> None:
    assert shortened([A, B, C]) == {
        A: "web-0f3a51c2-7b11-4a1e…",
        B: "web-0f3a51c2-7b11-4b1e…",
        C: "rdkafka-5d1f0c3e-1111-4a1e…",
    }
    twin = A[:-1] + "c"
    assert shortened([A, twin]) == {A: A, twin: twin}


def test_id_without_a_uuid_stays_as_it_is() -> None:
    assert shortened(["consumer-1", A]) == {"consumer-1": "consumer-1", A: "web-0f3a51c2…"}
    assert shortened([]) == {}


def test_member_is_found_by_its_id_its_beginning_its_short_form_or_its_instance_id() -> None:
    members = [member(A), member(B, "web-7"), member(C)]
    assert find("rdkafka-5d1f0c3e…", members) == find("rd", members) == find(C, members) == [members[2]]
    assert find("web-7", members) == [members[1]]
    assert find("web-0f3a51c2…", members) == members[:2]
    assert find("", members) == find("…", members) == find("other", members) == []


def test_exact_id_is_preferred_to_one_that_begins_with_it() -> None:
    members = [member("web-1"), member("web-10")]
    assert find("web-1", members) == [members[0]]
