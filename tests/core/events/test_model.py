"""The JSON of events: what is written is read again, by older and newer readers, whatever clients call themselves."""

from __future__ import annotations

import json
import typing

import msgspec
import pytest

from coordinator.core.events import model
from coordinator.core.events.model import (
    LONGEST_NAME,
    AnyEvent,
    Cause,
    Change,
    ChangeKind,
    ClientInfo,
    HeldPartition,
    HoldingTransaction,
    Incident,
    IncidentKind,
    LiveGroup,
    LiveMember,
    PendingOffsets,
    Rebalance,
    RebalanceOutcome,
    Share,
    Story,
    Trigger,
    Wait,
    decode_event,
    decode_story,
    encode,
    shortened,
)

EVIL = [
    "",
    "\0\n\r\t\x1b[31m",
    '"}],"kind":"incident',
    "<script>alert(1)</script>",
    "\u2028\u202e\ufeff",
    "naïve 漢字 🦆",
    "%s %d {0} ${jndi:ldap://x}",
    "x" * 40_000,
]


def client(name: str = "web-1") -> ClientInfo:
    return ClientInfo(f"{name}-id", f"{name}-instance", name, "10.0.0.1", "apache-kafka-java 4.4.0")


def rebalance(name: str = "web-1") -> Rebalance:
    return Rebalance(
        group=name,
        at_ms=1_700_000_000_000,
        trigger=Trigger(Cause.MEMBER_LEFT, client(name), name, 45_000, 300_000, True, 7),
        outcome=RebalanceOutcome.STABLE,
        previous_generation=6,
        generation=7,
        members_before=3,
        members_after=2,
        join_ms=100,
        plan_ms=20,
        sync_ms=30,
        changes=[Change(kind, client(name), 5, name, 45_000, 300_000, 7) for kind in ChangeKind],
        counts={kind.value: 12 for kind in ChangeKind},
        leader=client(name),
        last_to_join=client(name),
        last_join_ms=90,
        previous_join_ms=10,
        rebalance_timeout_ms=60_000,
        protocol=name,
        partitions=12,
        partitions_moved=4,
        unowned_partition_ms=900,
        records_read_twice=17,
        shares=[Share(client(name), 4, 1)],
        last_to_revoke=client(name),
        last_revoke_ms=25,
        last_to_reconcile=client(name),
        last_reconcile_ms=28,
        previous_reconcile_ms=26,
        type="consumer",
    )


def incident(what: IncidentKind = IncidentKind.FENCED, name: str = "web-1") -> Incident:
    return Incident(
        group=name,
        at_ms=1_700_000_000_000,
        what=what,
        member=client(name),
        other=client(name),
        error="FENCED_INSTANCE_ID",
        api="HEARTBEAT",
        reason=name,
        generation=4,
        more=2,
        waited_ms=3,
        at_most_ms=4,
        times=5,
        others=1,
        offered=[name],
        last_ms=6,
    )


def story(name: str = "web-1") -> Story:
    member = LiveMember(
        member=client(name),
        partitions=3,
        has_joined=True,
        has_synced=True,
        is_leader=True,
        silent_ms=2,
        session_timeout_ms=3,
        rebalance_timeout_ms=4,
        protocols=[name],
        topics=[name],
        revoking=1,
        awaited=2,
        epoch=7,
        step_ms=900,
        is_classic=True,
        assigned=[f"{name} 0-3"],
        target=[f"{name} 0, 2"],
        giving_up=[f"{name} 1"],
        unpolled_ms=5,
        told_ms=6,
    )
    state = LiveGroup(
        group=name,
        at_ms=1,
        state="Stable",
        since_ms=2,
        loaded_at_ms=1,
        generation=3,
        protocol_type="consumer",
        protocol=name,
        partitions=4,
        member_count=5,
        waits=Wait.JOINS,
        waits_for=[client(name)],
        waits_for_count=6,
        waits_at_most_ms=7,
        members=[member],
        rebalance=rebalance(name),
        rebalances=8,
        commits_refused=9,
        fencings=10,
        type="consumer",
        assignment_epoch=2,
        classic_members=1,
        unmatched=[name],
        pending_offsets=[PendingOffsets(producer_id=1, count=2, partitions=[f"{name}-0"], since_ms=3)],
    )
    transaction = HoldingTransaction(
        producer_id=1, transactional_id=name, state="Ongoing", start_ms=2, timeout_ms=3, is_hanging=True
    )
    held = HeldPartition(
        topic=name, partition=1, committed=2, last_stable_offset=3, high_watermark=4, transaction=transaction
    )
    events: list[AnyEvent] = [rebalance(name), incident(name=name)]
    return Story(at_ms=1, state=state, events=events, unknown=[name], held=[held], offsets_pending_in=[transaction])


EVENTS: list[AnyEvent] = [rebalance(), *(incident(what) for what in IncidentKind)]


