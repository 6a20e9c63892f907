"""The declaration of one setting as a field of a dataclass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any


def key(
    default: Any,
    help: str,
    *,
    ours: bool = False,
    long: bool = False,
    minimum: int | None = None,
    maximum: int | None = None,
    choices: tuple[str, ...] = (),
    check: Callable[[str], object] | None = None,
    shape: str = "",
    secret: bool = False,
    per_listener: bool = False,
) -> Any:
    """Declare one key. `check` raises ConfigError for text of the right type with an invalid meaning.

    `secret`: the value is not shown, as that of a password in Kafka. `per_listener`: `listener.name.NAME.` before the
    key sets it for one listener.
    """
    facts = {
        "help": help,
        "ours": ours,
        "long": long,
        "minimum": minimum,
        "maximum": maximum,
        "choices": choices,
        "check": check,
        "shape": shape,
        "secret": secret,
        "per_listener": per_listener,
    }
    return field(default=default, metadata=facts, repr=not secret)
