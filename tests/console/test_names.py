"""Names of members are as short as they can be told apart."""

from __future__ import annotations

from coordinator.console.names import member_names


def test_an_instance_id_is_a_name_and_a_client_id_that_occurs_once() -> None:
    names = member_names([("shipping-1", "pod"), ("web-0b9f4d8e-12a4", "web")])
    assert names == {"shipping-1": "shipping-1", "web-0b9f4d8e-12a4": "web"}


def test_members_of_one_client_id_have_a_part_of_their_uuid() -> None:
    names = member_names([("web-0b9f4d8e-12a4", "web"), ("web-6f1c0a52-6a0c", "web"), ("odd", "")])
    assert sorted(names.values()) == ["odd", "web-0b9f4d8e", "web-6f1c0a52"]
