"""Every kept input, and every seed, through its target, without atheris; and what decoding them may cost in memory."""

from __future__ import annotations

import importlib
import tracemalloc
from random import Random
from types import ModuleType

import pytest

from tests.fuzz import corpus
from tests.fuzz.targets import TARGETS

MOST_CORPUS_BYTES = 1_000_000
BYTES_FOR_ONE = 400  # of memory while a byte of a frame is decoded: an object for an element of a few bytes
BYTES_AT_LEAST = 64_000

every_target = pytest.mark.parametrize("name", TARGETS)


def target(name: str) -> ModuleType:
    return importlib.import_module(f"tests.fuzz.targets.{name}")


def inputs(name: str) -> list[bytes]:
    return [*corpus.kept(name), *target(name).seeds()]


@every_target
def test_every_kept_input_passes(name: str) -> None:
    check = target(name).check
    for data in inputs(name):
        try:
            check(data)
        except BaseException as error:
            error.add_note(f"target {name}, input {data!r}")
            raise


@every_target
def test_inputs_changed_by_the_grammar_pass(name: str) -> None:
    module, chance = target(name), Random(name)
    known = inputs(name)
    for _ in range(150):
        data = module.mutate(chance.choice(known), chance)[: TARGETS[name].max_bytes]
        try:
            module.check(data)
        except BaseException as error:
            error.add_note(f"target {name}, input {data!r}")
            raise


@pytest.mark.parametrize("name", ["requests", "responses", "consumer_protocol", "offsets_records", "headers"])
def test_decoding_takes_memory_in_proportion_to_the_frame(name: str) -> None:
    """A length field allocates no more than the frame holds."""
    check = target(name).check
    for data in inputs(name):
        check(data)  # loads what the first use of a message loads
    tracemalloc.start()
    try:
        for data in inputs(name):
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            check(data)
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before <= BYTES_AT_LEAST + BYTES_FOR_ONE * len(data), data
    finally:
        tracemalloc.stop()


def test_corpus_is_small_and_has_a_file_for_each_target() -> None:
    files = sorted(corpus.DIRECTORY.iterdir())
    assert [path.stem for path in files] == sorted(TARGETS)
    assert sum(path.stat().st_size for path in files) < MOST_CORPUS_BYTES


def test_packed_inputs_are_unpacked_as_they_were() -> None:
    data = [b"", b"a", bytes(300), b"abc"]
    assert corpus.unpack(corpus.pack(data)) == sorted(data, key=lambda each: (len(each), each))


def test_a_pack_that_is_too_large_keeps_the_shortest_inputs() -> None:
    chance = Random(1)
    data = [chance.randbytes(size) for size in range(1, 600)]
    packed = corpus.pack(data)
    assert len(packed) <= corpus.MOST_BYTES
    found = corpus.unpack(packed)
    assert found == data[: len(found)] and len(found) > 100
