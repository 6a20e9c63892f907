"""The rules that every `SharedDocuments` keeps, as a class of tests; `log_store_kit` explains its use.

Tests use documents that no other test has used, so a world may keep one store for all of them.
"""

from __future__ import annotations

import asyncio
import uuid

import pytest

from coordinator.storage.documents.shared import MOST_BYTES, StoredDocument
from coordinator.storage.log_store import LogStoreError
from tests.support.eventually import eventually_async
from tests.support.log_store_kit import StoreWorld

LARGE = "".join(f'{{"name": "user-{number}", "city": "Zürich {number} 🜁"}}, ' for number in range(90_000))


class SharedDocumentsRules:
    """Rules of the documents in a store that several nodes share."""

    @pytest.fixture
    def name(self) -> str:
        """A document that no other test uses."""
        return f"{uuid.uuid4().hex}.json"

    async def test_there_is_no_document_at_first(self, world: StoreWorld, name: str) -> None:
        node = await world.node()
        assert await node.documents.read(name) is None
        assert not await node.documents.replace(name, "text", 1)
        assert await node.documents.read(name) is None

    async def test_each_change_is_one_more_revision_for_all_nodes(self, world: StoreWorld, name: str) -> None:
        first, second = await world.node(), await world.node()
        for number, text in enumerate(("one", "", "Größe 🜁 \0 three", "one")):
            writer, reader = (first, second) if number % 2 else (second, first)
            assert await writer.documents.replace(name, text, number)
            for node in (writer, reader):
                assert await node.documents.read(name) == StoredDocument(number + 1, text)
                assert await node.documents.read(name, number) == StoredDocument(number + 1, text)
                assert await node.documents.read(name, number + 1) is None

    async def test_documents_are_apart(self, world: StoreWorld, name: str) -> None:
        node, other = await world.node(), f"{name}2"
        assert await node.documents.replace(name, "one", 0)
        assert await node.documents.replace(other, "two", 0)
        assert await node.documents.replace(other, "three", 1)
        assert await node.documents.read(name) == StoredDocument(1, "one")
        assert await node.documents.read(other) == StoredDocument(2, "three")

    async def test_a_change_of_an_older_revision_is_refused(self, world: StoreWorld, name: str) -> None:
        first, second = await world.node(), await world.node()
        assert await first.documents.replace(name, "one", 0)
        assert not await second.documents.replace(name, "other", 0)
        assert await second.documents.replace(name, "two", 1)
        for revision in (0, 1, 3):
            assert not await first.documents.replace(name, "two", revision)
        assert await first.documents.read(name) == StoredDocument(2, "two")

    async def test_of_changes_at_the_same_time_exactly_one_is_made(self, world: StoreWorld, name: str) -> None:
        nodes = [await world.node() for _ in range(3)]
        for revision in range(6):
            texts = [f"of {node.id}" if revision % 2 else "the same" for node in nodes]
            made = await asyncio.gather(
                *(node.documents.replace(name, text, revision) for node, text in zip(nodes, texts, strict=True))
            )
            assert sorted(made) == [False, False, True]
            for node in nodes:
                assert await node.documents.read(name) == StoredDocument(revision + 1, texts[made.index(True)])

    async def test_a_text_of_4_mb(self, world: StoreWorld, name: str) -> None:
        first, second = await world.node(), await world.node()
        assert len(LARGE.encode()) > 4 << 20
        assert await first.documents.replace(name, LARGE, 0)
        assert await second.documents.read(name) == StoredDocument(1, LARGE)
        reread, made = await asyncio.gather(first.documents.read(name), second.documents.replace(name, LARGE[::-1], 1))
        assert made
        assert reread in (StoredDocument(1, LARGE), StoredDocument(2, LARGE[::-1]))
        assert await second.documents.replace(name, "small", 2)
        assert await first.documents.read(name) == StoredDocument(3, "small")

    async def test_large_texts_at_the_same_time(self, world: StoreWorld, name: str) -> None:
        nodes = [await world.node() for _ in range(2)]
        texts = [str(node.id % 10) * (2 << 20) for node in nodes]
        made = await asyncio.gather(
            *(node.documents.replace(name, text, 0) for node, text in zip(nodes, texts, strict=True))
        )
        assert sorted(made) == [False, True]
        for node in nodes:
            assert await node.documents.read(name) == StoredDocument(1, texts[made.index(True)])

    @pytest.mark.parametrize(
        "text",
        ["x" * (MOST_BYTES + 1), "é" * (MOST_BYTES // 2 + 1), "\ud800"],
        ids=["characters", "bytes", "surrogate"],
    )
    async def test_a_text_that_cannot_be_kept_is_refused(self, world: StoreWorld, name: str, text: str) -> None:
        node = await world.node()
        with pytest.raises(LogStoreError, match=r"larger than 16 MiB|no text") as caught:
            await node.documents.replace(name, text, 0)
        assert not caught.value.may_pass
        assert await node.documents.read(name) is None
        assert await node.documents.replace(name, "text", 0)

    async def test_a_watcher_hears_of_the_changes_of_others(self, world: StoreWorld, name: str) -> None:
        first, second = await world.node(), await world.node()
        heard = 0

        def hear() -> None:
            nonlocal heard
            heard += 1

        second.documents.watch(hear)
        for revision in range(2):
            before = heard
            assert await first.documents.replace(name, "text", revision)
            await eventually_async(lambda: heard > before, "the watcher hears of a change")  # noqa: B023
        await second.documents.close()
        before = heard
        assert await first.documents.replace(name, "text", 2)
        assert await second.documents.read(name) == StoredDocument(3, "text")
        assert heard == before, "it is closed"

    async def test_documents_outlast_the_nodes(self, world: StoreWorld, name: str) -> None:
        first = await world.node()
        assert await first.documents.replace(name, "one", 0)
        assert await first.documents.replace(name, LARGE, 1)
        await first.close()
        again, other = await world.unannounced(first.id), await world.unannounced()
        for node in (again, other):
            assert await node.documents.read(name) == StoredDocument(2, LARGE)
        assert await other.documents.replace(name, "three", 2)
        assert await again.documents.read(name) == StoredDocument(3, "three")

    @pytest.mark.parametrize("applied", [True, False])
    async def test_a_change_whose_answer_was_lost_is_made_once(
        self, world: StoreWorld, name: str, applied: bool
    ) -> None:
        assert world.loses_outcomes, "a store that is always told the outcome leaves this rule out"
        first, second = await world.node(), await world.node()
        for revision in range(4):
            text = f"text {revision} of {name}"
            await world.lose_next_change(first.id, name, text, applied=applied)
            assert await first.documents.replace(name, text, revision)
            assert not await second.documents.replace(name, "other", revision)
            for node in (first, second):
                assert await node.documents.read(name) == StoredDocument(revision + 1, text)
