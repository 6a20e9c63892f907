"""librdkafka's mock cluster as a server process, to be measured beside ours.

The library bundled with the confluent-kafka package has it: one broker on a thread of librdkafka's own, in memory. Its
C API is called through ctypes, because the configuration property `test.mock.num.brokers` can neither choose a topic's
partitions nor shorten the wait before a group's first assignment. Python only sleeps.

Usage: mock.py PORT_FILE TOPIC PARTITIONS
"""

from __future__ import annotations

import ctypes
import importlib.util
import signal
import sys
from pathlib import Path

PRODUCER = 0  # rd_kafka_type_t: what kind of client carries the mock makes no difference
REBALANCE_DELAY_MS = 300  # as the other servers of the comparison are told


def library() -> Path:
    """The librdkafka that confluent-kafka brought along. ModuleNotFoundError when there is none."""
    found = importlib.util.find_spec("confluent_kafka")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("librdkafka's mock needs the package confluent-kafka: pip install confluent-kafka")
    package = Path(next(iter(found.submodule_search_locations)))
    bundled = sorted(package.with_name("confluent_kafka.libs").glob("librdkafka*.so*"))
    if not bundled:
        raise ModuleNotFoundError("this build of confluent-kafka does not bundle librdkafka; install its wheel")
    return bundled[0]


def start(topic: str, partitions: int) -> tuple[int, str]:
    """A mock cluster that lives as long as this process: its port, and librdkafka's version."""
    import confluent_kafka  # noqa: F401 - brings the bundled libraries that this one needs into the process

    api = ctypes.CDLL(str(library()))
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(api, name).restype = ctypes.c_void_p
    for name in ("rd_kafka_version_str", "rd_kafka_mock_cluster_bootstraps", "rd_kafka_err2str"):
        getattr(api, name).restype = ctypes.c_char_p
    why = ctypes.create_string_buffer(512)
    conf = ctypes.c_void_p(api.rd_kafka_conf_new())
    client = ctypes.c_void_p(api.rd_kafka_new(PRODUCER, conf, why, ctypes.c_size_t(len(why))))
    if not client:
        raise OSError(why.value.decode())
    cluster = ctypes.c_void_p(api.rd_kafka_mock_cluster_new(client, 1))
    if not cluster:
        raise OSError("librdkafka made no mock cluster")
    error = api.rd_kafka_mock_topic_create(cluster, topic.encode(), partitions, 1)
    if error:
        raise OSError(api.rd_kafka_err2str(error).decode())
    api.rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, REBALANCE_DELAY_MS)
    bootstrap = api.rd_kafka_mock_cluster_bootstraps(cluster).decode()
    return int(bootstrap.partition(",")[0].rpartition(":")[2]), api.rd_kafka_version_str().decode()


def main(words: list[str]) -> int:
    port_file = Path(words[0])
    port, version = start(words[1], int(words[2]))
    print(f"librdkafka {version} mock cluster on 127.0.0.1:{port}", flush=True)
    partial = port_file.with_suffix(".new")
    partial.write_text(f"{port}\n")
    partial.replace(port_file)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    return 0


if __name__ == "__main__":
    # Blocked before librdkafka makes its threads, which inherit it: only sigwait takes them.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    sys.exit(main(sys.argv[1:]))
