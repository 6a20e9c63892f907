"""`groups explain --http` asks a console, so that it also works for a cluster that is observed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coordinator.cli.main import main
from coordinator.console.model import GroupPage
from coordinator.console.source import ConsoleError
from coordinator.core.events.model import Story
from coordinator.explain.rules import explain
from tests.console.test_routes import Console, console

pytestmark = pytest.mark.integration


@pytest.fixture
def open_console() -> Iterator[Console]:
    with console() as found:
        yield found


def test_the_story_of_a_console_is_explained(open_console: Console, capsys: pytest.CaptureFixture[str]) -> None:
    async def group(name: str, at_ms: int | None = None) -> GroupPage:
        return GroupPage(group=name, at_ms=5, verdicts=[], story=Story(at_ms=5, unknown=["When it began."]))

    open_console.source.group = group  # type: ignore[method-assign]
    assert main(["groups", "explain", "shop", "--http", f"127.0.0.1:{open_console.port}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == explain(Story(at_ms=5))[0].sentence
    assert lines[-1] == "Not known: When it began."


def test_a_group_that_the_console_does_not_know_is_a_sentence(
    open_console: Console, capsys: pytest.CaptureFixture[str]
) -> None:
    open_console.source.problem = ConsoleError("the log has no group of this name", 404)
    assert main(["groups", "explain", "shop", "--http", f"127.0.0.1:{open_console.port}"]) == 1
    assert "the log has no group of this name" in capsys.readouterr().err


def test_an_address_without_a_console_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with console() as closed:
        pass
    assert main(["groups", "explain", "shop", "--http", f"127.0.0.1:{closed.port}"]) == 2
    assert "give the address of the HTTP port of a daemon" in capsys.readouterr().err
