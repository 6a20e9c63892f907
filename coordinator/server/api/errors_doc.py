"""Writer of docs/errors.md: the errors that clients are sent, when, and what a client does.

Numbers and retriable flags come from `ErrorCode`. A test compares the table with the errors that the code of the server
names, so that a new one needs its row.

`make generate` runs it.
"""

from __future__ import annotations

import sys
from typing import Final

from protocol.error_codes import ErrorCode

# Section -> error -> (when it is answered, what a client does).
ROWS: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "Groups": {
        "COORDINATOR_LOAD_IN_PROGRESS": (
            "The partition of the group or of the transactional id is being read, at a start or a take-over.",
            "Sends the request again after its retry backoff.",
        ),
        "COORDINATOR_NOT_AVAILABLE": (
            "The process ends, the disk is full or does not keep up, an append took too long, or `max.groups` or "
            "`max.transactional.ids` is reached.",
            "Looks for the coordinator again (FindCoordinator), and sends the request again.",
        ),
        "NOT_COORDINATOR": (
            "Another node has the group or the transactional id, or its log on this node has failed.",
            "Looks for the coordinator again, and sends the request there.",
        ),
        "UNKNOWN_MEMBER_ID": (
            "The member was removed: its session ended, it left, or an administrator removed it.",
            "Gives up its partitions, and joins as a new member. A commit with it is lost: its records are read again.",
        ),
        "ILLEGAL_GENERATION": (
            "The member missed a rebalance, or its generation is of the time before one.",
            "Gives up its partitions, and joins again.",
        ),
        "REBALANCE_IN_PROGRESS": (
            "A rebalance has begun, and the member has to take part.",
            "Joins again. A commit with it is repeated after the rebalance, or raises an error in the application.",
        ),
        "MEMBER_ID_REQUIRED": (
            "The first JoinGroup of a dynamic member, from version 4 on (KIP-394).",
            "Joins again with the member id of the answer. No application hears of it.",
        ),
        "FENCED_INSTANCE_ID": (
            "Another process has joined with the same `group.instance.id`.",
            "Stops with an error. Give each process an instance id of its own.",
        ),
        "GROUP_MAX_SIZE_REACHED": (
            "The group has `group.max.size` members, or a bound of members or metadata is reached.",
            "Stops with an error. Start fewer members, or raise the setting.",
        ),
        "INCONSISTENT_GROUP_PROTOCOL": (
            "The member has no assignor or protocol type in common with all others of its group.",
            "Stops with an error. Let all members list one assignor that they share.",
        ),
        "INVALID_SESSION_TIMEOUT": (
            "The session timeout is not between `group.min.session.timeout.ms` and `group.max.session.timeout.ms`.",
            "Stops with an error. Change `session.timeout.ms`.",
        ),
        "INVALID_GROUP_ID": (
            "The group id is empty where that is not allowed, or too long.",
            "Stops with an error. Set `group.id`.",
        ),
        "GROUP_ID_NOT_FOUND": (
            "No such group; or members are asked for in one of the other protocol.",
            "An admin client reports it.",
        ),
        "NON_EMPTY_GROUP": (
            "A group with members is to be deleted.",
            "An admin client reports it. Stop the members first.",
        ),
        "GROUP_SUBSCRIBED_TO_TOPIC": (
            "Offsets of a topic that a member reads are to be deleted.",
            "An admin client reports it. Stop the members first.",
        ),
        "OFFSET_METADATA_TOO_LARGE": (
            "The text beside an offset is longer than `offset.metadata.max.bytes`.",
            "The commit fails with an error.",
        ),
        "INVALID_COMMIT_OFFSET_SIZE": (
            "The record of a commit would be larger than `message.max.bytes`.",
            "The commit fails with an error. Commit fewer partitions at once.",
        ),
        "UNSTABLE_OFFSET_COMMIT": (
            "A transaction with offsets of the partition is open, and the client asks for stable offsets only.",
            "Asks again until the transaction has ended.",
        ),
    },
    "Groups of the consumer protocol (KIP-848)": {
        "FENCED_MEMBER_EPOCH": (
            "The epoch of the member is not the one that the group knows.",
            "Gives up its partitions, and joins again with epoch 0.",
        ),
        "STALE_MEMBER_EPOCH": (
            "A commit or a fetch of offsets has the member's former epoch.",
            "Sends it again once it has heard its new epoch.",
        ),
        "UNRELEASED_INSTANCE_ID": (
            "A static member with the same instance id is still in the group.",
            "Stops with an error. Wait until the other one has left, or its session has ended.",
        ),
        "UNSUPPORTED_ASSIGNOR": (
            "`group.remote.assignor` names none of `group.consumer.assignors`.",
            "Stops with an error. Name one of those, or none.",
        ),
        "INVALID_REGULAR_EXPRESSION": (
            "The expression of a subscription, or of ListTransactions, is not one of RE2.",
            "Stops with an error. RE2 has no look-around and no back-references.",
        ),
    },
    "Transactions": {
        "INVALID_PRODUCER_EPOCH": (
            "The epoch of the producer is an old one.",
            "An old producer stops; else it starts with a new epoch (InitProducerId).",
        ),
        "PRODUCER_FENCED": (
            "A newer producer has taken the transactional id, or the transaction was aborted from outside.",
            "Stops with an error. Two processes must not share a `transactional.id`.",
        ),
        "CONCURRENT_TRANSACTIONS": (
            "The former transaction of the id is not complete yet.",
            "Sends the request again after its retry backoff.",
        ),
        "INVALID_TXN_STATE": (
            "The request does not fit the state of the transaction, or no transactions are served here.",
            "Stops with an error.",
        ),
        "INVALID_PRODUCER_ID_MAPPING": (
            "The producer id is not that of the transactional id, which may have expired.",
            "Stops with an error, or starts with a new producer id.",
        ),
        "INVALID_TRANSACTION_TIMEOUT": (
            "The timeout is longer than `transaction.max.timeout.ms`.",
            "Stops with an error. Lower `transaction.timeout.ms`.",
        ),
        "TRANSACTION_ABORTABLE": (
            "The partition is not in the transaction (KIP-890).",
            "Aborts the transaction, and begins a new one.",
        ),
        "TRANSACTIONAL_ID_NOT_FOUND": (
            "DescribeTransactions for an id that is not known.",
            "An admin client reports it.",
        ),
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": (
            "No rule allows the transactional id, or this daemon serves no topics and so no transactions.",
            "Stops with an error. The text of the answer says which of the two it is.",
        ),
        "OPERATION_NOT_ATTEMPTED": (
            "Another partition of the same AddPartitionsToTxn was refused.",
            "Aborts, because of the other error.",
        ),
    },
    "Topics and records": {
        "UNKNOWN_TOPIC_OR_PARTITION": (
            "No such topic or partition. In a commit: it is not here, and `offsets.commit.topic.check` is true.",
            "Refreshes its metadata and tries again, for a bounded time.",
        ),
        "UNKNOWN_TOPIC_ID": (
            "No topic has this id: it was deleted, or made again.",
            "Refreshes its metadata and tries again.",
        ),
        "INVALID_TOPIC_EXCEPTION": (
            "The name is not a valid one, or the topic is internal and must not be written or changed.",
            "Stops with an error.",
        ),
        "NOT_LEADER_OR_FOLLOWER": (
            "Another node has the partition.",
            "Refreshes its metadata, and sends the request there.",
        ),
        "LEADER_NOT_AVAILABLE": (
            "The log of the partition cannot be used.",
            "Refreshes its metadata until it can. Look into the log of the daemon.",
        ),
        "FENCED_LEADER_EPOCH": ("The client's leader epoch is an old one.", "Refreshes its metadata."),
        "UNKNOWN_LEADER_EPOCH": ("The client's leader epoch is newer than the node's.", "Tries again."),
        "OFFSET_OUT_OF_RANGE": (
            "The offset is outside the log: retention has removed it, or the topic was made again.",
            "Goes where `auto.offset.reset` says, or stops with an error if that is `none`.",
        ),
        "FETCH_SESSION_ID_NOT_FOUND": (
            "A Fetch of a session; there are no sessions here.",
            "Sends a whole Fetch. No application hears of it.",
        ),
        "KAFKA_STORAGE_ERROR": (
            "The disk has failed for a file. Topics are read and written no more; groups answer NOT_COORDINATOR.",
            "Tries again. See [troubleshooting](troubleshooting.md).",
        ),
        "NOT_ENOUGH_REPLICAS": (
            "The disk is full, or its queue is; or it is not known yet if a partition is in a transaction.",
            "A producer tries again until its delivery timeout.",
        ),
        "REQUEST_TIMED_OUT": (
            "An append or an answer of another node took too long. It may have happened.",
            "Tries again.",
        ),
        "MESSAGE_TOO_LARGE": (
            "A batch is larger than `max.message.bytes` of the topic.",
            "Splits the batch, or fails with an error.",
        ),
        "CORRUPT_MESSAGE": ("The checksum or the form of a batch is wrong.", "Sends it again."),
        "INVALID_RECORD": (
            "A batch that a client must not write: of an old format, with control records, without a sequence number.",
            "Fails with an error.",
        ),
        "INVALID_TIMESTAMP": ("A batch says that its timestamps are those of its append.", "Fails with an error."),
        "INVALID_REQUIRED_ACKS": ("`acks` is none of 0, 1 and -1.", "Fails with an error."),
        "UNSUPPORTED_COMPRESSION_TYPE": (
            "zstd in a version of Produce, Fetch or PushTelemetry that cannot have it.",
            "Fails with an error. Use a newer client, or another `compression.type`.",
        ),
        "OUT_OF_ORDER_SEQUENCE_NUMBER": (
            "The sequence numbers of an idempotent producer have a gap.",
            "Sends the missing batches, or fails with an error.",
        ),
    },
    "Administration": {
        "NOT_CONTROLLER": (
            "A change of topics on a node that is not the controller.",
            "Asks for the controller, and sends the request there.",
        ),
        "TOPIC_ALREADY_EXISTS": ("A topic has this name.", "An admin client reports it."),
        "INVALID_PARTITIONS": ("The number of partitions is not positive, or not more than before.", "Reports it."),
        "INVALID_REPLICATION_FACTOR": (
            "A topic, or a partition that is reassigned, with more than 1: a topic has one replica.",
            "Reports it. Ask for 1, or for -1.",
        ),
        "INVALID_REPLICA_ASSIGNMENT": (
            "A manual assignment that no node can fulfil, or a reassignment to another node.",
            "Reports it.",
        ),
        "INVALID_CONFIG": (
            "A setting of a topic, group or node has an unknown name or an invalid value.",
            "Reports it. The text names the setting.",
        ),
        "POLICY_VIOLATION": (
            "A limit is reached, such as `max.topics` or `max.acls`; or this daemon serves no topics.",
            "Reports it. The text names the limit.",
        ),
        "PREFERRED_LEADER_NOT_AVAILABLE": ("ElectLeaders for a partition whose log cannot be used.", "Reports it."),
        "ELIGIBLE_LEADERS_NOT_AVAILABLE": ("The same for an unclean election.", "Reports it."),
        "ELECTION_NOT_NEEDED": ("ElectLeaders for a partition that has its leader: any other.", "Takes it as done."),
        "NO_REASSIGNMENT_IN_PROGRESS": (
            "A reassignment of a partition is to be cancelled. None ever runs.",
            "Reports it.",
        ),
        "LOG_DIR_NOT_FOUND": ("A partition is to move to another log directory. There is one.", "Reports it."),
        "REPLICA_NOT_AVAILABLE": (
            "AlterReplicaLogDirs for a partition of another node.",
            "Reports it. Ask the node that has the partition.",
        ),
        "RESOURCE_NOT_FOUND": ("No such user, or no such password of it.", "Reports it."),
        "DUPLICATE_RESOURCE": ("One request names a user twice.", "Reports it."),
        "UNACCEPTABLE_CREDENTIAL": (
            "The password of a new user has too few or too many iterations, or the name is empty.",
            "Reports it.",
        ),
        "SECURITY_DISABLED": (
            "Access rules are asked for, and `authorizer.class.name` is not set.",
            "Reports it. See [secure a daemon](secure.md).",
        ),
        "INCONSISTENT_CLUSTER_ID": (
            "Between nodes: another cluster id, or other `cluster.nodes`.",
            "The node logs it and asks again. Give all nodes the same settings.",
        ),
        "MISMATCHED_ENDPOINT_TYPE": ("DescribeCluster for controllers at a listener of brokers.", "Reports it."),
        "UNSUPPORTED_ENDPOINT_TYPE": ("DescribeCluster for a type that is not known.", "Reports it."),
        "UNKNOWN_SUBSCRIPTION_ID": (
            "A push of metrics for a subscription that has changed.",
            "Asks for its subscription, and goes on.",
        ),
        "TELEMETRY_TOO_LARGE": (
            "A push of metrics is larger than `telemetry.max.bytes`.",
            "Sends less at its next push.",
        ),
        "THROTTLING_QUOTA_EXCEEDED": ("A client pushes its metrics too often.", "Waits for its interval."),
    },
    "Security": {
        "TOPIC_AUTHORIZATION_FAILED": (
            "No rule allows the operation on the topic, or it is an internal one.",
            "Stops with an error. `coordinator acls add` makes a rule.",
        ),
        "GROUP_AUTHORIZATION_FAILED": ("No rule allows the operation on the group.", "Stops with an error."),
        "CLUSTER_AUTHORIZATION_FAILED": ("No rule allows the operation on the cluster.", "Stops with an error."),
        "SASL_AUTHENTICATION_FAILED": (
            "User, password or token is wrong. The answer comes late, and the connection closes.",
            "Stops with an error.",
        ),
        "UNSUPPORTED_SASL_MECHANISM": (
            "The listener does not offer the mechanism; the answer lists those that it does.",
            "Stops with an error. Change `sasl.mechanism`.",
        ),
        "ILLEGAL_SASL_STATE": (
            "A login out of order, or at a listener without logins.",
            "Stops with an error. Compare `security.protocol` with the listener.",
        ),
    },
    "Any request": {
        "INVALID_REQUEST": ("The request contradicts itself, or lacks a field.", "Fails with an error."),
        "UNSUPPORTED_VERSION": (
            "ApiVersions in a version that is not known, or a feature that is switched off or does not exist here.",
            "Uses an older version, or fails with an error.",
        ),
        "REBOOTSTRAP_REQUIRED": (
            "The client takes this node for one of another cluster (KIP-1242).",
            "Starts again from its `bootstrap.servers`.",
        ),
        "UNKNOWN_SERVER_ERROR": (
            "A fault of this server, or a group [in quarantine](quarantine.md). The log of the daemon has the reason.",
            "Fails with an error.",
        ),
    },
}