@pytest.mark.parametrize("event", EVENTS)
def test_event_is_read_as_it_was_written(event: AnyEvent) -> None:
    assert decode_event(encode(event)) == event


def test_story_is_read_as_it_was_written() -> None:
    assert decode_story(encode(story())) == story()
    assert decode_story(encode(Story(at_ms=1))) == Story(at_ms=1)


@pytest.mark.parametrize(
    "kind", [each for each in vars(model).values() if isinstance(each, type) and issubclass(each, msgspec.Struct)]
)
def test_every_field_is_in_the_examples(kind: type[msgspec.Struct]) -> None:
    """A field that the examples leave at its default would not be tested."""
    if kind is model.Event:
        return
    found: list[msgspec.Struct] = []

    def collect(value: object) -> None:
        if isinstance(value, list):
            for each in value:
                collect(each)
        elif isinstance(value, msgspec.Struct):
            found.append(value)
            for name in value.__struct_fields__:
                collect(getattr(value, name))

    collect([story()])
    (example, *_) = [each for each in found if type(each) is kind]
    for field in msgspec.structs.fields(kind):
        if field.name != "version":
            default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
            assert getattr(example, field.name) != default, field.name


@pytest.mark.parametrize("event", EVENTS)
def test_fields_of_a_later_version_are_ignored(event: AnyEvent) -> None:
    later = json.loads(encode(event))
    later["version"] = 2
    later["weather"] = {"is": ["fine"]}
    (later.get("trigger") or later["member"])["shoe_size"] = 44
    read = decode_event(json.dumps(later).encode())
    assert read.version == 2 and read.group == event.group


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "incident", "group": "g", "at_ms": 1, "what": what.value}
        for what in IncidentKind
    ]
    + [
        {
            "kind": "rebalance", "group": "g", "at_ms": 1, "trigger": {"cause": cause.value}, "outcome": outcome.value,
            "previous_generation": 1, "generation": 2,
        }
        for cause in Cause for outcome in RebalanceOutcome
    ],
)  # fmt: skip
def test_missing_fields_have_their_defaults_and_text(data: dict[str, typing.Any]) -> None:
    event = decode_event(json.dumps(data).encode())
    text = event.text()
    assert text.startswith("Group g") and text.endswith(".")
    assert json.loads(encode(event)) == data, "defaults are not written"


@pytest.mark.parametrize("name", EVIL)
def test_names_that_clients_choose_survive(name: str) -> None:
    for event in (rebalance(name), incident(name=name)):
        data = encode(event)
        assert b"\n" not in data and decode_event(data) == event
        assert json.loads(data)["group"] == name
        assert event.text()
    assert decode_story(encode(story(name))) == story(name)


@pytest.mark.parametrize("name", EVIL)
def test_long_names_are_shortened_and_keep_their_end(name: str) -> None:
    short = shortened(name + "-00000000-0000-4000-8000-000000000001")
    assert len(short) <= LONGEST_NAME and short.endswith("-4000-8000-000000000001")
    assert shortened(short) == short


NOT_TEXT = b'{"kind":"incident","group":"\xff","at_ms":1}'
STATE_NOT_TEXT = b'{"at_ms":1,"state":{"group":"\xff","at_ms":1,"state":"Stable"}}'
TOO_DEEP = b'{"at_ms":1,"later":' + b"[" * 100_000


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{}", b"[]", b"null", b'{"kind":"rebalance"}', b'{"kind":"tea","group":"g","at_ms":1}', b"\xff"),
        *(NOT_TEXT, TOO_DEEP),
    ],
    ids=len,
)
def test_other_data_is_refused(data: bytes) -> None:
    with pytest.raises((msgspec.DecodeError, msgspec.ValidationError)):
        decode_event(data)


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b"null", b'{"at_ms":"now"}', b'{"at_ms":1,"events":[{}]}', STATE_NOT_TEXT, TOO_DEEP],
    ids=len,
)
def test_other_data_is_no_story(data: bytes) -> None:
    with pytest.raises((msgspec.DecodeError, msgspec.ValidationError)):
        decode_story(data)


def test_every_kind_of_incident_has_a_sentence() -> None:
    sentences = {what: incident(what).text() for what in IncidentKind}
    assert "has been rebalancing for 3 ms; it waits for web-1-instance" in sentences[IncidentKind.REBALANCE_SLOW]
    assert "and 2 more, at most 4 ms more" in sentences[IncidentKind.REBALANCE_SLOW]
    assert "take each other's place, 5 times" in sentences[IncidentKind.STATIC_MEMBER_REPLACED]
    assert all("web-1" in text for text in sentences.values())


def test_client_is_called_by_the_name_that_an_operator_knows() -> None:
    assert client().full_name == "web-1-instance (10.0.0.1, apache-kafka-java 4.4.0)"
    assert ClientInfo("m", client_id="c").full_name == "c"
    assert ClientInfo("m").name == "m"
    assert ClientInfo().name == "an unnamed client" and not ClientInfo().is_known
