"""The settings, under Kafka's own property names, each declared once.

A field of `Config` is one key: `group_max_size` is `group.max.size`. Its annotation is the type; default, valid range
and meaning stand beside it, and whether the name is Kafka's or ours. Everything else reads this table: the parser, the
error sentences, `coordinator config`, docs/configuration.md and the tests.

A value comes from the last of these that names it: default, --config FILE, environment (COORDINATOR_GROUP_MAX_SIZE),
--override key=value, the flag made for it. A key of Kafka's that has no meaning here is ignored with one warning, so
that Kafka's own server.properties can be used as it is; a key that nobody knows is an error that names the nearest one.

Pure: text and mappings in, a frozen `Config` out. The command line reads the file and the environment.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Final, NamedTuple

from coordinator.environment import setting_variables, variable_of
from coordinator.kafka_keys import KAFKA_KEYS, KAFKA_PREFIXES
from coordinator.properties import PropertiesError, parse_properties

INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1
MAX_NODE_ID: Final = 2**23 - 2  # in cluster.nodes: each node has a range of producer ids of its own (cluster.py)
OFF: Final = "off"

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}")
_DECIMAL: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?|\.[0-9]{1,9}")
_LEGAL_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class ConfigError(ValueError):
    """A setting that cannot be used. The message is one sentence that says what to do."""


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _key(
    default: Any,
    help: str,
    *,
    ours: bool = False,
    long: bool = False,
    minimum: int | None = None,
    maximum: int | None = None,
    choices: tuple[str, ...] = (),
    check: Callable[[str], object] | None = None,
    shape: str = "",
) -> Any:
    """Declare one key. `check` raises ConfigError for text that its type allows and its meaning does not."""
    facts = {
        "help": help,
        "ours": ours,
        "long": long,
        "minimum": minimum,
        "maximum": maximum,
        "choices": choices,
        "check": check,
        "shape": shape,
    }
    return field(default=default, metadata=facts)


def parse_address(text: str) -> Address:
    """`host:port`, `[v6 address]:port`, `:port` (all interfaces) or Kafka's `PLAINTEXT://host:port`."""
    scheme, separator, rest = text.strip().rpartition("://")
    if separator and scheme.upper() != "PLAINTEXT":
        raise ConfigError(f"{text!r} asks for the protocol {scheme}, but only PLAINTEXT is served; write host:port")
    host, separator, port = rest.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not separator or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535 or (":" in host and not bracketed):
        raise ConfigError(f"{text!r} is not an address; write host:port, for example 127.0.0.1:9092")
    return Address(host[1:-1] if bracketed else host or "0.0.0.0", int(port))


def parse_listeners(text: str) -> Address:
    """Kafka's list of listeners; of its entries those named CONTROLLER mean nothing here, and one must be left."""
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    served = [entry for entry in entries if not entry.upper().startswith("CONTROLLER://")]
    if len(served) != 1:
        raise ConfigError(f"{text!r} names {len(served)} listeners, but exactly one is served; write one host:port")
    return parse_address(served[0])


def parse_topics(text: str, default_partitions: int = 1) -> dict[str, int]:
    """`orders:12,payments:3` as a dict from topic to number of partitions; a topic may come without a number."""
    topics: dict[str, int] = {}
    for entry in filter(None, (entry.strip() for entry in text.split(","))):
        name, separator, count = entry.rpartition(":")
        if not separator:
            name, count = entry, ""
        if not _LEGAL_TOPIC.fullmatch(name) or name in (".", ".."):
            raise ConfigError(
                f"{name!r} is not a topic name; use up to 249 letters, digits, dots, dashes and underscores, "
                "as in orders:12"
            )
        if not count and not separator:
            topics[name] = default_partitions
            continue
        if not re.fullmatch("[0-9]{1,9}", count) or int(count) < 1:
            raise ConfigError(f"{entry!r} must give a number of partitions of at least 1, as in orders:12")
        topics[name] = int(count)
    return topics


