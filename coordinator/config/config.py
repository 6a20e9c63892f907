"""The settings, under Kafka's own property names, each declared once.

A field of `Config` is one key: `group_max_size` is `group.max.size`. Its annotation is the type; its metadata has the
valid range, the help text and whether the name is Kafka's. The parser, the error messages, `coordinator config`,
docs/configuration.md and the tests all read this table. `values.py` parses texts that are more than a number or a word;
`sources.py` reads the file, the environment and the command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Final, NamedTuple

from coordinator.config.environment import variable_of
from coordinator.config.key import key as _key
from coordinator.config.listeners import (
    PLAINTEXT,
    Endpoint,
    check_advertised,
    check_listeners,
    listeners_of,
    parse_listeners,
)
from coordinator.config.security import SecurityConfig, parse_authorizer
from coordinator.config.values import (
    FILES,
    OFF,
    Address,
    ConfigError,
    check_command,
    check_data_dir,
    check_engine,
    check_http,
    check_otlp_endpoint,
    check_protocols,
    parse_address,
    parse_names,
    parse_nodes,
    parse_parked_clients,
    parse_ports,
    parse_topics,
)

INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1

WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,20}")
AUTO: Final = "auto"
LOCAL: Final = "local"
_DECIMAL: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?|\.[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Config(SecurityConfig):
    """All settings. `Config()` has the defaults; `sources.load` reads other values."""

    # --- node and addresses ---
    listeners: str = _key(
        "127.0.0.1:9092",
        "Where clients connect: host:port, or NAME://host:port,... No host means all interfaces, port 0 a free port.",
        check=check_listeners,
        shape="host:port",
    )
    advertised_listeners: str = _key(
        "",
        "The address that clients are told to connect to, for each listener. Empty: the address bound (on all "
        "interfaces, the host name).",
        check=check_advertised,
        shape="host:port",
    )
    node_id: int = _key(1, "The number under which clients see this broker.", minimum=0)
    workers: int = _key(
        1,
        "How many processes serve, each as a node with a port and a share of the groups of its own. Node ids count up "
        "from node.id.",
        minimum=1,
        maximum=64,
        ours=True,
    )
    worker_ports: str = _key(
        "",
        "The ports of the workers, in their order. Empty: consecutive ones from the port of listeners.",
        ours=True,
        check=parse_ports,
        shape="port,...",
        per_listener=True,
    )
    cluster_id: str = _key("", "The cluster id that clients see. Empty: made at the first start and kept.", ours=True)
    cluster_nodes: str = _key(
        "",
        "All nodes of the cluster, this one among them, under the addresses that clients and other nodes connect to; "
        "the same on every node. Empty: this node is alone. These are the addresses of the first listener; each other "
        "one has its own, as listener.name.internal.cluster.nodes.",
        ours=True,
        check=parse_nodes,
        shape="id@host:port,...",
        per_listener=True,
    )
    # --- a shared store of the offsets log ---
    log_engine: str = _key(
        FILES,
        "Where the offsets log is kept: `files`, in log.dirs; or a store that several nodes share, as "
        "postgresql://host1,host2/database or kafka://host:port,.../topic. Give passwords by log.engine.password.file.",
        ours=True,
        check=check_engine,
        shape="files or address",
    )
    log_engine_user_file: str = _key("", "The file that holds the user name for log.engine.", ours=True, shape="file")
    log_engine_password_file: str = _key(
        "", "The file that holds the password for log.engine.", ours=True, shape="file"
    )
    log_engine_config_file: str = _key(
        "",
        "The file of Kafka client settings (security.protocol, `sasl.*`, `ssl.*`) for a log.engine on Kafka.",
        ours=True,
        shape="file",
    )
    log_engine_timeout_ms: int = _key(
        5000,
        "For how long a request to log.engine may take; then its outcome is unknown and is asked for.",
        ours=True,
        minimum=100,
    )
    log_engine_require_sync: bool = _key(
        True,
        "Refuse a log.engine that acknowledges what only one machine holds. False: for tests, and for managed "
        "databases that replicate in their own way.",
        ours=True,
    )
    cluster_lease_ms: int = _key(
        3000,
        "With log.engine: a node that was not heard of for so long loses its partitions. It answers no request in the "
        "last part of this time.",
        ours=True,
        minimum=1000,
    )
    cluster_heartbeat_ms: int = _key(
        500, "With log.engine: how often a node says that it lives.", ours=True, minimum=50
    )
    cluster_rebalance_delay_ms: int = _key(
        30000,
        "With log.engine: how long a node is up before others hand partitions over to it. Partitions that have no "
        "owner are taken at once.",
        ours=True,
        minimum=0,
    )
    ha_log_keep_ms: int = _key(
        604800000,
        "With log.engine: how long batches are kept that a snapshot covers, for `history` and `restore`.",
        ours=True,
        long=True,
        minimum=0,
    )
    topics_storage: str = _key(
        AUTO,
        "Where embedded topics are kept: `local`, in log.dirs of the node that leads them and not replicated; or "
        "`off`, no topics. `auto`: off with a log.engine that nodes share, else local.",
        ours=True,
        choices=(AUTO, LOCAL, OFF),
    )

    log_dirs: str = _key(
        "data", "The directory that holds everything durable.", check=check_data_dir, shape="directory"
    )
    http_listen: str = _key(
        "127.0.0.1:9080",
        "Where /healthz, /readyz and /metrics are served; `off` for nowhere. A daemon that was not given this setting "
        "serves without HTTP where the port is taken.",
        ours=True,
        check=check_http,
        shape="host:port or off",
    )

    http_max_connections: int = _key(
        64, "How many connections to the HTTP port may be open; one more replaces the oldest.", ours=True, minimum=1
    )
    http_admin_token: str = _key(
        "",
        "The secret that the console asks for before it removes a member; without one it only shows. Give it by file "
        "or environment, not on the command line.",
        ours=True,
        secret=True,
    )
    http_token: str = _key(
        "",
        "The secret that the HTTP port asks for, as a bearer token or as the password of any user, before it shows "
        "anything but /healthz and /readyz. Empty: it asks for none.",
        ours=True,
        secret=True,
    )
    http_max_line_bytes: int = _key(
        8_192,
        "The longest path and the longest header of an HTTP request, which has at most 128 headers.",
        ours=True,
        minimum=1024,
    )

    # --- groups ---
    group_min_session_timeout_ms: int = _key(6000, "The shortest session timeout a member may ask for.", minimum=1)
    group_max_session_timeout_ms: int = _key(1800000, "The longest session timeout a member may ask for.", minimum=1)
    group_initial_rebalance_delay_ms: int = _key(
        3000, "How long the first rebalance of an empty group waits for more members.", minimum=0
    )
    group_max_size: int = _key(INT32_MAX, "How many members one group may have.", minimum=1)
    # --- groups of the consumer protocol (KIP-848) ---
    group_coordinator_rebalance_protocols: str = _key(
        "classic,consumer",
        "The group protocols that are served. Without `consumer`, its clients get UNSUPPORTED_VERSION; they do as well "
        "where topics are off.",
        check=check_protocols,
        shape="name,...",
    )
    group_consumer_session_timeout_ms: int = _key(
        45000, "The session timeout of members of the consumer protocol (KIP-848).", minimum=1
    )
    group_consumer_heartbeat_interval_ms: int = _key(
        5000, "How often members of the consumer protocol send a heartbeat while their group is stable.", minimum=1
    )
    group_consumer_min_session_timeout_ms: int = _key(
        45000, "The shortest `consumer.session.timeout.ms` that a group may be given.", minimum=1
    )
    group_consumer_max_session_timeout_ms: int = _key(
        60000, "The longest `consumer.session.timeout.ms` that a group may be given.", minimum=1
    )
    group_consumer_min_heartbeat_interval_ms: int = _key(
        5000, "The shortest `consumer.heartbeat.interval.ms` that a group may be given.", minimum=1
    )
    group_consumer_max_heartbeat_interval_ms: int = _key(
        15000, "The longest `consumer.heartbeat.interval.ms` that a group may be given.", minimum=1
    )
    group_consumer_waiting_heartbeat_interval_ms: int = _key(
        100,
        "The heartbeat interval of members that wait for partitions of others. It grows with the time that they wait. "
        "0, or another group.consumer.heartbeat.interval.ms than the default: the interval is always the same.",
        ours=True,
        minimum=0,
    )
    group_consumer_max_size: int = _key(
        INT32_MAX, "How many members one group of the consumer protocol may have.", minimum=1
    )
    group_consumer_assignors: str = _key(
        "uniform,range",
        "The assignors that members of the consumer protocol may ask for; the first is the default. Names or Kafka's "
        "class names; others come from the entry points coordinator.assignors.",
        check=parse_names,
        shape="name,...",
    )
    group_consumer_assignor_timeout_ms: int = _key(
        10_000,
        "For how long an assignor of an installed package may compute one assignment. Then the group keeps the one it "
        "has, and the assignor is asked again.",
        minimum=1,
    )
    group_consumer_migration_policy: str = _key(
        "bidirectional",
        "Whether a group with members changes its protocol. `upgrade`: a classic group becomes a consumer group when "
        "the first client of that protocol joins. `downgrade`: it becomes classic when its last one is gone.",
        choices=("bidirectional", "upgrade", "downgrade", "disabled"),
    )
    group_consumer_regex_refresh_interval_ms: int = _key(
        600000, "How often the regular expressions of subscriptions are resolved again.", minimum=10000
    )
    # --- limits of all groups ---
    group_max_metadata_bytes: int = _key(
        8388608,
        "How many bytes of metadata the members of one group may send together, for all their protocols; a join beyond "
        "that gets GROUP_MAX_SIZE_REACHED. One protocol's must fit in message.max.bytes anyway.",
        ours=True,
        long=True,
        minimum=1024,
    )
    groups_max_metadata_bytes: int = _key(
        1 << 30,
        "How many bytes of metadata the members of all groups may send together; a join beyond that gets "
        "GROUP_MAX_SIZE_REACHED.",
        ours=True,
        long=True,
        minimum=1024,
    )
    max_members: int = _key(
        1_000_000,
        "How many members all groups may have together; one more gets GROUP_MAX_SIZE_REACHED.",
        ours=True,
        minimum=1,
    )
    max_groups: int = _key(
        100_000, "How many groups there may be; a join or commit for one more is refused.", ours=True, minimum=1
    )
    group_max_pending_members: int = _key(
        100_000,
        "Member ids handed out and not used yet, in all groups; the oldest are forgotten.",
        ours=True,
        minimum=1,
    )
    group_max_subscribed_topics: int = _key(
        50_000,
        "How many topic names of all subscriptions of a group are decoded when a generation begins; with more, no "
        "offset of the group expires.",
        ours=True,
        minimum=1,
    )
    group_max_uncounted_rebalances: int = _key(
        100,
        "How many rebalances of one group may wait until the owners of its partitions are counted; one more is "
        "recorded without these numbers.",
        ours=True,
        minimum=1,
    )
    group_max_unowned_partitions: int = _key(
        10_000,
        "How many partitions of a group that have no owner the next rebalance counts; if there are more, it counts "
        "none of them.",
        ours=True,
        minimum=0,
    )
    client_id_max_chars: int = _key(
        255,
        "How many characters of a client id a member keeps, and of a client id or group.instance.id a member id has.",
        ours=True,
        minimum=1,
        maximum=32767,
    )
    client_software_max_chars: int = _key(
        64,
        "How many characters of the name and of the version of a client's software are kept.",
        ours=True,
        minimum=1,
        maximum=32767,
    )
    group_max_rebalance_history: int = _key(
        32, "How many past events of each group are kept in memory, for `groups explain`.", ours=True, minimum=0
    )
    group_rebalance_warn_ms: int = _key(
        10_000, "A rebalance that waits for longer causes a warning that says for whom. 0: none.", ours=True, minimum=0
    )
    group_loop_throttle_ms: int = _key(
        0,
        "How long a client that joined a group four times within five minutes is told to wait when it joins again "
        "(throttle_time_ms, KIP-219). Keep it well below the session timeouts. 0: not at all.",
        ours=True,
        minimum=0,
        maximum=60_000,
    )
    group_max_events: int = _key(
        20_000, "How many past events of all groups together are kept in memory.", ours=True, minimum=100
    )
    group_owners_max_bytes: int = _key(
        16 << 20,
        "How much memory the owners of partitions in past generations of all classic groups take, for the console; "
        "those of consumer groups (KIP-848) take as much again.",
        ours=True,
        minimum=0,
    )
    group_events_max_alike: int = _key(
        8,
        "How many recent incidents of a group that differ in the client only are events of their own; more are "
        "counted in these.",
        ours=True,
        minimum=1,
    )

    group_heartbeat_park_ms: int = _key(
        5750,
        "How long the Heartbeat of a member in a Stable group is kept at most, so that its answer brings news of a "
        "rebalance at once; also at most a third of the session timeout. Only for the clients below. 0: never.",
        ours=True,
        minimum=0,
        maximum=9000,
    )
    group_heartbeat_park_clients: str = _key(
        "apache-kafka-java, kgo, kafka-python, librdkafka, rdkafka, confluent-kafka-*",
        "The clients whose heartbeats may be kept, by the software name that they send; `name-*`: all that begin so.",
        ours=True,
        check=parse_parked_clients,
        shape="name,...",
    )
    group_heartbeat_park_client_ids: str = _key(
        "",
        "The same by client id, for clients that send no software name (aiokafka).",
        ours=True,
        check=parse_parked_clients,
        shape="client id,...",
    )
    group_events_topic_enable: bool = _key(
        True,
        "Write the events of groups to the topic __group_events, from where the next start reads the newest ones.",
        ours=True,
    )
    group_events_max_queued: int = _key(
        4000,
        "How many events may wait to be written to __group_events; more are not written.",
        ours=True,
        minimum=1,
    )
    group_events_retention_ms: int = _key(
        604800000, "How long events are kept in __group_events; -1 is for ever.", ours=True, long=True, minimum=-1
    )
    group_events_retention_bytes: int = _key(
        64 << 20,
        "How many bytes each partition of __group_events keeps; -1 is no limit.",
        ours=True,
        long=True,
        minimum=-1,
    )

    # --- the offsets log ---
    offsets_topic_num_partitions: int = _key(
        8,
        "Partitions of the offsets log (Kafka: 50). Fixed by the first start; the default takes what a directory has.",
        minimum=1,
        maximum=10_000,
    )
    offsets_topic_segment_bytes: int = _key(104857600, "When a segment of the offsets log is full.", minimum=1)
    offsets_load_buffer_size: int = _key(5242880, "How much of the offsets log is read at once at start-up.", minimum=1)
    offsets_snapshot_tail_bytes: int = _key(
        16777216,
        "When a partition of the offsets log has grown by this much since its last snapshot, or was compacted, a child "
        "process makes a new one; a start reads a snapshot and the log behind it. 0: only at a stop.",
        ours=True,
        long=True,
        minimum=0,
    )
    offsets_snapshot_stop_ms: int = _key(
        5000,
        "How long a stop may take to make snapshots; what is left out makes the next start longer. 0: none at a stop, "
        "nor before a partition moves to another node (log.engine).",
        ours=True,
        minimum=0,
    )
    offsets_snapshot_min_bytes: int = _key(
        262144, "So little of a log is read at a start rather than kept in a snapshot.", ours=True, long=True, minimum=0
    )
    offsets_retention_minutes: int = _key(
        10080, "How long committed offsets are kept once no member of the group uses them.", minimum=1
    )
    offsets_retention_check_interval_ms: int = _key(
        600000, "How often expired offsets are looked for.", long=True, minimum=1
    )
    offsets_commit_timeout_ms: int = _key(5000, "How long an append to the offsets log may take.", minimum=1)
    max_offsets: int = _key(
        50_000_000,
        "How many offsets may be committed; a commit for a partition more gets INVALID_COMMIT_OFFSET_SIZE, and those "
        "for the others go on.",
        ours=True,
        minimum=1,
    )
    offset_metadata_max_bytes: int = _key(4096, "The longest metadata a commit may carry with an offset.", minimum=0)
    offsets_commit_topic_check: bool = _key(
        True,
        "Refuse a commit for a partition that does not exist here, as Kafka does. "
        "False when the topics live on another cluster.",
        ours=True,
    )

    offsets_batch_max_bytes: int = _key(
        1_048_576,
        "How many bytes of several requests go in one batch of the offsets log; an append is not divided.",
        ours=True,
        minimum=1024,
    )
    offsets_batch_max_records: int = _key(
        1000,
        "How many records of several requests go in one batch of the offsets log; an append is not divided.",
        ours=True,
        minimum=1,
    )

    # --- connections ---
    socket_request_max_bytes: int = _key(104857600, "The largest request that is read.", minimum=1)
    queued_max_request_bytes: int = _key(
        536870912,
        "How many bytes of requests that are not whole yet or wait for others all connections may hold together; "
        "beyond that the one that holds the most is closed (Kafka: no limit). -1: no limit.",
        long=True,
        minimum=-1,
    )
    queued_max_response_bytes: int = _key(
        268435456,
        "How many bytes of answers that clients have not read all connections may hold together; beyond that the one "
        "that holds the most is cut off. -1: no limit.",
        ours=True,
        long=True,
        minimum=-1,
    )
    connection_request_max_bytes: int = _key(
        2097152,
        "The largest request that carries no records (any but Produce). The record that a SyncGroup leads to must fit "
        "in message.max.bytes, so that more is of use only where that is raised. How many elements a request may have "
        "depends on its API: see protocol.md.",
        ours=True,
        minimum=1024,
    )
    max_connections: int = _key(
        10_000, "How many connections may be open (Kafka: no limit); one more is closed at once.", minimum=1
    )
    max_connections_per_ip: int = _key(INT32_MAX, "How many connections one address may have open.", minimum=1)
    reserved_open_files: int = _key(
        128,
        "How many open files are reserved for logs: a connection that would take one of them is closed. A quarter of "
        "the limit (ulimit -n) at most.",
        ours=True,
        minimum=0,
    )
    connections_max_idle_ms: int = _key(
        600000, "A connection with nothing to do for this long is closed.", long=True, minimum=1
    )
    connection_frame_timeout_ms: int = _key(
        60000,
        "How long a request may take to arrive once its first byte has, and how long a client may read nothing of "
        "answers that wait for it; then its connection is closed.",
        ours=True,
        minimum=1,
    )
    connection_max_buffered_bytes: int = _key(
        1048576,
        "How much a client may send ahead while an earlier request of its connection is parked; then reading pauses.",
        ours=True,
        minimum=1024,
    )
    connection_max_in_flight_requests: int = _key(
        1000,
        "How many requests of one connection may be unanswered; then no more of them are read.",
        ours=True,
        minimum=1,
    )
    connection_max_unsent_bytes: int = _key(
        4194304,
        "How many bytes of answers may wait for a slow reader; then no more of its requests are read.",
        ours=True,
        minimum=1024,
    )
    connection_max_template_bytes: int = _key(
        16_384,
        "The largest Heartbeat or OffsetCommit of a connection that is kept, so that its repetition is recognised.",
        ours=True,
        minimum=0,
    )
    connection_max_unused_templates: int = _key(
        8,
        "How many commits of a connection may be kept in a row without a repetition; then no more are.",
        ours=True,
        minimum=1,
    )
    request_max_elements: int = _key(
        50_000,
        "How many elements the arrays of a request may have together; for many requests the limit in docs/protocol.md "
        "is lower.",
        ours=True,
        minimum=1,
    )
    cluster_max_queued_requests: int = _key(
        100,
        "How many requests may wait until they are forwarded to the controller; one more gets NOT_CONTROLLER.",
        ours=True,
        minimum=1,
    )

    # --- verbs for tests ---
    test_verbs_enable: bool = _key(
        False,
        "Serve the verbs that make things go wrong on purpose, as POST /test/... on the HTTP port. Not for production.",
        ours=True,
    )
    test_verbs_token: str = _key(
        "",
        "The token that a verb must send as `Authorization: Bearer`. With a token, the verbs are served.",
        ours=True,
        secret=True,
    )

    test_verbs_max_running: int = _key(
        16,
        "How many verbs may run at once; one more gets 503.",
        ours=True,
        minimum=1,
    )
    test_verbs_max_faults: int = _key(
        1000,
        "How many faults may be still to come; one more is refused.",
        ours=True,
        minimum=1,
    )
    test_verbs_max_moved_groups: int = _key(
        1000,
        "How many groups may be at the other node, where a verb moved them; one more is refused.",
        ours=True,
        minimum=1,
    )

    # --- durability and segments ---
    log_flush_policy: str = _key(
        "sync",
        "When a commit is acknowledged: `sync`, once it is on disk; `interval` and `never`, once the kernel has it. "
        "With `never`, nothing at all is forced to disk.",
        ours=True,
        choices=("sync", "interval", "never"),
    )
    topic_flush_policy: str = _key(
        "interval",
        "The same for records produced to embedded topics.",
        ours=True,
        choices=("sync", "interval", "never"),
    )
    log_flush_interval_ms: int = _key(
        1000, "With the policy `interval`: how often what was written is forced to disk.", long=True, minimum=1
    )
    log_max_queued_bytes: int = _key(
        67108864,
        "How many bytes may wait to be written to disk; a request beyond that gets a retriable error.",
        ours=True,
        long=True,
        minimum=1048576,
    )
    log_segment_bytes: int = _key(
        104857600, "When a segment of an embedded topic is full (Kafka: 1073741824).", minimum=1024
    )
    log_roll_ms: int = _key(
        604800000, "The age at which a segment is closed even if it is not full.", long=True, minimum=1
    )
    log_message_timestamp_type: str = _key(
        "CreateTime",
        "CreateTime: records keep the timestamp of their producer. LogAppendTime: they get the time of the append.",
        choices=("CreateTime", "LogAppendTime"),
    )
    log_index_interval_bytes: int = _key(4096, "How many bytes of log lie between two index entries.", minimum=0)

    # --- the daemon's own health ---
    loop_stall_warn_ms: int = _key(
        100,
        "A log line says so when all clients had to wait for this long because the server's own work kept the event "
        "loop busy.",
        ours=True,
        minimum=1,
    )
    log_format: str = _key(
        "text",
        "The form of the daemon's log: `text`, lines to read; `json`, one JSON object for each line, with fields.",
        ours=True,
        choices=("text", "json"),
    )

    log_lines_max_sources: int = _key(
        256,
        "How many clients that cause the same line of the daemon's log are told apart; the oldest are forgotten.",
        ours=True,
        minimum=1,
    )
    max_kept_faults: int = _key(
        100,
        "How many tracebacks of faults in requests wait for the daemon's log; more are left out.",
        ours=True,
        minimum=1,
    )

    metrics_groups_max: int = _key(
        100,
        "How many groups /metrics shows by name, the busiest ones. The others are summed under the name `_other`.",
        ours=True,
        minimum=0,
        maximum=1000,
    )

    # --- metrics of clients (KIP-714) ---
    telemetry_metrics: str = _key(
        "org.apache.kafka.consumer.coordinator.assigned.partitions,org.apache.kafka.consumer.coordinator.commit.latency,"
        "org.apache.kafka.consumer.coordinator.heartbeat,org.apache.kafka.consumer.coordinator.last.heartbeat,"
        "org.apache.kafka.consumer.coordinator.rebalance.latency,org.apache.kafka.consumer.last.poll,"
        "org.apache.kafka.consumer.poll.idle,org.apache.kafka.consumer.time.between.poll",
        "Which metrics every client is asked for, as prefixes of their names; * for all. Subscriptions "
        "(client-metrics resources) add to them. Empty: clients are not told that they may push metrics.",
        ours=True,
        shape="prefix,...",
    )
    telemetry_interval_ms: int = _key(
        30000,
        "How often clients push these metrics.",
        ours=True,
        minimum=100,
        maximum=3600000,
    )
    telemetry_max_bytes: int = _key(
        262144,
        "The largest push of a client, compressed and expanded.",
        minimum=1,
        maximum=1048576,
    )
    telemetry_max_clients: int = _key(
        1000,
        "Of how many clients the metrics are kept and shown by /metrics. Those that were silent for longest make room.",
        ours=True,
        minimum=1,
        maximum=16384,
    )
    telemetry_otlp_endpoint: str = _key(
        "",
        "Where the metrics of clients are sent on to, as OTLP over HTTP: http://collector:4318/v1/metrics. Empty: "
        "nowhere.",
        ours=True,
        check=check_otlp_endpoint,
        shape="URL",
    )

    # --- embedded topics ---
    topics_preload: str = _key(
        "",
        "Topics to create at start-up where they do not exist, as orders:12,payments:3.",
        ours=True,
        check=parse_topics,
        shape="topic:partitions,...",
    )
    auto_create_topics_enable: bool = _key(True, "Create a topic when a client that allows it first asks for it.")
    num_partitions: int = _key(1, "Partitions of a topic created without a number.", minimum=1)
    max_topics: int = _key(2000, "How many embedded topics there may be.", ours=True, minimum=1)
    max_partitions: int = _key(
        10_000, "How many partitions all embedded topics may have together.", ours=True, minimum=1
    )
    log_retention_ms: int = _key(
        604800000, "How long records of embedded topics are kept; -1 is for ever.", long=True, minimum=-1
    )
    log_retention_bytes: int = _key(
        -1, "How many bytes each partition of an embedded topic keeps; -1 is no limit.", long=True, minimum=-1
    )
    log_retention_check_interval_ms: int = _key(300000, "How often old segments are looked for.", long=True, minimum=1)
    message_max_bytes: int = _key(1048588, "The largest record batch a producer may send.", minimum=61)
    fetch_max_bytes: int = _key(57671680, "The most bytes one fetch is answered with, 8 MiB at most.", minimum=1024)
    fetch_max_wait_ms: int = _key(
        300000,
        "The longest time that a fetch waits for records, if its client asks for more.",
        ours=True,
        minimum=1,
        maximum=300000,
    )
    topic_tail_cache_bytes: int = _key(
        67108864,
        "How many bytes of the newest records of all embedded topics are kept in memory, 2 MiB of one partition at "
        "most; older ones are read from the disk.",
        ours=True,
        long=True,
        minimum=1,
    )
    partition_max_producers: int = _key(
        10_000,
        "How many idempotent producers a partition remembers; the one that wrote longest ago is forgotten.",
        ours=True,
        minimum=1,
    )
    max_producers: int = _key(
        1_000_000,
        "How many idempotent producers all partitions remember together, one for each partition that it writes to; "
        "the one that wrote longest ago is forgotten.",
        ours=True,
        minimum=1,
    )
    partition_max_readers: int = _key(
        8,
        "How many readers of a partition are remembered, to tell how far a member had read; the one that has not read "
        "for longest is forgotten.",
        ours=True,
        minimum=1,
    )
    producer_id_expiration_ms: int = _key(
        86400000, "How long the sequence numbers of a silent idempotent producer are remembered.", minimum=1
    )

    # --- transactions ---
    transaction_state_log_num_partitions: int = _key(
        8,
        "Partitions of the transaction log (Kafka: 50). Fixed by the first start; the default takes what a directory "
        "has.",
        minimum=1,
        maximum=10_000,
    )
    transaction_state_log_segment_bytes: int = _key(
        104857600, "When a segment of the transaction log is full.", minimum=1
    )
    transaction_max_timeout_ms: int = _key(
        900000, "The longest transaction timeout that a producer may ask for.", minimum=1
    )
    transactional_id_expiration_ms: int = _key(
        604800000, "How long an unused transactional id is remembered.", minimum=1
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = _key(
        3600000, "How often expired transactional ids are looked for.", minimum=1
    )
    max_transactional_ids: int = _key(
        100_000,
        "How many transactional ids there may be; a producer with one more is refused.",
        ours=True,
        minimum=1,
    )

    # --- compaction of the offsets log, and its history ---
    log_cleaner_min_cleanable_ratio: float = _key(
        0.5,
        "Dirty bytes over all bytes of the closed segments: a partition of the offsets log is compacted above this "
        "(a topic's min.cleanable.dirty.ratio).",
        minimum=0,
        maximum=1,
    )
    log_cleaner_min_compaction_lag_ms: int = _key(
        0, "How long a record stays uncompacted (a topic's min.compaction.lag.ms).", long=True, minimum=0
    )
    log_cleaner_max_compaction_lag_ms: int = _key(
        INT64_MAX,
        "How long a record may stay uncompacted; beyond it the ratio does not count (a topic's max.compaction.lag.ms).",
        long=True,
        minimum=1,
    )
    log_cleaner_delete_retention_ms: int = _key(
        86400000,
        "How long a tombstone stays after the first compaction that met it (a topic's delete.retention.ms).",
        long=True,
        minimum=0,
    )
    compaction_interval_ms: int = _key(
        0,
        "How often the daemon looks whether the offsets log needs compacting; 0: only when `coordinator compact` asks.",
        ours=True,
        long=True,
        minimum=0,
    )
    compaction_start_job: bool = _key(
        False,
        "Start the compaction job as a child process when one is due. False: make the plan and leave the work to a "
        "`coordinator compact --watch` that runs beside the daemon.",
        ours=True,
    )
    compaction_command: str = _key(
        "",
        "The job that compaction.start.job starts; {data.dir} stands for the data directory. Empty: `coordinator "
        "compact --data-dir {data.dir}`, in the daemon's own Python.",
        ours=True,
        check=check_command,
        shape="command",
    )
    compaction_plan_expiration_ms: int = _key(
        3600000,
        "For how long a plan may wait without progress of its job, or of the check of its result, before it is given "
        "up.",
        ours=True,
        long=True,
        minimum=1000,
    )
    compaction_plan_max_bytes: int = _key(
        4294967296,
        "How many bytes that are not compacted yet one plan takes, at least one segment; what else is due comes with "
        "the next plan.",
        ours=True,
        long=True,
        minimum=1,
    )
    history_enable: bool = _key(
        False,
        "Keep the past of the offsets log: no compaction passes what `coordinator history extract` has saved. False: "
        "`undo`, `restore` and `history` forget what a compaction removes.",
        ours=True,
    )
    history_dir: str = _key(
        "",
        "Where the history is kept. Empty: `history` in the data directory.",
        ours=True,
        shape="directory",
    )
    history_retention_ms: int = _key(
        -1,
        "How long the history is kept; -1: for ever. States within that time stay exact. `compact` and `history "
        "extract` remove what is older.",
        ours=True,
        long=True,
        minimum=-1,
    )

    # --- not a key: the source of a value ---
    is_http_given: bool = field(default=False, compare=False, repr=False)
    """True if a source set `http.listen`, False if it was left at its default."""

    # --- not a key: settings of one listener ---
    listener_settings: tuple[tuple[str, str, Any], ...] = field(default=(), repr=False)
    """Name of the listener, attribute, value. Later ones take precedence."""

    # --- parsed values ---
    @property
    def client_listeners(self) -> tuple[Endpoint, ...]:
        return listeners_of(self.listeners, self.listener_security_protocol_map)

    @property
    def listen_address(self) -> Address:
        """The address of the first listener."""
        return next(iter(parse_listeners(self.listeners).values()))

    @property
    def advertised_addresses(self) -> dict[str, Address]:
        """The advertised addresses by the name of the listener; the others advertise the bound address."""
        return parse_listeners(self.advertised_listeners)

    @property
    def advertised_address(self) -> Address | None:
        """The advertised address of the first listener; None to advertise the bound address."""
        return self.advertised_addresses.get(next(iter(parse_listeners(self.listeners))))

    @property
    def is_secured(self) -> bool:
        """True if clients of a listener need TLS, a login or rights."""
        return self.has_authorizer or any(each.protocol != PLAINTEXT for each in self.client_listeners)

    @property
    def has_node_logins(self) -> bool:
        """True if a node proves to another one who it is: by a login (SASL), or by a certificate."""
        link = self.inter_broker_listener
        own = self.of_listener(link.name)
        return link.has_sasl or (link.has_tls and own.ssl_client_auth == "required")

    def of_listener(self, name: str) -> Config:
        """Return the settings as they are for one listener."""
        own = {attribute: value for listener, attribute, value in self.listener_settings if listener == name}
        return replace(self, **own) if own else self

    def is_first_listener(self, name: str) -> bool:
        return name == next(iter(parse_listeners(self.listeners)))

    def _told_of_listener(self, name: str, attribute: str) -> str:
        """Return a setting that without the name of a listener is that of the first one."""
        given = [value for listener, key, value in self.listener_settings if (listener, key) == (name, attribute)]
        return given[-1] if given else getattr(self, attribute) if self.is_first_listener(name) else ""

    @property
    def node_addresses(self) -> dict[int, Address]:
        """Addresses by node id of the first listener; empty if this node is alone."""
        return self.node_addresses_of(next(iter(parse_listeners(self.listeners))))

    def node_addresses_of(self, listener: str) -> dict[int, Address]:
        """Addresses by node id of one listener; empty if they are not given."""
        return parse_nodes(self._told_of_listener(listener, "cluster_nodes"))

    def worker_ports_of(self, listener: str) -> list[int]:
        """Ports of the workers on one listener; empty if they are not given."""
        return parse_ports(self._told_of_listener(listener, "worker_ports"))

    @property
    def inter_broker_listener(self) -> Endpoint:
        """The listener over which nodes connect to each other."""
        listeners = self.client_listeners
        named = [each for each in listeners if each.name == self.inter_broker_listener_name.upper()]
        return named[0] if named else listeners[0]

    @property
    def asked_metrics(self) -> list[str]:
        """The prefixes of telemetry.metrics."""
        return [name.strip() for name in self.telemetry_metrics.split(",") if name.strip()]

    @property
    def http_address(self) -> Address | None:
        """The address of the HTTP port; None for no HTTP port."""
        return None if self.http_listen.lower() in ("", OFF) else parse_address(self.http_listen)

    @property
    def preloaded_topics(self) -> dict[str, int]:
        return parse_topics(self.topics_preload, self.num_partitions)

    @property
    def is_shared(self) -> bool:
        """True if the offsets log is in a store that several nodes share."""
        return self.log_engine != FILES

    @property
    def has_topics(self) -> bool:
        return self.topics_storage == LOCAL or (self.topics_storage == AUTO and not self.is_shared)

    @property
    def serves_consumer_protocol(self) -> bool:
        """True if groups of the consumer protocol (KIP-848) are served, which needs a catalogue of topics."""
        return self.has_topics and "consumer" in parse_names(self.group_coordinator_rebalance_protocols)

    @property
    def has_authorizer(self) -> bool:
        """True if access rules are enforced."""
        return parse_authorizer(self.authorizer_class_name)

    @property
    def history_path(self) -> str:
        return self.history_dir or f"{self.log_dirs}/history"

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * 60_000


class Key(NamedTuple):
    """The declaration of one key; `name` as written in a file, `attribute` as read from a `Config`."""

    name: str
    attribute: str
    type: str  # "int", "long", "double", "boolean", "string" or "password"
    default: float | bool | str
    help: str
    ours: bool
    minimum: int | None
    maximum: int | None
    choices: tuple[str, ...]
    check: Callable[[str], object] | None
    shape: str
    per_listener: bool

    @property
    def environment(self) -> str:
        return variable_of(self.name)

    @property
    def valid(self) -> str:
        """The valid range as text."""
        if self.type == "boolean":
            return "true or false"
        if self.choices:
            return " or ".join(self.choices)
        if self.type in ("string", "password"):
            return self.shape
        ceiling = INT64_MAX if self.type == "long" else INT32_MAX
        if self.maximum is not None and self.maximum < ceiling:
            return f"{self.minimum} to {self.maximum}"
        return f"at least {self.minimum}"

    def parse(self, text: str) -> float | bool | str:
        """Parse a value; the message of a ConfigError names the accepted values."""
        text = text.strip()
        if self.type == "boolean":
            if text.lower() not in ("true", "false"):
                raise ConfigError(f"{self.name} must be true or false, not {text!r}")
            return text.lower() == "true"
        if self.type in ("string", "password"):
            if self.choices and text not in self.choices:
                raise ConfigError(f"{self.name} must be {self.valid}, not {text!r}")
            if self.check is not None:
                try:
                    self.check(text)
                except ConfigError as error:
                    raise ConfigError(f"{self.name}: {error}") from None
            return text
        if self.type == "double":
            floor, ceiling = self.minimum or 0, self.maximum if self.maximum is not None else INT64_MAX
            if not _DECIMAL.fullmatch(text) or not floor <= float(text) <= ceiling:
                raise ConfigError(f"{self.name} must be a number ({self.valid}), not {text!r}")
            return float(text)
        if not WHOLE_NUMBER.fullmatch(text):
            raise ConfigError(f"{self.name} must be a whole number ({self.valid}), not {text!r}")
        number = int(text)
        ceiling = self.maximum if self.maximum is not None else INT64_MAX if self.type == "long" else INT32_MAX
        if (self.minimum is not None and number < self.minimum) or number > ceiling:
            raise ConfigError(f"{self.name} must be {self.minimum} to {ceiling}, not {number}")
        return number


class _Unit(NamedTuple):
    """Another of Kafka's names for a key, possibly in a coarser unit."""

    key: str
    factor: int = 1


