"""Assignors of users: the plain classes that packages offer, wrapped into the interface.

Such a class has a `name` and a method `assign`. It runs off the event loop, and its result is refused if it comes too
late. The result is checked before it becomes a target, because a partition that two members own, or one that does not
exist, would break the promises of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import index
from typing import Any, Final, Protocol, TypeAlias

from coordinator.core.consumer_group.assignors.assignment import NOTHING_ASSIGNED, Assignment
from coordinator.core.consumer_group.assignors.interface import (
    AssignmentSteps,
    GroupSpec,
    MemberSpec,
    TargetAssignments,
)

LONGEST_PAUSE_MS: Final = 50
PART_OF_WAIT: Final = 4  # a pause is this part of the time that was waited


class AssignorError(Exception):
    """An assignor cannot be used, or its result breaks a rule."""


class PlainAssignor(Protocol):
    """The shape of a user's class."""

    name: str

    def assign(self, spec: GroupSpec) -> Mapping[str, Mapping[bytes, Iterable[int]]]:
        """Return the partitions of each member, by member id and topic id. A member that is left out gets nothing."""


class AskedResult(Protocol):
    """The result of a call that runs elsewhere, as `concurrent.futures.Future` has it."""

    def done(self) -> bool: ...

    def cancel(self) -> bool: ...

    def result(self) -> TargetAssignments: ...


Offload: TypeAlias = Callable[[Callable[[], TargetAssignments]], AskedResult]


class PluginAssignor:
    """A user's assignor."""

    def __init__(self, plain: PlainAssignor, offload: Offload, timeout_ms: int) -> None:
        """`offload` runs a call elsewhere. Raises AssignorError if the object has no `name` or no `assign`."""
        name = getattr(plain, "name", None)
        if not isinstance(name, str) or not name.strip():
            raise AssignorError(f"{_kind(plain)} has no `name` that is a text and not blank, so give the class one.")
        if not callable(getattr(plain, "assign", None)):
            raise AssignorError(f"{_kind(plain)} has no method `assign(self, spec)`, so give the class one.")
        self._name = name
        self._plain = plain
        self._offload = offload
        self._timeout_ms = timeout_ms

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_offloaded(self) -> bool:
        return True

    def steps(self, spec: GroupSpec) -> AssignmentSteps:
        """Ask the user's assignor, and return its checked result. Raises AssignorError."""
        asked = self._offload(partial(self._assigned, spec))
        waited_ms = 0
        while not asked.done():
            if waited_ms >= self._timeout_ms:
                asked.cancel()
                raise AssignorError(
                    f"The assignor {self._name!r} has returned nothing for {self._timeout_ms} ms, so make its method "
                    "`assign` faster, or raise group.consumer.assignor.timeout.ms."
                )
            pause_ms = min(1 + waited_ms // PART_OF_WAIT, LONGEST_PAUSE_MS)
            yield pause_ms
            waited_ms += pause_ms
        return asked.result()

    def _assigned(self, spec: GroupSpec) -> TargetAssignments:
        try:
            result: Any = self._plain.assign(spec)
        except (Exception, SystemExit) as error:
            raise self._fault(f"failed with {type(error).__name__}: {error}") from error
        return self._checked(result, spec)

    def _checked(self, result: Any, spec: GroupSpec) -> TargetAssignments:
        if not isinstance(result, Mapping):
            raise self._fault(f"returned {_kind(result)} and no mapping of member ids")
        unknown = [member_id for member_id in result if member_id not in spec.members]
        if unknown:
            raise self._fault(f"assigned partitions to {unknown[0]!r}, which is no member of the group")
        taken: dict[bytes, set[int]] = {}
        targets: dict[str, Assignment] = {}
        for member_id, member in spec.members.items():
            topics = result.get(member_id, NOTHING_ASSIGNED)
            if not isinstance(topics, Mapping):
                raise self._fault(f"returned {_kind(topics)} for {member_id!r} and no mapping of topic ids")
            assignment = {
                topic_id: self._checked_partitions(member_id, member, topic_id, topics[topic_id], spec, taken)
                for topic_id in topics
            }
            targets[member_id] = {topic_id: some for topic_id, some in sorted(assignment.items()) if some}
        return targets

    def _checked_partitions(
        self,
        member_id: str,
        member: MemberSpec,
        topic_id: Any,
        partitions: Any,
        spec: GroupSpec,
        taken: dict[bytes, set[int]],
    ) -> tuple[int, ...]:
        if topic_id not in member.topic_ids:
            raise self._fault(f"gave {member_id!r} the topic {_text(topic_id)}, to which it does not subscribe")
        try:
            numbers = sorted([index(partition) for partition in partitions])
        except Exception as error:
            raise self._fault(f"gave {member_id!r} no list of numbers for the topic {_text(topic_id)}") from error
        count, already = spec.topics[topic_id], taken.setdefault(topic_id, set())
        for number in numbers:
            if not 0 <= number < count:
                raise self._fault(
                    f"assigned partition {number} of the topic {_text(topic_id)}, which has {count} partitions"
                )
            if number in already:
                raise self._fault(f"assigned partition {number} of the topic {_text(topic_id)} twice")
            already.add(number)
        return tuple(numbers)

    def _fault(self, what: str) -> AssignorError:
        return AssignorError(f"The assignor {self._name!r} {what}, so correct its method `assign`.")


def _kind(value: object) -> str:
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _text(topic_id: object) -> str:
    return topic_id.hex() if isinstance(topic_id, bytes) else repr(topic_id)