def parse_nodes(text: str) -> dict[int, Address]:
    """`1@host:port,2@host:port` as a dict from node id to address, in ascending order of the ids."""
    nodes: dict[int, Address] = {}
    for entry in filter(None, (entry.strip() for entry in text.split(","))):
        number, separator, where = entry.partition("@")
        if not separator or not re.fullmatch("[0-9]{1,9}", number) or int(number) > MAX_NODE_ID:
            raise ConfigError(f"{entry!r} must be a node id of 0 to {MAX_NODE_ID} and an address, as in 1@host:9092")
        address = parse_address(where)
        if address.host in ("0.0.0.0", "::") or not address.port:
            raise ConfigError(f"{entry!r} has no address that others can connect to; write a host and a port")
        if int(number) in nodes or address in nodes.values():
            raise ConfigError(f"{entry!r} repeats an id or an address of another entry; each node has its own")
        nodes[int(number)] = address
    return dict(sorted(nodes.items()))


def parse_ports(text: str) -> list[int]:
    """`9092,9192` as numbers."""
    entries = list(filter(None, (entry.strip() for entry in text.split(","))))
    if any(not re.fullmatch("[0-9]{1,5}", entry) or not 0 < int(entry) < 65536 for entry in entries):
        raise ConfigError(f"{text!r} must be ports from 1 to 65535 with commas between, as in 9092,9192")
    if len(set(map(int, entries))) != len(entries):
        raise ConfigError(f"{text!r} has a port twice; each worker has its own")
    return [int(entry) for entry in entries]


def _check_advertised(text: str) -> None:
    if text and parse_listeners(text).host in ("0.0.0.0", "::"):
        raise ConfigError(
            f"{text!r} is no address that a client can connect to; advertise a host name or an IP address"
        )


def _check_http(text: str) -> None:
    if text.lower() not in ("", OFF):
        parse_address(text)


def _check_command(text: str) -> None:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"{text!r} cannot be split into words ({error}); write it as in a shell") from None
    if text and not words:
        raise ConfigError(f"{text!r} names no program; leave it empty for the built-in command")


