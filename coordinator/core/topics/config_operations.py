"""Operations on the settings of one resource, from IncrementalAlterConfigs and AlterConfigs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordinator.core.topics.create_topics import Refusal

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3


class Operation(NamedTuple):
    """One operation on one setting."""

    name: str
    kind: int
    value: str | None


def operations(configs: Sequence[Any]) -> list[Operation]:
    """Return the operations on one resource. Every entry of an AlterConfigs request sets a value."""
    return [Operation(each.name, getattr(each, "config_operation", SET), each.value) for each in configs]


def check_form(asked: Sequence[Operation]) -> Refusal | None:
    """Check the operations on one resource of any type. Return a refusal, or None."""
    if len({each.name for each in asked}) != len(asked):
        return ErrorCode.INVALID_REQUEST, "a setting is in the request more than once"
    for each in asked:
        if each.kind not in (SET, DELETE, APPEND, SUBTRACT):
            return ErrorCode.INVALID_REQUEST, f"Unknown operations type {each.kind}"
        if each.value is None and each.kind != DELETE:
            return ErrorCode.INVALID_REQUEST, f"Null value not supported for : {each.name[:80]}"
    return None
