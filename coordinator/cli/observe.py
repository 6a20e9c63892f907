"""`coordinator observe`: the console for the groups of another Kafka, read from its offsets log.

It follows `__consumer_offsets` by Fetch, keeps a copy of it with its history, and serves console, API and metrics. It
writes nothing to the cluster.
"""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Final

from coordinator.cli.arguments import add_command_config
from coordinator.cli.errors import CliError
from coordinator.cli.screen import need_extra
from coordinator.cli.serve import check_port_file
from coordinator.config.config import Config
from coordinator.config.values import check_http
from coordinator.server.log_format import write_log_to_stderr

DESCRIPTION: Final = """\
Show the groups of another Kafka: who owns which partition, why each rebalance began, how far each group is behind.
It follows the topic __consumer_offsets and writes nothing to the cluster. Needs the extra [observe]."""

EPILOG: Final = """\
examples:
  coordinator observe --bootstrap-server kafka-1:9092
  coordinator observe --bootstrap-server kafka-1:9093 --command-config client.properties --data-dir /var/lib/observed

client.properties has Kafka's words: security.protocol, sasl.mechanism, sasl.jaas.config, ssl.truststore.location.
docs/observe.md names the rights that it needs."""

HTTP: Final = "127.0.0.1:9081"
DATA_DIR: Final = Path("observed")
DAYS: Final = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--bootstrap-server", metavar="HOST:PORT,...", required=True, help="brokers of the cluster")
    add_command_config(parser)
    add("--data-dir", metavar="DIR", type=Path, default=DATA_DIR, help=f"where it keeps its copy; default: {DATA_DIR}")
    add("--http", metavar="HOST:PORT", default=HTTP, help=f"the address of the console; default: {HTTP}")
    add("--retention-days", metavar="N", type=int, default=DAYS, help=f"how long the past is kept; default: {DAYS}")
    add("--history-max-gb", metavar="N", type=float, default=8.0, help="the most that the past takes; default: 8")
    add("--http-port-file", metavar="FILE", type=Path, help="write the bound HTTP port to this file once ready")
    add("--log-level", choices=("debug", "info", "warning", "error"), default="info", help="default: info")
    add("--log-format", choices=("text", "json"), default="text", help="lines to read, or JSON; default: text")


def run(arguments: argparse.Namespace) -> int:
    need_extra("aiokafka", extra="observe")
    if arguments.retention_days < 1 or arguments.history_max_gb <= 0:
        raise CliError("--retention-days must be 1 or more, and --history-max-gb more than 0")
    check_http(arguments.http)
    if arguments.http_port_file is not None:
        check_port_file("--http-port-file", arguments.http_port_file)
    write_log_to_stderr(arguments.log_level, arguments.log_format)

    # Imported here, so that a mistake in the call is told without waiting for numpy and pyarrow.
    from coordinator.http.port import HttpPortError
    from coordinator.observe.client_settings import ClientSettings
    from coordinator.observe.errors import ClusterProblem, ObserveError
    from coordinator.observe.observer import ObserverSettings
    from coordinator.observe.service import observe
    from coordinator.server import port_file
    from coordinator.server.server import loop_factory

    def ready(address: str) -> None:
        if arguments.http_port_file is not None:
            port_file.write(arguments.http_port_file, int(address.rpartition(":")[2] or 0))
        print(f"observing {arguments.bootstrap_server}; console: http://{address}/", flush=True)

    config = replace(Config(), http_listen=arguments.http, is_http_given=True)
    try:
        settings = ObserverSettings(
            arguments.bootstrap_server,
            arguments.data_dir,
            ClientSettings.read(arguments.command_config),
            retention_days=arguments.retention_days,
            history_max_bytes=int(arguments.history_max_gb * (1 << 30)),
        )
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(observe(settings, config, ready, _collect))
    except (ObserveError, HttpPortError) as error:
        raise CliError(str(error), 1 if isinstance(error, ClusterProblem) and error.may_pass else 2) from None
    return 0


async def _collect() -> None:
    """Collect garbage as the daemon does, so that a pass over all offsets does not hold the loop."""
    from coordinator.server.gc_policy import GcPolicy  # late: see `run`

    policy = GcPolicy(lambda what, seconds: None)
    policy.start()
    try:
        while True:
            await asyncio.sleep(1.0)
            policy.second()
    finally:
        policy.stop()