def _check_data_dir(text: str) -> None:
    if not text or "," in text:
        raise ConfigError(f"{text!r} must be exactly one directory; the coordinator keeps all its data in one")


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. `Config()` is the defaults; `load` reads files, environment and command line."""

    # --- who and where ---
    listeners: str = _key(
        "127.0.0.1:9092",
        "Where clients connect: host:port or PLAINTEXT://host:port. No host means all interfaces, port 0 a free port.",
        check=parse_listeners,
        shape="host:port",
    )
    advertised_listeners: str = _key(
        "",
        "The address that clients are told to connect to. Empty: the address bound (on all interfaces, the host name).",
        check=_check_advertised,
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
    )
    cluster_id: str = _key("", "The cluster id that clients see. Empty: made at the first start and kept.", ours=True)
    cluster_nodes: str = _key(
        "",
        "All nodes of the cluster, this one among them, under the addresses that clients and other nodes connect to; "
        "the same on every node. Empty: this node is alone.",
        ours=True,
        check=parse_nodes,
        shape="id@host:port,...",
    )
    log_dirs: str = _key(
        "data", "The directory that holds everything durable.", check=_check_data_dir, shape="directory"
    )
    http_listen: str = _key(
        "127.0.0.1:9080",
        "Where /healthz, /readyz and /metrics are served; `off` for nowhere.",
        ours=True,
        check=_check_http,
        shape="host:port or off",
    )

    # --- groups ---
    group_min_session_timeout_ms: int = _key(6000, "The shortest session timeout a member may ask for.", minimum=1)
    group_max_session_timeout_ms: int = _key(1800000, "The longest session timeout a member may ask for.", minimum=1)
    group_initial_rebalance_delay_ms: int = _key(
        3000, "How long the first rebalance of an empty group waits for more members.", minimum=0
    )
    group_max_size: int = _key(INT32_MAX, "How many members one group may have.", minimum=1)
    max_groups: int = _key(
        100_000, "How many groups there may be; a join or commit for one more is refused.", ours=True, minimum=1
    )
    group_max_rebalance_history: int = _key(
        32, "How many past rebalances are kept in memory for each group, in plain words.", ours=True, minimum=0
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
        "When a partition of the offsets log has grown by this much since its last snapshot, a child process makes a "
        "new one; a start reads a snapshot and the log behind it. 0: only at a stop.",
        ours=True,
        long=True,
        minimum=0,
    )
    offsets_snapshot_stop_ms: int = _key(
        5000,
        "How long a stop may take to make snapshots; what is left out makes the next start longer. 0: none at a stop.",
        ours=True,
        minimum=0,
    )
    offsets_snapshot_min_bytes: int = _key(
        262144, "So little of a log is read at a start rather than kept in a snapshot.", ours=True, long=True, minimum=0
    )
    offsets_retention_minutes: int = _key(
        10080, "How long committed offsets are kept once nobody in the group uses them.", minimum=1
    )
    offsets_retention_check_interval_ms: int = _key(
        600000, "How often expired offsets are looked for.", long=True, minimum=1
    )
    offsets_commit_timeout_ms: int = _key(5000, "How long an append to the offsets log may take.", minimum=1)
    offset_metadata_max_bytes: int = _key(4096, "The longest metadata a commit may carry with an offset.", minimum=0)
    offsets_commit_topic_check: bool = _key(
        True,
        "Refuse a commit for a partition that does not exist here, as Kafka does. "
        "False when the topics live on another cluster.",
        ours=True,
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
    connection_request_max_bytes: int = _key(
        16777216,
        "The largest request that carries no records (any but Produce). Decoding one stops everybody else meanwhile: "
        "about 60 ms for each MiB of the smallest elements.",
        ours=True,
        minimum=1024,
    )
    max_connections: int = _key(
        10_000, "How many connections may be open (Kafka: no limit); one more is closed at once.", minimum=1
    )
    max_connections_per_ip: int = _key(INT32_MAX, "How many connections one address may have open.", minimum=1)
    connections_max_idle_ms: int = _key(
        600000, "A connection with nothing to do for this long is closed.", long=True, minimum=1
    )
    connection_frame_timeout_ms: int = _key(
        60000,
        "How long a request may take to arrive once its first byte has; then its connection is closed.",
        ours=True,
        minimum=1,
    )
    connection_max_buffered_bytes: int = _key(
        1048576,
        "How much a client may send ahead while an earlier request of its connection is parked; then reading pauses.",
        ours=True,
        minimum=1024,
    )
    connection_max_unsent_bytes: int = _key(
        4194304,
        "How many bytes of answers may wait for a slow reader; then no more of its requests are read.",
        ours=True,
        minimum=1024,
    )

    # --- durability and segments ---
    log_flush_policy: str = _key(
        "sync",
        "When a commit is acknowledged: `sync`, once it is on disk; `interval`, once the kernel has it.",
        ours=True,
        choices=("sync", "interval"),
    )
    topic_flush_policy: str = _key(
        "interval", "The same for records produced to embedded topics.", ours=True, choices=("sync", "interval")
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
    log_index_interval_bytes: int = _key(4096, "How many bytes of log lie between two index entries.", minimum=0)

    # --- the daemon's own health ---
    loop_stall_warn_ms: int = _key(
        100,
        "A log line says so when everybody had to wait for this long because one thing kept the event loop busy.",
        ours=True,
        minimum=1,
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
    producer_id_expiration_ms: int = _key(
        86400000, "How long the sequence numbers of a silent idempotent producer are remembered.", minimum=1
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
        check=_check_command,
        shape="command",
    )
    compaction_plan_expiration_ms: int = _key(
        3600000,
        "How long a job may take: a plan whose result has not come by then is given up.",
        ours=True,
        long=True,
        minimum=1000,
    )
    history_enable: bool = _key(
        False,
        "Keep the past of the offsets log: no compaction passes what `coordinator history extract` has saved.",
        ours=True,
    )
    history_dir: str = _key(
        "",
        "Where the history is kept. Empty: `history` in the data directory.",
        ours=True,
        shape="directory",
    )

    # --- what others would otherwise work out again ---
    @property
    def listen_address(self) -> Address:
        return parse_listeners(self.listeners)

    @property
    def advertised_address(self) -> Address | None:
        """None: advertise what was bound."""
        return parse_listeners(self.advertised_listeners) if self.advertised_listeners else None

    @property
    def node_addresses(self) -> dict[int, Address]:
        """By node id. Empty: this node is alone."""
        return parse_nodes(self.cluster_nodes)

    @property
    def worker_port_list(self) -> list[int]:
        """Empty: not given."""
        return parse_ports(self.worker_ports)

    @property
    def http_address(self) -> Address | None:
        """None: no HTTP port."""
        return None if self.http_listen.lower() in ("", OFF) else parse_address(self.http_listen)

    @property
    def preloaded_topics(self) -> dict[str, int]:
        return parse_topics(self.topics_preload, self.num_partitions)

    @property
    def history_path(self) -> str:
        return self.history_dir or f"{self.log_dirs}/history"

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * 60_000


@dataclass(frozen=True, slots=True)
class Key:
    """What is known about one key; `name` as written in a file, `attribute` as read from a `Config`."""

    name: str
    attribute: str
    type: str  # "int", "long", "double", "boolean" or "string"
    default: float | bool | str
    help: str
    ours: bool
    minimum: int | None
    maximum: int | None
    choices: tuple[str, ...]
    check: Callable[[str], object] | None
    shape: str

    @property
    def environment(self) -> str:
        return variable_of(self.name)

    @property
    def valid(self) -> str:
        """The valid range, for people."""
        if self.type == "boolean":
            return "true or false"
        if self.choices:
            return " or ".join(self.choices)
        if self.type == "string":
            return self.shape
        ceiling = INT64_MAX if self.type == "long" else INT32_MAX
        if self.maximum is not None and self.maximum < ceiling:
            return f"{self.minimum} to {self.maximum}"
        return f"at least {self.minimum}"

    def parse(self, text: str) -> float | bool | str:
        """The value that `text` stands for; a ConfigError says what would be accepted."""
        text = text.strip()
        if self.type == "boolean":
            if text.lower() not in ("true", "false"):
                raise ConfigError(f"{self.name} must be true or false, not {text!r}")
            return text.lower() == "true"
        if self.type == "string":
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
        if not _INTEGER.fullmatch(text):
            raise ConfigError(f"{self.name} must be a whole number ({self.valid}), not {text!r}")
        number = int(text)
        ceiling = self.maximum if self.maximum is not None else INT64_MAX if self.type == "long" else INT32_MAX
        if (self.minimum is not None and number < self.minimum) or number > ceiling:
            raise ConfigError(f"{self.name} must be {self.minimum} to {ceiling}, not {number}")
        return number


class _Unit(NamedTuple):
    """Another of Kafka's names for a key of ours, in a coarser unit."""

    key: str
    factor: int = 1