# As in Kafka, the finer unit takes precedence where a file gives both; an entry for the key itself is the finest.
OTHER_NAMES: Final[Mapping[str, _Unit]] = {
    "broker.id": _Unit("node.id"),
    "log.dir": _Unit("log.dirs"),
    "log.retention.minutes": _Unit("log.retention.ms", 60_000),
    "log.retention.hours": _Unit("log.retention.ms", 3_600_000),
    "log.roll.hours": _Unit("log.roll.ms", 3_600_000),
    "log.flush.scheduler.interval.ms": _Unit("log.flush.interval.ms"),
}

_TYPES: Final = {"int": "int", "float": "double", "bool": "boolean", "str": "string"}


@cache
def keys() -> Mapping[str, Key]:
    """Return every key by its name, in the order of declaration."""
    table: dict[str, Key] = {}
    of_base = SecurityConfig.__dataclass_fields__
    for declared in sorted(fields(Config), key=lambda each: each.name in of_base):  # the base class is last
        facts = dict(declared.metadata)
        if not facts:
            continue
        kind = _TYPES[str(declared.type)]
        if facts.pop("long"):
            kind = "long"
        if facts.pop("secret"):
            kind = "password"
        name = declared.name.replace("_", ".")
        default: Any = declared.default
        table[name] = Key(name=name, attribute=declared.name, type=kind, default=default, **facts)
    return table
