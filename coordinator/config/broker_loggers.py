"""The levels of this program's loggers, with log4j's names for levels: resources of type BROKER_LOGGER (KIP-412).

Levels last until the process ends and are not stored. Rules and texts are those of Kafka's `RuntimeLoggerManager`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol.messages.incremental_alter_configs import AlterableConfig

ROOT: Final = "root"
OURS: Final = "coordinator"
SET: Final = 0
DELETE: Final = 1
_OPERATIONS: Final = {2: "APPEND operation", 3: "SUBTRACT operation"}
LEVELS: Final = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50}


def levels() -> dict[str, str]:
    """Return the effective level of each logger by the name of the logger."""
    names = [name for name in logging.root.manager.loggerDict if name == OURS or name.startswith(f"{OURS}.")]
    return {
        ROOT: _name_of(logging.root.level),
        **{name: _name_of(logging.getLogger(name).getEffectiveLevel()) for name in sorted(names)},
    }


def alter(
    node: str, node_id: int, changes: Sequence[AlterableConfig], *, validate_only: bool
) -> tuple[ErrorCode, str] | None:
    """Change levels, all or none; returns the error if none was changed."""
    refusal = _why_not(node, node_id, changes)
    if refusal is None and not validate_only:
        for change in changes:
            logger = logging.root if change.name == ROOT else logging.getLogger(change.name)
            level = logging.NOTSET if change.config_operation == DELETE else LEVELS[change.value or ""]
            logger.setLevel(level)
    return refusal


def _why_not(node: str, node_id: int, changes: Sequence[AlterableConfig]) -> tuple[ErrorCode, str] | None:
    if len({change.name for change in changes}) != len(changes):
        return ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys"
    missing = [each.name for each in changes if each.value is None and each.config_operation != DELETE]
    if missing:
        return ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(missing)[:200]}"
    if node != str(node_id):
        return ErrorCode.INVALID_REQUEST, f"Unexpected node id. Expected {node_id}, but received {node[:20]}"
    known = levels()
    for change in changes:
        operation, name = change.config_operation, change.name
        if operation not in (SET, DELETE):
            what = _OPERATIONS.get(operation, f"Unknown operation type {operation}")
            return ErrorCode.INVALID_REQUEST, f"{what} is not allowed for the BROKER_LOGGER resource"
        if name not in known:
            return ErrorCode.INVALID_CONFIG, f"Logger {name[:80]} does not exist!"
        if operation == DELETE and name == ROOT:
            return ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed"
        if operation == SET and change.value not in LEVELS:
            return (
                ErrorCode.INVALID_CONFIG,
                f"Cannot set the log level of {name} to {change.value} as it is not a supported log level. "
                f"Valid log levels are {', '.join(sorted(LEVELS))}",
            )
    return None


def _name_of(level: int) -> str:
    """Return the name of the highest of log4j's levels that is not above `level`."""
    return next((name for name, number in reversed(LEVELS.items()) if number <= level), "TRACE")
