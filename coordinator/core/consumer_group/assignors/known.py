"""The assignors that a configuration may name: the built-in ones, and those that installed packages offer.

A package offers one by an entry point of the group `coordinator.assignors`, whose name is the assignor's. Packages are
looked at only for names that are not built in. Kafka's class names stand for the built-in ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.consumer_group.assignors.plugin import AssignorError, Offload, PluginAssignor
from coordinator.core.consumer_group.assignors.range import RangeAssignor
from coordinator.core.consumer_group.assignors.uniform import UniformAssignor

if TYPE_CHECKING:
    from coordinator.core.consumer_group.assignors.interface import ConsumerGroupPartitionAssignor

ENTRY_POINTS: Final = "coordinator.assignors"
JAVA_PACKAGE: Final = "org.apache.kafka.coordinator.group.assignor."


def assignors_of(
    names: Sequence[str], new_offload: Callable[[], Offload], timeout_ms: int
) -> dict[str, ConsumerGroupPartitionAssignor]:
    """Return the assignors with these names, by the names that members use, in this order. Raises AssignorError.

    One that is named twice keeps its first place. Each one of a package runs by an `Offload` of its own, for
    `timeout_ms` at most.
    """
    built_in = _built_in()
    found: dict[str, ConsumerGroupPartitionAssignor] = {}
    for name in names:
        assignor = built_in.get(name)
        if assignor is None:
            plain = _offered(name, [each for each in built_in if JAVA_PACKAGE not in each])
            assignor = PluginAssignor(plain, new_offload(), timeout_ms)
            if assignor.name != name:
                raise AssignorError(
                    f"The entry point {name!r} of the group {ENTRY_POINTS} has an assignor named {assignor.name!r}, so "
                    "give both the same name."
                )
        found.setdefault(assignor.name, assignor)
    if not found:
        raise AssignorError("group.consumer.assignors is empty, so name at least one, such as uniform.")
    return found


def _built_in() -> dict[str, ConsumerGroupPartitionAssignor]:
    """Return the built-in assignors by their names and by Kafka's class names."""
    uniform, in_ranges = UniformAssignor(), RangeAssignor()
    return {
        uniform.name: uniform,
        in_ranges.name: in_ranges,
        f"{JAVA_PACKAGE}UniformAssignor": uniform,
        f"{JAVA_PACKAGE}RangeAssignor": in_ranges,
    }


def _offered(name: str, built_in: Sequence[str]) -> Any:
    """Return what a package offers under this name, an object of the user's class."""
    from importlib.metadata import entry_points  # it takes long, and most configurations name built-in ones only

    by_value = {point.value: point for point in entry_points(group=ENTRY_POINTS, name=name)}
    if not by_value:
        raise AssignorError(
            f"group.consumer.assignors names {name!r}, which is neither built in ({', '.join(built_in)}) nor an entry "
            f"point of the group {ENTRY_POINTS}, so correct the name or install the package that offers it."
        )
    if len(by_value) > 1:
        raise AssignorError(
            f"The entry point {name!r} of the group {ENTRY_POINTS} is offered by {' and '.join(sorted(by_value))}, "
            "so uninstall all packages but one of these."
        )
    ((value, point),) = by_value.items()
    try:
        plain = point.load()
        return plain() if isinstance(plain, type) else plain
    except Exception as error:
        raise AssignorError(
            f"The assignor {name!r} cannot be loaded from {value} ({type(error).__name__}: {error}), so correct the "
            "package or take the name out of group.consumer.assignors."
        ) from error
