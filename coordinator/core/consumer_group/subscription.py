"""Subscriptions: the topics of a group, and whether they have changed since the group looked at them last.

Source: Kafka's `ModernGroup.computeMetadataHash` and `GroupMetadataManager.maybeUpdateRegularExpressions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.consumer_group.change import ConsumerGroupChange
from coordinator.core.consumer_group.errors import GroupError
from coordinator.core.consumer_group.group import UNRESOLVED, ResolvedRegex
from coordinator.core.consumer_group.regex import InvalidRegularExpressionError, compile_regex
from coordinator.core.consumer_group.topics import metadata_hash
from coordinator.core.events.model import Cause
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.member import ConsumerMember
    from coordinator.core.consumer_group.topics import TopicsImage
    from coordinator.core.context import Context
    from coordinator.core.effects import Describable
    from coordinator.core.work import Steps

RESOLVED_AGAIN_AFTER_MS: Final = 10_000  # at the earliest
DESCRIBED_PER_STEP: Final = 250  # topics whose access rules are looked at in one step


def topic_ids_of(names: Iterable[str], topics: TopicsImage) -> frozenset[bytes]:
    """Return the ids of those topics that exist."""
    return frozenset([topic.topic_id for name in names if (topic := topics.by_name(name)) is not None])


def hash_of_topics(group: ConsumerGroup, topics: TopicsImage) -> int:
    """Return the metadata hash of the existing topics that members subscribe to."""
    found = [topics.by_name(name) for name in group.subscribed_names()]
    return metadata_hash([topic for topic in found if topic is not None])


def have_topics_changed(group: ConsumerGroup, topics: TopicsImage) -> bool:
    """Return whether a topic that members subscribe to has changed since the group looked at it; True after a load."""
    seen = group.seen_topics_version
    if seen < 0:
        return True
    return seen != topics.version and any(topics.changed_at(name) > seen for name in group.subscribed_names())


def bump_epoch(
    change: ConsumerGroupChange,
    topics: TopicsImage,
    context: Context,
    *,
    is_changed: bool,
    have_topics_changed: bool,
) -> bool:
    """Raise the group epoch if a subscription is changed or the topics are others than before.

    `have_topics_changed`: those that members subscribed to before this event.
    Returns whether it looked at the subscriptions: else a target is computed as for those before the event.
    """
    group = change.group
    if not is_changed and not have_topics_changed:
        group.seen_topics_version = topics.version
        return False
    topics_hash = hash_of_topics(group, topics)
    group.seen_topics_version = topics.version
    if topics_hash != group.metadata_hash or is_changed:
        change.drop_old_topics()
        change.set_epoch(group.epoch + 1, topics_hash)
        context.counters.consumer_rebalances += 1
    return True


class Resolved(NamedTuple):
    """The resolved regular expressions of a group before an event, which decide whether they are resolved again."""

    number: int
    newest: ResolvedRegex

    @classmethod
    def of(cls, group: ConsumerGroup) -> Resolved:
        newest = max(group.regexes.values(), key=lambda resolved: resolved.timestamp_ms, default=UNRESOLVED)
        return cls(len(group.regexes), newest)


class RegexStep:
    """The changes that the regular expression of a heartbeat makes."""

    __slots__ = ("is_changed", "is_resolved", "needs_refresh")

    def __init__(self) -> None:
        self.is_changed = False
        self.is_resolved = False  # the topics of the member are known at once, and others than before
        self.needs_refresh = False


def update_regex(group: ConsumerGroup, former: ConsumerMember, member: ConsumerMember) -> RegexStep:
    """Take note of a changed regular expression; `member` is not in the group yet. Raises GroupError."""
    step = RegexStep()
    old, new = former.regex, member.regex
    if old == new:
        return step
    step.is_changed = True
    if new:
        if new not in group.regex_counts:
            try:
                compile_regex(new)
            except InvalidRegularExpressionError as error:
                raise GroupError(ErrorCode.INVALID_REGULAR_EXPRESSION, str(error)) from None
            step.needs_refresh = True
        else:
            step.is_resolved = new in group.regexes
    elif old:
        step.is_resolved = True
    return step


def wants_resolution(
    group: ConsumerGroup, before: Resolved, topics: TopicsImage, context: Context, *, needs_refresh: bool
) -> bool:
    """Return whether all regular expressions of a group are to be resolved now."""
    if not group.regex_counts or group.resolving:
        return False
    newest = before.newest
    if context.wall_ms <= newest.timestamp_ms + RESOLVED_AGAIN_AFTER_MS:
        return False
    return (
        needs_refresh
        or len(group.regex_counts) != before.number
        or topics.new_topics_version > newest.version
        or context.wall_ms > newest.timestamp_ms + context.config.group_consumer_regex_refresh_interval_ms
    )


def resolve(group: ConsumerGroup, topics: TopicsImage, describable: Describable | None, context: Context) -> Steps:
    """Resolve all regular expressions of a group, in steps, and raise its epoch if any matches other topics now.

    The caller has set `group.resolving`. Topics come in the order of their names. Those that the client of the request
    may not DESCRIBE are left out, also for other members, as in Kafka (`filterTopicDescribeAuthorizedTopics`).
    """
    version, began_ms = topics.version, context.wall_ms
    try:
        names = list(topics.names())
        found: dict[str, list[str]] = {}
        for regex in list(group.regex_counts):
            compiled = compile_regex(regex)
            matching: list[str] = []
            for start in range(0, len(names), compiled.names_per_step):
                yield None
                matching += compiled.matching(names[start : start + compiled.names_per_step])
            found[regex] = sorted(matching)
        if describable is not None:
            matching = sorted({name for matched in found.values() for name in matched})
            allowed: set[str] = set()
            for start in range(0, len(matching), DESCRIBED_PER_STEP):
                yield None
                allowed |= describable(matching[start : start + DESCRIBED_PER_STEP])
            found = {regex: [name for name in matched if name in allowed] for regex, matched in found.items()}
        if group.is_dead:
            return
        change = ConsumerGroupChange(group)
        change.cause = Cause.REGEX_RESOLVED
        is_changed = False
        for regex, matched in found.items():
            if regex not in group.regex_counts:
                continue
            resolved = ResolvedRegex(tuple(matched), version, began_ms)
            is_changed = is_changed or group.regexes.get(regex, UNRESOLVED).topics != resolved.topics
            change.set_regex(regex, resolved)
        topics_hash = hash_of_topics(group, topics)
        if change.records and (is_changed or topics_hash != group.metadata_hash):
            change.set_epoch(group.epoch + 1, topics_hash)
            group.seen_topics_version = topics.version
            context.counters.consumer_rebalances += 1
        change.append(context)
    finally:
        group.resolving = False
