"""A page as a play: what is done with each of its blocks, in their order.

Every fenced block of a page has a step or stands among the exempt ones with a reason, by its first line; a step without
its block is a mistake as well. So a block that somebody adds is run, or somebody has said why not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.docs.blocks import Block, blocks, masked
from tests.docs.stage import Stage
from tests.support.eventually import eventually

SHOWN_S: Final = 30.0

Step = Callable[["Play", Block], None]


@dataclass(slots=True)
class Play:
    """One page on its stage; `typed` and `printed` are the last commands and their output."""

    stage: Stage
    typed: str = ""
    printed: str = ""
    facts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Script:
    """A page, the steps for its blocks, and the blocks that are not run, each with the reason."""

    page: str
    steps: Mapping[str, Step]
    exempt: Mapping[str, str]

    def check(self) -> None:
        """Every block is known, and everything known is a block."""
        firsts = [block.first for block in blocks(self.page)]
        for block in blocks(self.page):
            assert block.first in self.steps or block.first in self.exempt, (
                f"{block.where}: this block is neither run nor exempt; give it a step in tests/docs, or a reason:\n"
                f"{block.text}"
            )
            assert firsts.count(block.first) == 1, f"{block.where}: two blocks begin with {block.first!r}"
        assert {*self.steps, *self.exempt} == set(firsts), "steps without their block"
        assert not set(self.steps) & set(self.exempt)

    def perform(self, stage: Stage) -> Play:
        """Run the page."""
        play = Play(stage)
        for block in blocks(self.page):
            if block.first in self.steps:
                try:
                    self.steps[block.first](play, block)
                except Exception as error:
                    raise AssertionError(f"{block.where}: {error}\n{block.text}") from error
        return play


def typed(play: Play, block: Block) -> None:
    """Commands for the second terminal."""
    play.typed = block.text
    play.printed = play.stage.type(block.text)


def file(name: str) -> Step:
    """Text to be saved."""
    return lambda play, block: play.stage.save(name, block.text)


def shown(prepare: Callable[[str], str] = lambda text: text) -> Step:
    """What the last commands print, sooner or later. `prepare` takes out what only this page knows to differ."""

    def compare(play: Play, block: Block) -> None:
        wanted = masked(prepare(block.text))

        def appears() -> bool:
            if wanted == masked(prepare(play.printed)):
                return True
            play.printed = play.stage.type(play.typed)
            return False

        try:
            eventually(appears, "the output on the page", within_s=SHOWN_S)
        except AssertionError:
            got = masked(prepare(play.printed))
            raise AssertionError(f"printed is\n{play.printed}\ncompared was\n{got}\nwith\n{wanted}") from None

    return compare


def daemon_says(play: Play, block: Block) -> None:
    """One line of the daemon's own terminal, folded on the page."""
    daemon, wanted = play.stage.daemon, masked(block.text)
    assert daemon is not None
    eventually(
        lambda: any(wanted in masked(line) for line in daemon.screen.splitlines()),
        f"{wanted!r} in the daemon's terminal:\n{daemon.screen}",
        within_s=SHOWN_S,
    )
