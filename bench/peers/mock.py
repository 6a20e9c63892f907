"""librdkafka's mock cluster in this process, or as a server process, to be measured beside ours.

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


class MockCluster:
    """A mock cluster in this process, on threads of librdkafka's own."""

    def __init__(self, *, delay_ms: int = REBALANCE_DELAY_MS) -> None:
        import confluent_kafka  # noqa: F401 - brings the bundled libraries that this one needs into the process

        self._api = api = ctypes.CDLL(str(library()))
        for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
            getattr(api, name).restype = ctypes.c_void_p
        for name in ("rd_kafka_version_str", "rd_kafka_mock_cluster_bootstraps", "rd_kafka_err2str"):
            getattr(api, name).restype = ctypes.c_char_p
        why = ctypes.create_string_buffer(512)
        conf = ctypes.c_void_p(api.rd_kafka_conf_new())
        self._client = ctypes.c_void_p(api.rd_kafka_new(PRODUCER, conf, why, ctypes.c_size_t(len(why))))
        if not self._client:
            raise OSError(why.value.decode())
        self._cluster = ctypes.c_void_p(api.rd_kafka_mock_cluster_new(self._client, 1))
        if not self._cluster:
            raise OSError("librdkafka made no mock cluster")
        api.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, delay_ms)
        bootstrap = api.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        self.port = int(bootstrap.partition(",")[0].rpartition(":")[2])
        self.version = api.rd_kafka_version_str().decode()

    def create_topic(self, topic: str, partitions: int) -> None:
        error = self._api.rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, 1)
        if error:
            raise OSError(self._api.rd_kafka_err2str(error).decode())

    def close(self) -> None:
        self._api.rd_kafka_mock_cluster_destroy(self._cluster)
        self._api.rd_kafka_destroy(self._client)


def main(words: list[str]) -> int:
    port_file = Path(words[0])
    cluster = MockCluster()
    cluster.create_topic(words[1], int(words[2]))
    print(f"librdkafka {cluster.version} mock cluster on 127.0.0.1:{cluster.port}", flush=True)
    partial = port_file.with_suffix(".new")
    partial.write_text(f"{cluster.port}\n")
    partial.replace(port_file)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    return 0


if __name__ == "__main__":
    # Blocked before librdkafka makes its threads, which inherit it: only sigwait takes them.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    sys.exit(main(sys.argv[1:]))
