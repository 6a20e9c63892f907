"""The HTTP port over real sockets: its responses, and clients that are slow, silent or malformed."""

from __future__ import annotations

import contextlib
import math
import resource
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_classic

from coordinator.config.config import Config
from coordinator.config.values import parse_address
from coordinator.http import service
from coordinator.http.parts import HttpParts
from coordinator.http.port import HttpPort
from coordinator.metrics.health import HistogramSample, Sample, ServerStatus

pytestmark = pytest.mark.integration

MOST = 64  # connections, http.max.connections by default
FIGURES = (
    Sample("kafka_groups", "Groups by state.", "gauge", 3, {"state": "stable"}),
    Sample("kafka_commits_total", "Offsets committed.", "counter", 7),
    Sample("kafka_groups", "Groups by state.", "gauge", 1, {"state": "empty"}),
    HistogramSample("kafka_flush_seconds", "Time of a flush.", [(0.001, 2), (0.1, 5), (math.inf, 6)], 0.75),
)


@dataclass
class Daemon:
    """A substitute for the daemon: a status that tests set, and the address of its HTTP port."""

    status: ServerStatus = field(default_factory=lambda: ServerStatus(True, "ready", FIGURES))
    error: Exception | None = None
    host: str = ""
    port: int = 0

    def read_status(self) -> ServerStatus:
        if self.error is not None:
            raise self.error
        return self.status

    def get(self, path: str, accept: str = "*/*", method: str = "GET") -> tuple[int, str, str]:
        request = urllib.request.Request(
            f"http://{self.host}:{self.port}{path}", headers={"Accept": accept}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.headers["Content-Type"], answer.read().decode()
        except urllib.error.HTTPError as answer:
            with answer:
                return answer.code, answer.headers["Content-Type"] or "", answer.read().decode()

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=10)


def port_of(address: str, daemon: Daemon) -> HttpPort:
    return HttpPort(parse_address(address), Config(http_listen=address), HttpParts(daemon.read_status))


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    daemon = Daemon()
    server = port_of("127.0.0.1:0", daemon)
    daemon.host, daemon.port = server.start()
    yield daemon
    server.close()


def test_a_loading_daemon_is_healthy_and_not_ready_with_a_reason(daemon: Daemon) -> None:
    daemon.status = ServerStatus(False, "loading 3 of 8 partitions")
    assert daemon.get("/healthz")[::2] == (200, "ok\n")
    assert daemon.get("/readyz")[::2] == (503, "loading 3 of 8 partitions\n")
    daemon.status = ServerStatus(True, "")
    assert daemon.get("/readyz")[::2] == (200, "ready\n")


def test_metrics_are_served_as_families_in_the_text_format(daemon: Daemon) -> None:
    code, kind, body = daemon.get("/metrics")
    assert code == 200
    assert kind.startswith("text/plain")
    families = {family.name: family for family in parse_classic(body)}
    assert families["kafka_groups"].type == "gauge"
    assert families["kafka_groups"].documentation == "Groups by state."
    assert {s.labels["state"]: s.value for s in families["kafka_groups"].samples} == {"stable": 3, "empty": 1}
    assert families["kafka_commits"].type == "counter"
    assert [(s.name, s.value) for s in families["kafka_commits"].samples] == [("kafka_commits_total", 7)]
    flush = [(s.name, s.labels.get("le"), s.value) for s in families["kafka_flush_seconds"].samples]
    assert flush == [
        ("kafka_flush_seconds_bucket", "0.001", 2),
        ("kafka_flush_seconds_bucket", "0.1", 5),
        ("kafka_flush_seconds_bucket", "+Inf", 6),
        ("kafka_flush_seconds_count", None, 6),
        ("kafka_flush_seconds_sum", None, 0.75),
    ]


def test_openmetrics_is_served_to_clients_that_accept_it(daemon: Daemon) -> None:
    _, kind, body = daemon.get("/metrics", accept="application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text")
    assert {family.name for family in parse_openmetrics(body)} == {
        "kafka_groups",
        "kafka_commits",
        "kafka_flush_seconds",
    }


def test_each_scrape_reads_the_present_values(daemon: Daemon) -> None:
    assert 'kafka_groups{state="stable"} 3.0' in daemon.get("/metrics")[2]
    daemon.status = ServerStatus(
        True, "", [Sample("kafka_groups", "Groups by state.", "gauge", 4, {"state": "stable"})]
    )
    assert 'kafka_groups{state="stable"} 4.0' in daemon.get("/metrics")[2]


def test_a_label_may_hold_any_text(daemon: Daemon) -> None:
    daemon.status = ServerStatus(True, "", [Sample("g", "Help.", "gauge", 1, {"name": 'a"b\\c\nd'})])
    (family,) = parse_classic(daemon.get("/metrics")[2])
    assert family.samples[0].labels == {"name": 'a"b\\c\nd'}


