"""Errors of an append after which certainly nothing was written, as one sentence each that says what to do.

Only these fail an append. Brokers answer the listed codes before they write (`ReplicaManager.appendRecords`,
`Partition.appendRecordsToLeader`, `UnifiedLog.append`, `LogValidator`). Others may come behind the write, such as
UNKNOWN_SERVER_ERROR for any exception: if the next batch took the same sequence number then, the broker would take it
for a repetition and acknowledge what it does not keep.
"""

from __future__ import annotations

from typing import Final

from coordinator.engine.kafka.client import BrokerError, TopicPlace, may_pass
from coordinator.storage.log_store import LogStoreError
from protocol.error_codes import ErrorCode

_RIGHTS: Final = (
    "allow the user of log.engine.config.file (User:ANONYMOUS if there is none) to write to the topic, and idempotent "
    "writes to the cluster"
)

REFUSED_UNWRITTEN: Final = {
    ErrorCode.MESSAGE_TOO_LARGE: "raise max.message.bytes of the topic",
    ErrorCode.RECORD_LIST_TOO_LARGE: "raise segment.bytes of the topic",
    ErrorCode.INVALID_RECORD: "set cleanup.policy=delete for the topic, and see the log of the broker",
    ErrorCode.INVALID_TIMESTAMP: "correct the clock of this node, or raise message.timestamp.before.max.ms and "
    "message.timestamp.after.max.ms of the topic",
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: "remove message.format.version from the settings of the topic",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "let log.engine name another topic",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: _RIGHTS,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: _RIGHTS,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _RIGHTS,
    ErrorCode.NOT_ENOUGH_REPLICAS: "start the brokers that are down, so that min.insync.replicas are in sync",
}


def refused(place: TopicPlace, error: BrokerError) -> LogStoreError:
    """Return a refusal of REFUSED_UNWRITTEN as a sentence."""
    return LogStoreError(
        f"Kafka refused an append to {place.topic} partition {place.partition} ({error}); "
        f"{REFUSED_UNWRITTEN[error.code]}",
        may_pass=error.code.retriable,
    )


def not_sent(place: TopicPlace, error: Exception) -> LogStoreError:
    """Return the reason why an append did not reach a broker as a sentence."""
    if not may_pass(error):
        return LogStoreError(f"nothing was appended to {place.topic} partition {place.partition}: {error}")
    return LogStoreError(
        f"no leader of {place.topic} partition {place.partition} can be asked ({str(error) or 'no answer in time'}); "
        "check that the brokers run, and that the partition has a leader"
    )
