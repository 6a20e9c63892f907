"""The states of groups and the colour of each on a terminal."""

from __future__ import annotations

from typing import Final

STATE_COLOURS: Final = {
    "PreparingRebalance": "yellow",
    "CompletingRebalance": "yellow",
    "Stable": "green",
    "Empty": "cyan",
    "Dead": "red",
    "Assigning": "yellow",
    "Reconciling": "yellow",
    "NotReady": "red",
    "Quarantined": "red",
}
