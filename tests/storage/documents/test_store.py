"""A document of a node: in a file, followed from the controller, and in a store that several nodes share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.core.effects import Ticket
from coordinator.engine.memory import MemoryEngineState, open_memory
from coordinator.storage.documents.store import DocumentChange, DocumentKind, DocumentStore, DocumentStoreError
from coordinator.storage.documents.users import USERS
from coordinator.storage.log.fs import write_atomically
from coordinator.storage.log_store import LogStoreError
from coordinator.storage.memory_fs import MemoryFileSystem

DATA = Path("/data")
WORDS: DocumentKind[tuple[str, ...]] = DocumentKind(
    "words", "words.txt", (), lambda text: _parsed(text), lambda words: " ".join(words) + "\n"
)


def _parsed(text: str) -> tuple[str, ...]:
    if "!" in text:
        raise ValueError("it has a !")
    return tuple(text.split())


class Words(DocumentStore[tuple[str, ...]]):
    """The store of one node, whose answers are collected."""

    def __init__(self, fs: MemoryFileSystem, **settings: Any) -> None:
        super().__init__(fs, DATA, WORDS, **settings)
        self.answers: list[Any] = []
        self.uses: list[tuple[str, ...]] = []
        self.answer = lambda _, response: self.answers.append(response)
        self.changed = lambda: self.uses.append(self.content)

    async def add(self, word: str, *, before: Callable[[], None] = lambda: None) -> Any:
        """Add a word. `before` is called while the change is decided, in its thread."""

        def decide(words: tuple[str, ...]) -> tuple[tuple[str, ...], Any]:
            before()
            return (words, "there") if word in words else ((*words, word), "added")

        session = SimpleNamespace(principal="User:admin")
        self.change(DocumentChange(decide, lambda reason: reason, Ticket(session)))
        count = len(self.answers)
        async with asyncio.timeout(10):
            while len(self.answers) == count and self._work is not None:
                await asyncio.wait((self._work,))
        return self.answers[-1]


def file_system(text: str = "") -> MemoryFileSystem:
    fs = MemoryFileSystem()
    fs.mkdir(DATA)
    if text:
        write_atomically(fs, DATA / WORDS.file_name, text.encode())
    return fs


def text_in(fs: MemoryFileSystem) -> str:
    return DocumentStore(fs, DATA, WORDS).text.text.decode()


async def test_a_change_names_who_made_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    assert await Words(file_system()).add("one") == "added"
    assert "words changed by=User:admin" in caplog.text


def test_an_empty_file_is_no_document_without_users() -> None:
    """It may have been cut off: a start that went on would lock all users out."""
    fs = file_system("one")
    write_atomically(fs, DATA / USERS.file_name, b"")
    with pytest.raises(DocumentStoreError, match=r"the file of users /data/users\.json cannot be used"):
        DocumentStore(fs, DATA, USERS)


class TestFollowed:
    """The text of the controller is used, and kept for the next start."""

    async def test_it_is_used_and_kept(self) -> None:
        fs = file_system("old\n")
        store = Words(fs)
        await store.follow(b"one two\n")
        assert store.uses == [("one", "two")]
        assert text_in(fs) == "one two\n"

    async def test_a_controller_without_one_empties_it(self) -> None:
        fs = file_system("old\n")
        store = Words(fs)
        await store.follow(b"")
        assert (store.content, store.text.digest) == ((), b"")
        assert DocumentStore(fs, DATA, WORDS).content == ()

    async def test_one_that_cannot_be_read_changes_nothing(self) -> None:
        fs = file_system("old\n")
        store = Words(fs)
        with pytest.raises(DocumentStoreError, match="the words of the controller cannot be used: it has a !"):
            await store.follow(b"new !")
        assert (store.content, store.uses, text_in(fs)) == (("old",), [], "old\n")

    async def test_a_disk_that_is_full_changes_nothing(self) -> None:
        fs = file_system("old\n")
        store = Words(fs)
        fs.capacity_bytes = 0
        with pytest.raises(OSError):
            await store.follow(b"new")
        assert (store.content, store.uses) == (("old",), [])

    async def test_another_process_may_write_the_file(self) -> None:
        fs = file_system("old\n")
        store = Words(fs, is_written=False)
        await store.follow(b"new\n")
        assert (store.content, text_in(fs)) == (("new",), "old\n")


class TestShared:
    """The store of all nodes decides which of two changes came first."""

    @pytest.fixture
    def state(self) -> MemoryEngineState:
        return MemoryEngineState(lambda: 0)

    @staticmethod
    async def node(state: MemoryEngineState, number: int, text: str = "") -> Words:
        store = Words(file_system(text))
        await store.share(open_memory(state, number).documents)
        return store

    async def test_a_change_is_there_for_the_next_node(self, state: MemoryEngineState) -> None:
        first = await self.node(state, 1)
        assert await first.add("one") == "added"
        second = await self.node(state, 2)
        assert second.content == ("one",)
        assert await second.add("two") == "added"
        await first.refresh()
        assert first.content == ("one", "two")
        assert first.uses == [("one",), ("one", "two")]

    async def test_a_change_of_an_older_text_is_decided_again(self, state: MemoryEngineState) -> None:
        first, second = await self.node(state, 1), await self.node(state, 2)
        assert await first.add("one") == "added"
        assert await second.add("one") == "there"
        assert await second.add("two") == "added"
        assert second.content == ("one", "two")

    async def test_a_refresh_while_a_change_is_decided_loses_neither(self, state: MemoryEngineState) -> None:
        first, second = await self.node(state, 1), await self.node(state, 2)
        loop = asyncio.get_running_loop()
        tries: list[int] = []

        async def meanwhile() -> None:
            assert await second.add("two") == "added"
            await first.refresh()

        def once() -> None:
            tries.append(1)
            if len(tries) == 1:
                asyncio.run_coroutine_threadsafe(meanwhile(), loop).result(10)

        assert await first.add("one", before=once) == "added"
        assert first.content == ("two", "one")
        await second.refresh()
        assert second.content == ("two", "one")
        assert len(tries) == 2

    async def test_a_file_is_taken_over_by_a_store_that_has_none(self, state: MemoryEngineState) -> None:
        first = await self.node(state, 1, "one\n")
        second = await self.node(state, 2, "other\n")
        assert first.content == second.content == ("one",)
        assert await first.add("two") == "added"

    async def test_a_store_that_fails_is_a_refusal(
        self, state: MemoryEngineState, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = await self.node(state, 1)
        shared = store._shared

        async def replace(*_: Any) -> bool:
            raise LogStoreError("it is away; wait")

        monkeypatch.setattr(shared, "replace", replace)
        assert await store.add("one") == (
            "the words could not be kept in the shared store; the log of the server says why"
        )
        assert store.content == ()

    async def test_nodes_that_are_always_faster_are_a_refusal(
        self, state: MemoryEngineState, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = await self.node(state, 1)

        async def replace(*_: Any) -> bool:
            return False

        monkeypatch.setattr(store._shared, "replace", replace)
        assert await store.add("one") == "other nodes change the words at the same time; try again"


async def test_a_defect_in_a_change_is_a_refusal_and_the_next_change_is_made(caplog: pytest.LogCaptureFixture) -> None:
    store = Words(file_system())

    def fail() -> None:
        raise RuntimeError("a defect")

    assert await store.add("one", before=fail) == "the server has failed; its log says why"
    assert "words not changed, by a defect" in caplog.text
    assert await store.add("two") == "added"
