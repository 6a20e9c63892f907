"""A collector of OpenTelemetry: an HTTP server that keeps what is posted to it."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest


class Collector:
    """Listens on a free port. `refuses`: it answers 503."""

    def __init__(self) -> None:
        self.refuses = False
        self.requests: list[ExportMetricsServiceRequest] = []
        self.refused = 0
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if collector.refuses:
                    collector.refused += 1
                    self.send_error(503)
                    return
                assert (self.path, self.headers["Content-Type"]) == ("/v1/metrics", "application/x-protobuf")
                collector.requests.append(ExportMetricsServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *words: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1/metrics"

    def resources(self) -> list[dict[str, str]]:
        """Return the attributes of each resource that was received."""
        return [
            {each.key: each.value.string_value for each in resource.resource.attributes}
            for request in list(self.requests)
            for resource in request.resource_metrics
        ]

    def __enter__(self) -> Collector:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
