"""Words and times for the sentences of verdicts. Clock times are those of the process's time zone."""

from __future__ import annotations

from datetime import datetime

from coordinator.core.events.model import Story


def clock_time(at_ms: int, now_ms: int) -> str:
    """Return a time as hh:mm, with its date if it is of another day than `now_ms`."""
    at, now = datetime.fromtimestamp(at_ms / 1000), datetime.fromtimestamp(now_ms / 1000)
    return f"{at:%H:%M}" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M}"


def since(at_ms: int, story: Story) -> str:
    return f"since {clock_time(at_ms, story.at_ms)}"


def count(number: int, noun: str) -> str:
    """Return "1 member" or "3 members"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def and_more(name: str, more: int) -> str:
    return f"{name} and {more} more" if more > 0 else name


def condition(story: Story) -> str:
    """Return the present state as one word of a sentence."""
    state = story.state
    if state is None:
        return "gone"
    return {"Stable": "stable", "Empty": "empty"}.get(state.state, "rebalancing")
