"""Some damaged files from a fixed seed; `make fuzz-files` runs thousands."""

from __future__ import annotations

from tests.fuzz.start_files import run


async def test_a_start_on_a_damaged_file_keeps_or_says_or_refuses() -> None:
    tally = await run(seed=1, cases=150)
    assert not tally.wrong, "\n".join(tally.wrong)
    assert tally.outcomes["kept"] and tally.outcomes["refused"] and tally.outcomes["lost, and said so"]
