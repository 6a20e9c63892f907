"""Each declaration is compared with Kafka's definition: names, order, types, versions, nulls, tags and defaults."""

from __future__ import annotations

from typing import Any

import pytest

from protocol import codec
from protocol.api_keys import ApiKey
from protocol.generate import class_name, record_classes
from protocol.messages.consumer_protocol import Assignment, Subscription
from protocol.messages.offsets_log import GroupValue, OffsetValue
from protocol.schema import FieldSpec, WireType, field_specs, message_spec
from tests.protocol.definitions import (
    KAFKA_MESSAGES,
    PINNED_BY_HAND,
    Field,
    condense_all,
    defined_versions,
    definition,
    form_for,
    pinned,
    versions,
    with_newer_by_hand,
)
from tests.protocol.definitions import snake_case as snake
from tests.protocol.messages import all_messages, key_of, struct_class

RECORDS: dict[str, type] = {
    "ConsumerProtocolSubscription": Subscription,
    "ConsumerProtocolAssignment": Assignment,
    "OffsetCommitValue": OffsetValue,
    "GroupMetadataValue": GroupValue,
    **{each.__name__: each for each in record_classes("consumer_group_records")},
    **{each.__name__: each for each in record_classes("share_group_records")},
    **{each.__name__: each for each in record_classes("transaction_log")},
}
"""What is declared like a message without being a request or response."""

WITH_A_UNIT = {
    "commit_timestamp": "commit_timestamp_ms",
    "expire_timestamp": "expire_timestamp_ms",
    "current_state_timestamp": "current_state_timestamp_ms",
    "rebalance_timeout": "rebalance_timeout_ms",
    "session_timeout": "session_timeout_ms",
}
"""Names in the offsets log to which we add the unit that Kafka's lack."""

DECLARED = {**all_messages(), **RECORDS}


def our_name(message: str, kafka_name: str) -> str:
    name = snake(kafka_name)
    return WITH_A_UNIT.get(name, name) if message in ("OffsetCommitValue", "GroupMetadataValue") else name


def test_the_pinned_facts_are_those_of_kafkas_files_if_present() -> None:
    if KAFKA_MESSAGES.is_dir():
        in_files = {name: forms for name, forms in pinned().items() if not name.startswith(PINNED_BY_HAND)}
        assert with_newer_by_hand(condense_all(KAFKA_MESSAGES)) == in_files
    assert len(pinned()) > 100


def test_where_two_texts_define_a_version_they_agree() -> None:
    for name, forms in pinned().items():
        if "newer" not in forms:
            continue
        ranges = [versions(form["versions"], 1 << 15) for form in forms.values()]
        for version in set(ranges[0]) & set(ranges[1]):
            true = definition(name, version)
            assert form_for(name, version) is forms["snapshot"]
            pinned()[name] = {"snapshot": forms["newer"]}
            try:
                definition.cache_clear()
                assert definition(name, version) == true
            finally:
                pinned()[name] = forms
                definition.cache_clear()


def test_every_request_and_response_of_kafka_is_declared() -> None:
    pairs = {
        name for name in pinned() if name.endswith(("Request", "Response")) and "key" in pinned()[name]["snapshot"]
    }
    assert pairs == set(all_messages())


@pytest.mark.parametrize("name", all_messages())
def test_a_message_has_kafkas_key(name: str) -> None:
    spec = message_spec(DECLARED[name])
    assert spec.api_key == pinned()[name]["snapshot"]["key"] == key_of(name)
    assert name.startswith(class_name(key_of(name), ""))


@pytest.mark.parametrize("name", DECLARED)
def test_a_message_is_declared_in_all_of_its_versions_and_becomes_flexible_when_kafkas_does(name: str) -> None:
    spec = message_spec(DECLARED[name])
    assert spec.versions == defined_versions(name)
    for version in spec.versions:
        assert spec.flexible_in(version) == definition(name, version).flexible, version


@pytest.mark.parametrize("name", DECLARED)
def test_every_field_is_declared_as_kafka_defines_it_in_every_version(name: str) -> None:
    for version in defined_versions(name):
        compare(name, DECLARED[name], definition(name, version).fields, version)


def compare(message: str, cls: type, fields: tuple[Field, ...], version: int) -> None:
    specs = {name: spec for name, spec in field_specs(cls).items() if spec.exists_in(version)}
    assert list(specs) == [our_name(message, each.name) for each in fields], (cls.__name__, version)
    defaults = cls()
    for each, (name, spec) in zip(fields, specs.items(), strict=True):
        where = f"{cls.__name__}.{name} v{version}"
        assert wire_name(spec.wire) == ("array" if each.is_array else "struct" if each.is_struct else each.type), where
        assert spec.nullable_in(version) == each.nullable, where
        assert spec.tag == each.tag, where
        assert spec.writes_null == each.writes_null, where
        compare_default(each, spec, getattr(defaults, name), where)
        if each.is_array and not each.is_struct:
            assert isinstance(spec.wire.element, WireType) and spec.wire.element.name == each.type, where
        if each.is_struct:
            inner = struct_class(spec.wire)
            assert inner.__name__ in (each.type, *RENAMED.get(each.type, ())), where
            compare(message, inner, each.fields, version)


RENAMED = {
    "EntryData": ("EntryResult",),
    "TopicPartition": ("TopicPartitions", "TargetPartitions", "SharedPartitions"),
    "TopicPartitions": ("CurrentPartitions", "SharedPartitions"),
    "TopicMetadata": ("SubscribedTopic",),
    "PartitionMetadata": ("RackedPartition",),
    "MemberMetadata": ("MemberValue",),
}


def wire_name(wire: WireType) -> str:
    return wire.name


def compare_default(each: Field, spec: FieldSpec, ours: Any, where: str) -> None:
    kafkas = each.default_value()
    if isinstance(kafkas, dict):
        assert ours == struct_class(spec.wire)(), where
    else:
        assert ours == kafkas and type(ours) is type(kafkas), where


@pytest.mark.parametrize("name", DECLARED)
def test_an_object_can_be_made_from_keywords_alone_and_shares_no_list_with_another(name: str) -> None:
    cls = DECLARED[name]
    first, second = cls(), cls()
    assert first == second
    for name in field_specs(cls):
        if isinstance(getattr(first, name), list):
            assert getattr(first, name) is not getattr(second, name)
    assert not hasattr(first, "__dict__")


@pytest.mark.parametrize("key", [key for key in ApiKey if key.is_kafkas])
def test_the_codec_knows_the_versions_of_every_api(key: ApiKey) -> None:
    spec = message_spec(all_messages()[class_name(key, "Request")])
    assert codec.declared_versions(key) == spec.versions
    assert [codec.is_flexible(key, version) for version in spec.versions] == [
        definition(class_name(key, "Request"), version).flexible for version in spec.versions
    ]
