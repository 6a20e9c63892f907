"""A script runs a page: a step for each of its fenced blocks, in their order.

Every block has a step, or is exempt with a reason; both are found by the beginning of its first line. A step without
its block is an error as well. So a new block is run, or its author has given a reason why not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tests.docs.blocks import Block, blocks, masked
from tests.docs.stage import Stage
from tests.support.eventually import eventually

SHOWN_S: Final = 30.0

Step = Callable[["Play", Block], None]


@dataclass(slots=True)
class Play:
    """A page while it runs; `typed` and `printed` are the last commands and their output."""

    stage: Stage
    typed: str = ""
    printed: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """A page, the steps for its blocks, and the blocks that are not run, each with the reason."""

    page: str
    steps: Mapping[str, Step]
    exempt: Mapping[str, str]

    def check(self) -> None:
        """Raise unless every block has a step or a reason, and every step and reason has its block."""
        names = [block.name for block in blocks(self.page)]
        for block in blocks(self.page):
            assert block.name in self.steps or block.name in self.exempt, (
                f"{block.where}: this block is neither run nor exempt; give it a step in tests/docs, or a reason:\n"
                f"{block.text}"
            )
        assert {*self.steps, *self.exempt} == set(names), "steps without their block"
        assert not set(self.steps) & set(self.exempt)

    def perform(self, stage: Stage) -> Play:
        """Run the steps of the page."""
        play = Play(stage)
        for block in blocks(self.page):
            if block.name in self.steps:
                try:
                    self.steps[block.name](play, block)
                except Exception as error:
                    raise AssertionError(f"{block.where}: {error}\n{block.text}") from error
        return play


def typed(play: Play, block: Block) -> None:
    """Type the block as commands in the second terminal."""
    play.typed = block.text
    play.printed = play.stage.type(block.text)


def file(name: str) -> Step:
    """Return a step that saves the block as a file."""
    return lambda play, block: play.stage.save(name, block.text)


def shown(prepare: Callable[[str], str] = lambda text: text, *, again: bool = True) -> Step:
    """Return a step that compares the block with the output of the last commands.

    `prepare` masks differences that are particular to the page. With `again` the last command is typed until its output
    matches, because some answers need a moment.
    """

    def compare(play: Play, block: Block) -> None:
        wanted = masked(prepare(block.text))

        def appears() -> bool:
            if wanted in masked(prepare(play.printed)):
                return True
            assert again, "another output"
            play.printed = play.stage.type(play.typed.strip().splitlines()[-1])
            return False

        try:
            eventually(appears, "the output on the page", within_s=SHOWN_S)
        except AssertionError:
            got = masked(prepare(play.printed))
            raise AssertionError(f"printed was\n{play.printed}\ncompared was\n{got}\nwith\n{wanted}") from None

    return compare


def workers_say(play: Play, block: Block) -> None:
    """Wait until background programs have printed the lines of the block, in any order, since the last commands."""
    second, wanted = play.stage.second, Counter(block.text.splitlines())
    assert second is not None
    eventually(lambda: wanted <= Counter(second.since_typed.splitlines()), f"{wanted} in\n{second.since_typed}")


def daemon_killed(command: str, then: Step) -> Step:
    """Return a step that kills the daemon, starts it again with `command` in its terminal, and does `then`."""

    def kill(play: Play, block: Block) -> None:
        killed = play.stage.daemon
        assert killed is not None
        killed.quit()
        killed.close()
        play.stage.start_daemon(command)
        then(play, block)

    return kill


def whichever_partition(text: str) -> str:
    """Mask offsets in the description of a group, because the producer chooses the partition of a record."""
    return re.sub(r"^(shop +orders +\d) +\d+ +\d+", r"\1 OFFSET END", text, flags=re.MULTILINE)


def daemon_says(play: Play, block: Block) -> None:
    """Wait for a line in the daemon's terminal; the page may fold it."""
    daemon, wanted = play.stage.daemon, masked(block.text)
    assert daemon is not None
    eventually(
        lambda: any(wanted in masked(line) for line in daemon.screen.splitlines()),
        f"{wanted!r} in the daemon's terminal:\n{daemon.screen}",
        within_s=SHOWN_S,
    )