def test_other_paths_and_methods_get_an_error_with_the_list_of_paths(daemon: Daemon) -> None:
    code, _, body = daemon.get("/metric")
    assert code == 404
    assert "/metrics" in body
    assert "/readyz" in daemon.get("/")[2]
    assert daemon.get("/healthz?probe=1")[0] == 200
    assert daemon.get("/healthz", method="HEAD")[::2] == (200, "")
    assert daemon.get("/healthz", method="PUT")[0] == 405
    assert daemon.get("/healthz", method="POST")[::2] == (404, '{"error":"no verbs here; start with --profile test"}\n')


def test_a_status_that_cannot_be_read_is_answered_with_an_error(
    daemon: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    daemon.error = RuntimeError("the loop is gone")
    for path in ("/healthz", "/readyz", "/metrics"):
        assert daemon.get(path)[::2] == (500, "status unknown: the loop is gone\n")
    assert "the status of the daemon could not be read" in caplog.text


@pytest.mark.parametrize("silent", [24, 200])
def test_silent_connections_that_reconnect_delay_no_probe(daemon: Daemon, silent: int) -> None:
    with contextlib.ExitStack() as opened:
        for _ in range(3):  # each round opens more connections, and those that were closed reconnect
            for number in range(silent):
                client = opened.enter_context(daemon.connect())
                if number % 2:
                    client.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
            assert daemon.get("/healthz")[::2] == (200, "ok\n")
            assert daemon.get("/readyz")[0] == 200


def test_clients_that_do_not_read_responses_delay_no_probe(daemon: Daemon) -> None:
    many = [Sample("g", "Help.", "gauge", n, {"name": f"{n:0100}"}) for n in range(5000)]
    daemon.status = ServerStatus(True, "", many)
    with contextlib.ExitStack() as opened:
        for _ in range(20):
            client = opened.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((daemon.host, daemon.port))
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert daemon.get("/healthz")[::2] == (200, "ok\n")


def test_a_new_connection_replaces_the_oldest_silent_one(daemon: Daemon) -> None:
    with contextlib.ExitStack() as opened:
        oldest, *_, newest = [opened.enter_context(daemon.connect()) for _ in range(MOST + 1)]
        assert oldest.recv(1) == b""
        newest.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert newest.recv(100).startswith(b"HTTP/1.0 200")


def test_a_request_in_parts_is_answered_and_one_without_an_end_is_refused_and_closed(daemon: Daemon) -> None:
    with daemon.connect() as slow, daemon.connect() as endless:
        for part in (b"GET /hea", b"lthz HTTP/1.1\r\nHost: x\r", b"\n\r\n"):
            slow.sendall(part)
        assert b"200 OK" in slow.recv(1000)
        with contextlib.suppress(OSError):
            endless.sendall(b"GET /" + b"x" * 70_000)
        assert b"".join(iter(lambda: endless.recv(4096), b"")).startswith(b"HTTP/1.0 400")


def test_a_client_that_never_finishes_its_request_is_disconnected(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LIFETIME_S", 0.2)
    with daemon.connect() as slow:
        slow.sendall(b"GET /healthz HTTP/1.0\r\nX: ")
        assert slow.recv(100) == b""  # the timeout of the socket is much longer, so the server closed it


def test_malformed_requests_get_an_error_and_the_next_client_is_served(daemon: Daemon) -> None:
    with daemon.connect() as rude:
        rude.sendall(b"\x00\x00\x00\x10\x00\x12\x00\x03\r\n\r\n")
        assert b"400" in rude.recv(1000)
    assert daemon.get("/healthz")[0] == 200


def test_a_port_in_use_is_an_os_error(daemon: Daemon) -> None:
    second = port_of(f"127.0.0.1:{daemon.port}", daemon)
    with pytest.raises(OSError, match="in use"):
        second.start()
    second.close()


def test_close_ends_listening_and_may_be_called_twice() -> None:
    daemon = Daemon()
    server = port_of("127.0.0.1:0", daemon)
    daemon.host, daemon.port = server.start()
    idle = daemon.connect()
    server.close()
    server.close()
    with pytest.raises(ConnectionRefusedError):
        daemon.connect()
    idle.close()


@pytest.mark.parametrize("head", ["GET /?{} HTTP/1.1", "GET / HTTP/1.1\r\nX: {}"])
def test_a_path_and_a_header_are_as_long_as_allowed_and_no_byte_longer(daemon: Daemon, head: str) -> None:
    most = Config().http_max_line_bytes - len("/?" if "?" in head else "X")
    for size, status in ((most, b"200"), (most + 1, b"400")):
        with daemon.connect() as client:
            client.sendall(f"{head.format('x' * size)}\r\nHost: h\r\n\r\n".encode())
            assert client.recv(1000).split()[1] == status


def test_the_port_serves_where_a_thousand_files_are_open(daemon: Daemon) -> None:
    """A daemon has a file open for each partition, so that the descriptor of the port may be a large number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as opened:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4_096)), hard))
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1_050):
            opened.enter_context(socket.socket())
        served = port_of("127.0.0.1:0", daemon)
        daemon.host, daemon.port = served.start()
        opened.callback(served.close)
        assert daemon.get("/healthz")[0] == 200