# The finer unit wins where a file gives both, as in Kafka; here that means: an entry for the key itself.
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
    """Every key by its name, in the order of declaration."""
    table: dict[str, Key] = {}
    for declared in fields(Config):
        facts = dict(declared.metadata)
        kind = _TYPES[str(declared.type)]
        if facts.pop("long"):
            kind = "long"
        name = declared.name.replace("_", ".")
        default: Any = declared.default
        table[name] = Key(name=name, attribute=declared.name, type=kind, default=default, **facts)
    return table


def load(
    file_text: str | None = None,
    overrides: Iterable[str] = (),
    environ: Mapping[str, str] | None = None,
    *,
    file_name: str = "server.properties",
    flags: Mapping[str, str] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Config:
    """Settings from all sources, weakest first: `file_text`, `environ`, `overrides` ("key=value"), `flags` by key name.

    `warn` gets at most one sentence about keys of Kafka's that mean nothing here, and one about such variables.
    """
    values: dict[str, Any] = {}
    unused: list[str] = []
    unused_variables: list[str] = []

    def take(entries: Iterable[tuple[str, str, str]]) -> None:
        """One source: (key, text, where it stands). Other names for a key never beat the key itself in one source."""
        exact: dict[str, Any] = {}
        converted: dict[str, tuple[int, Any]] = {}
        for name, text, where in entries:
            try:
                _take_one(name, text, exact, converted, unused)
            except ConfigError as error:
                raise ConfigError(f"{error} ({where})") from None
        values.update({attribute: value for attribute, (_, value) in converted.items()})
        values.update(exact)

    if file_text is not None:
        try:
            entries = parse_properties(file_text)
        except PropertiesError as error:
            raise ConfigError(f"{file_name} is not a properties file: {error}") from None
        take((entry.key, entry.value, f"{file_name}, line {entry.line}") for entry in entries)
    take(_from_environment(environ or {}, unused_variables))
    take(_from_overrides(overrides))
    take((name, text, "on the command line") for name, text in (flags or {}).items())
    if unused and warn is not None:
        warn(f"ignored settings of Kafka's that mean nothing here: {', '.join(sorted(set(unused)))}")
    if unused_variables and warn is not None:
        warn(f"ignored variables in the environment that name no setting: {', '.join(unused_variables)}")
    config = Config(**values)
    _check_together(config)
    return config


def _take_one(
    name: str, text: str, exact: dict[str, Any], converted: dict[str, tuple[int, Any]], unused: list[str]
) -> None:
    key = keys().get(name)
    if key is not None:
        exact[key.attribute] = key.parse(text)
        return
    other = OTHER_NAMES.get(name)
    if other is not None:
        key = keys()[other.key]
        stripped = text.strip()
        if _INTEGER.fullmatch(stripped) and other.factor != 1:
            stripped = str(int(stripped) * other.factor if int(stripped) >= 0 else int(stripped))
        try:
            value = key.parse(stripped)
        except ConfigError as error:
            raise ConfigError(f"{name} sets {other.key}, and {error}") from None
        factor, _ = converted.get(key.attribute, (other.factor, None))
        if other.factor <= factor:
            converted[key.attribute] = (other.factor, value)
        return
    if name in KAFKA_KEYS or name.startswith(KAFKA_PREFIXES):
        unused.append(name)
        return
    raise ConfigError(f"there is no setting {name!r}; {_nearest(name)}")


def _nearest(name: str) -> str:
    from difflib import get_close_matches  # needed by a mistake only

    close = get_close_matches(name, [*keys(), *OTHER_NAMES], n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else "`coordinator config` lists them all"


def _from_environment(environ: Mapping[str, str], unused: list[str]) -> Iterable[tuple[str, str, str]]:
    for variable in setting_variables(environ):
        if variable.is_ours or _is_known(variable.key):
            yield variable.key, variable.value, f"in the environment, {variable.name}"
        else:
            unused.append(variable.name)


def _is_known(name: str) -> bool:
    return name in keys() or name in OTHER_NAMES or name in KAFKA_KEYS or name.startswith(KAFKA_PREFIXES)


def _from_overrides(overrides: Iterable[str]) -> Iterable[tuple[str, str, str]]:
    for override in overrides:
        name, separator, text = override.partition("=")
        if not separator:
            raise ConfigError(f"--override {override!r} has no value; write --override key=value")
        yield name.strip(), text, f"--override {override}"


def _check_together(config: Config) -> None:
    """What no single key can say."""
    if config.group_min_session_timeout_ms > config.group_max_session_timeout_ms:
        raise ConfigError(
            f"group.min.session.timeout.ms ({config.group_min_session_timeout_ms}) is above "
            f"group.max.session.timeout.ms ({config.group_max_session_timeout_ms}); lower the first or raise the second"
        )
    if config.message_max_bytes > config.socket_request_max_bytes:
        raise ConfigError(
            f"message.max.bytes ({config.message_max_bytes}) is above socket.request.max.bytes "
            f"({config.socket_request_max_bytes}), so such a batch could never arrive; raise the second"
        )
    if 0 <= config.queued_max_request_bytes < config.socket_request_max_bytes:
        raise ConfigError(
            f"queued.max.request.bytes ({config.queued_max_request_bytes}) is below socket.request.max.bytes "
            f"({config.socket_request_max_bytes}), so such a request could never arrive; raise the first"
        )
    nodes = config.node_addresses
    if nodes and config.node_id not in nodes:
        raise ConfigError(
            f"cluster.nodes has the nodes {', '.join(map(str, nodes))}, but node.id is {config.node_id}; "
            "set node.id to the one that this is, or add it to cluster.nodes on every node"
        )
    if nodes and config.advertised_address not in (None, nodes[config.node_id]):
        raise ConfigError(
            f"advertised.listeners is {config.advertised_address}, but cluster.nodes has this node at "
            f"{nodes[config.node_id]}; remove advertised.listeners, since cluster.nodes is what clients are told"
        )
    if config.workers > 1 and nodes:
        raise ConfigError(
            "workers and cluster.nodes both say which nodes there are; remove one of them, or give each worker a place "
            "in cluster.nodes and start it by itself"
        )
    ports = config.worker_port_list
    if ports and len(ports) != config.workers:
        raise ConfigError(f"worker.ports has {len(ports)} ports for {config.workers} workers; give one for each")
    wanted = config.preloaded_topics
    if len(wanted) > config.max_topics or sum(wanted.values()) > config.max_partitions:
        raise ConfigError(
            f"topics.preload asks for {len(wanted)} topics with {sum(wanted.values())} partitions, above max.topics "
            f"({config.max_topics}) or max.partitions ({config.max_partitions}); raise the limit or ask for less"
        )