# Errors that the code of the server names and no client is sent, each with the reason.
INTERNAL: Final = {
    "NONE": "no error",
    "NETWORK_EXCEPTION": "a node has no answer of another one; clients are sent what that means for them",
    "INVALID_FETCH_SIZE": "of the log, and clients are sent UNKNOWN_SERVER_ERROR",
    "RECORD_LIST_TOO_LARGE": "of the log, and clients are sent UNKNOWN_SERVER_ERROR",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "of the log, and clients are sent COORDINATOR_NOT_AVAILABLE",
    "TRANSACTION_COORDINATOR_FENCED": "between nodes, for markers of a transaction",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": "between nodes, for markers of a transaction",
    "INVALID_FETCH_SESSION_EPOCH": "by the verb fail_next of a test server only",
    "FETCH_SESSION_TOPIC_ID_ERROR": "by the verb fail_next of a test server only",
}


def text() -> str:
    """Return the whole page."""
    lines = [
        "# Errors",
        "",
        "<!-- Written by `make generate` from coordinator/server/api/errors_doc.py; do not edit. -->",
        "",
        "The errors that this server answers, when, and what a client does then. *Retriable* is what clients call it;",
        "members recover from more than those. What members do in detail differs by library:",
        "[clients.md](clients.md), and for logins [clients-security.md](clients-security.md). A test server answers",
        "with any error when it is told to: [faults.md](faults.md).",
        "",
    ]
    for section, rows in ROWS.items():
        lines += [f"## {section}", ""]
        lines += ["| Error | Code | Retriable | When | What a client does |", "| --- | --- | --- | --- | --- |"]
        for name, (when, then) in rows.items():
            code = ErrorCode[name]
            lines.append(f"| `{name}` | {int(code)} | {'yes' if code.retriable else 'no'} | {when} | {then} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(text())
