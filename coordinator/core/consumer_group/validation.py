"""Checks of a ConsumerGroupHeartbeat by itself, in Kafka's order.

Source: Kafka's `GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from coordinator.core.consumer_group.errors import GroupError
from coordinator.core.consumer_group.member import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from coordinator.core.group.checks import fits
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

INVALID: ErrorCode = ErrorCode.INVALID_REQUEST


def check_request(request: ConsumerGroupHeartbeatRequest, assignors: Collection[str], *, needs_member_id: bool) -> None:
    """Raise GroupError for the first thing that is wrong. `needs_member_id`: from version 1 on."""
    epoch = request.member_epoch
    if (needs_member_id or epoch > 0 or epoch == LEAVE_EPOCH) and _is_blank(request.member_id):
        raise GroupError(INVALID, "MemberId can't be empty.")
    if _is_blank(request.group_id):
        raise GroupError(INVALID, "GroupId can't be empty.")
    if request.instance_id is not None and _is_blank(request.instance_id):
        raise GroupError(INVALID, "InstanceId can't be empty.")
    if request.rack_id is not None and _is_blank(request.rack_id):
        raise GroupError(INVALID, "RackId can't be empty.")
    if epoch == 0:
        if request.rebalance_timeout_ms == -1:
            raise GroupError(INVALID, "RebalanceTimeoutMs must be provided in first request.")
        if request.topic_partitions is None or request.topic_partitions:
            raise GroupError(INVALID, "TopicPartitions must be empty when (re-)joining.")
        if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
            raise GroupError(
                INVALID, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
            )
    elif epoch == STATIC_LEAVE_EPOCH:
        if request.instance_id is None:
            raise GroupError(INVALID, "InstanceId can't be null.")
    elif epoch < STATIC_LEAVE_EPOCH:
        raise GroupError(INVALID, "MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise GroupError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}.",
        )
    if not (fits(request.group_id) and fits(request.member_id) and fits(request.subscribed_topic_regex or "")):
        raise GroupError(INVALID, "GroupId, MemberId and SubscribedTopicRegex must have at most 32,767 bytes.")


def _is_blank(text: str) -> bool:
    """Return whether Java's `String.trim` leaves nothing of a text."""
    return all(character <= " " for character in text)
