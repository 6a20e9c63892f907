"""`coordinator log dump --group` prints the same with and without the kernel, and needs it for nothing but speed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coordinator.cli.log import dump as log
from coordinator.columnar import group_filter
from protocol.offsets_records import (
    GroupValue,
    OffsetValue,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from tests.compaction.segments import CONTROL, TRANSACTIONAL, BatchOf, RecordOf, segment_of

NEVER = 1 << 60

_groups = st.sampled_from(("", "a", "ab", "b", "ä"))
_values = st.sampled_from(
    (
        None,
        encode_offset_value(OffsetValue(7, 1, "n", 5, -1)),
        encode_group_value(GroupValue("c", 1, None, None)),
        b"\0",
    )
)
_keys = (
    st.builds(encode_offset_key, _groups, _groups, st.integers(0, 3))
    | st.builds(encode_offset_key, _groups, _groups, st.integers(0, 3)).map(lambda key: b"\0\0" + key[2:])
    | st.builds(encode_group_key, _groups)
    | st.builds(encode_group_key, _groups).map(lambda key: b"\0\3" + key[2:])
    | st.builds(encode_group_key, _groups).map(lambda key: key[:-1])
    | st.none()
)
_records = st.lists(st.builds(RecordOf, _keys, _values), max_size=6)
_batches = st.builds(BatchOf, _records, attributes=st.sampled_from((0, 0, TRANSACTIONAL, TRANSACTIONAL | CONTROL)))


def dumps(segment: Path, group: str, patch: pytest.MonkeyPatch) -> list[list[tuple[str, bool]]]:
    """Print with the plain reader, and with the kernel."""
    found = []
    for threshold in (NEVER, 0):
        patch.setattr(log, "KERNEL_FROM_BYTES", threshold)
        found += [list(log.dumped(segment, group=group, as_json=as_json)) for as_json in (False, True)]
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(batches=st.lists(_batches, max_size=4), group=_groups, flipped=st.none() | st.integers(0, 10_000))
def test_the_kernel_finds_the_records_that_the_plain_reader_prints(
    batches: list[BatchOf], group: str, flipped: int | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = bytearray(segment_of(batches).data)
    if data and flipped is not None:
        data[flipped % len(data)] ^= 4
    segment = tmp_path_factory.mktemp("log") / "__consumer_offsets-1" / "00000000000000000000.log"
    segment.parent.mkdir()
    segment.write_bytes(data + bytes(100))
    with pytest.MonkeyPatch.context() as patch:
        words, json_lines, *by_kernel = dumps(segment, group, patch)
    assert by_kernel == [words, json_lines]


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    path = tmp_path / "__consumer_offsets-1" / "00000000000000000000.log"
    path.parent.mkdir()
    records = [RecordOf(encode_offset_key(name, "t", 1), None) for name in ("orders", "order", "orders2", "bills")]
    path.write_bytes(segment_of([BatchOf(records), BatchOf([RecordOf(encode_group_key("orders"), None)])]).data)
    return path


def test_the_kernel_is_asked_only_for_a_group_and_only_where_it_pays(
    segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(group_filter, "records_of_group", lambda data, group, path: asked.append(group) or [])
    list(log.dumped(segment, group="orders"))
    monkeypatch.setattr(log, "KERNEL_FROM_BYTES", 0)
    list(log.dumped(segment))
    assert asked == []
    assert list(log.dumped(segment, group="orders")) == []
    assert asked == ["orders"]


def test_without_the_extra_the_plain_reader_is_used(segment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "KERNEL_FROM_BYTES", 0)
    with_it = list(log.dumped(segment, group="orders"))
    monkeypatch.setitem(sys.modules, "coordinator.columnar.group_filter", None)
    assert list(log.dumped(segment, group="orders")) == with_it
    assert len(with_it) == 2
