"""The balancer of a topic's subscribers, which chooses who gets a partition and who gives one up.

The subscribers are in the order of their numbers of partitions. Two pools of them grow towards each other: the least
loaded ones from the start, the most loaded ones from the end. Within a pool each member gets, or gives up, one
partition in turn; then the level of the pool rises, or sinks, by 1, and members that have that many partitions join it.
Source: `MemberAssignmentBalancer` in Kafka's `UniformHeterogeneousAssignmentBuilder`.
"""

from __future__ import annotations

from collections.abc import Sequence


class SubscriberBalancer:
    """Chooses among the subscribers of one topic. `sizes[number]` is changed by the caller after each choice."""

    __slots__ = (
        "_least_end",
        "_least_level",
        "_most_end",
        "_most_level",
        "_most_start",
        "_next_least",
        "_next_most",
        "_sizes",
        "_subscribers",
    )

    def __init__(self, subscribers: list[int], sizes: Sequence[int]) -> None:
        """`subscribers`: at least one, by size and number ascending; the list is changed."""
        self._subscribers = subscribers
        self._sizes = sizes
        self._least_end = 0
        self._least_level = sizes[subscribers[0]] - 1
        self._next_least = 0
        self._most_start = self._most_end = len(subscribers)
        self._most_level = sizes[subscribers[-1]] + 1
        self._next_most = len(subscribers) - 1

    def is_balanced(self) -> bool:
        """Return whether the levels of the pools differ by at most 1."""
        return self._most_level - self._least_level <= 1

    def least_loaded(self) -> int:
        """Return the subscriber that gets the next partition."""
        if self._next_least >= self._least_end:
            self._least_level += 1
            end = self._least_end
            while end < len(self._subscribers) and self._sizes[self._subscribers[end]] == self._least_level:
                end += 1
            self._least_end = end
            self._next_least = 0
        number = self._subscribers[self._next_least]
        self._next_least += 1
        return number

    def most_loaded(self) -> int:
        """Return the subscriber that gives up a partition next; -1 if all are excluded."""
        if self._next_most < self._most_start:
            start = self._most_start
            if self._most_end <= start and start > 0:  # all of the pool are excluded: go on with the next size
                self._most_level = self._sizes[self._subscribers[start - 1]]
            else:
                self._most_level -= 1
            while start > 0 and self._sizes[self._subscribers[start - 1]] == self._most_level:
                start -= 1
            self._most_start = start
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return -1
        number = self._subscribers[self._next_most]
        self._next_most -= 1
        return number

    def exclude_most_loaded(self) -> None:
        """Exclude the subscriber that `most_loaded` has returned: it has nothing to give up."""
        place, last = self._next_most + 1, self._most_end - 1
        subscribers = self._subscribers
        subscribers[place], subscribers[last] = subscribers[last], subscribers[place]
        self._most_end = last
