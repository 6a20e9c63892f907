"""`coordinator serve`: gathers the settings and runs the daemon.

The flags are short names for frequently used settings; every other setting has --override, a file or the environment.
File and environment are read here, so that `coordinator.config.sources` stays pure.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from coordinator.cli.errors import CliError
from coordinator.config import kafka_container
from coordinator.config.config import Config
from coordinator.config.profiles import PROFILES
from coordinator.config.sources import load
from coordinator.processes.parent import end_with_stdin
from coordinator.server.log_format import write_log_to_stderr
from coordinator.version import is_binary

LOG: Final = logging.getLogger("coordinator")

DESCRIPTION: Final = """\
Run the coordinator. Point any Kafka client's bootstrap.servers at the address it listens on.
Without arguments it listens on 127.0.0.1:9092, serves HTTP on 127.0.0.1:9080, and keeps its data in ./data."""

EPILOG: Final = """\
Settings, weakest first: defaults, --config FILE, environment (COORDINATOR_GROUP_MAX_SIZE=100),
--override key=value, the flags above. `coordinator config` lists them all."""

# Flags for settings: name in the parsed arguments -> key.
FLAGS: Final = {
    "listen": "listeners",
    "advertised": "advertised.listeners",
    "data_dir": "log.dirs",
    "http": "http.listen",
    "workers": "workers",
    "worker_ports": "worker.ports",
    "log_format": "log.format",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--listen", metavar="HOST:PORT", help="the address for clients; port 0 takes a free one")
    add("--advertised", metavar="HOST:PORT", help="the address given to clients, if it differs (NAT, containers)")
    add("--data-dir", metavar="DIR", help="the directory for all data; created if missing")
    add("--topic", metavar="NAME:PARTITIONS", action="append", default=[], help="create this topic; repeatable")
    add(
        "--profile",
        choices=tuple(PROFILES),
        default="",
        help="settings for a purpose: `coordinator config --profile test`",
    )
    add("--config", metavar="FILE", type=Path, help="settings in the syntax of Kafka's server.properties")
    add("--override", metavar="KEY=VALUE", action="append", default=[], help="one setting; repeatable")
    add("--http", metavar="HOST:PORT", help="the address of /healthz, /readyz and /metrics, or `off`")
    add("--workers", metavar="N", help="serve with N processes on consecutive ports, to use more than one core")
    add("--worker-ports", metavar="PORT,...", help="the ports of the workers, if not consecutive")
    add("--port-file", metavar="FILE", type=Path, help="write the bound port to this file once ready")
    add("--http-port-file", metavar="FILE", type=Path, help="write the bound HTTP port to this file once ready")
    add(
        "--as-kafka-container",
        action="store_true",
        help="read variables as Kafka's images do, and print the line that programs which start them await",
    )
    add("--end-with-stdin", action="store_true", help="stop when stdin ends: it is a pipe that a parent holds open")
    add("--log-level", choices=("debug", "info", "warning", "error"), default="info", help="default: info")
    add("--log-format", choices=("text", "json"), help="lines to read, or JSON with fields; default: text")


def run(arguments: argparse.Namespace) -> int:
    warnings: list[str] = []  # said once the settings tell in which form
    environ = dict(os.environ)
    if arguments.as_kafka_container:
        environ = kafka_container.translated(environ, warnings.append)
    config = config_from(arguments, environ, warnings.append)
    if arguments.as_kafka_container:
        config = kafka_container.with_address_of_a_published_port(config, warnings.append)
    write_log_to_stderr(arguments.log_level, config.log_format, most_sources=config.log_lines_max_sources)
    for warning in warnings:
        LOG.warning("%s", warning)
    for flag, path in (("--port-file", arguments.port_file), ("--http-port-file", arguments.http_port_file)):
        if path is not None:
            check_port_file(flag, path)

    if arguments.end_with_stdin:
        end_with_stdin()

    # Imported here, so that a mistake in the settings is reported without waiting for the server's imports.
    from coordinator.server import server
    from coordinator.server.startup import StartupError

    def ready(*addresses: str) -> None:
        announce(config, *addresses)
        if arguments.as_kafka_container:
            print(kafka_container.ready_line(config.node_id), flush=True)

    files = server.PortFiles(arguments.port_file, arguments.http_port_file)
    try:
        if config.workers > 1:
            from coordinator.workers import supervisor

            return supervisor.run(config, files, arguments.log_level, lambda addresses: ready(*addresses))
        if config.test_verbs_enable or config.test_verbs_token:
            from coordinator.testing import daemon

            return daemon.run(config, files, ready=ready, verbs_at=say_verbs)
        return server.run(config, files, ready=ready)
    except StartupError as error:
        raise CliError(str(error), error.exit_code) from error


def check_port_file(flag: str, path: Path) -> None:
    """Raise CliError if no file can be at this path."""
    if path.is_dir():
        raise CliError(f"{flag} {path} is a directory; give the path of a file")
    if not path.parent.is_dir():
        raise CliError(f"{flag} {path}: the directory {path.parent} does not exist; create it first")


def say_verbs(url: str) -> None:
    """Print where the verbs of tests are. The packages in clients/ read this line and the one of `announce`."""
    print(f"verbs on {url}", flush=True)


def announce(config: Config, address: str, *others: str) -> None:
    """Print the addresses of the running daemon, and a command to try it with."""
    print(f"listening on {', '.join((address, *others))}", flush=True)
    if "://" in address:
        return  # a client needs TLS or a password, and a command with both would be long
    host, _, port = address.rpartition(":")
    reachable = f"127.0.0.1:{port}" if host in ("0.0.0.0", "::") else address
    if config.advertised_address is not None:
        reachable = str(config.advertised_address)
    topic = next(iter(config.preloaded_topics), "orders")
    print(f"try it: {_client_command(Path(sys.executable), reachable, topic)}", flush=True)


def _client_command(python: Path, address: str, topic: str) -> str:
    """Return a command that runs a group member. After `make run` it installs a client into the environment."""
    if python.is_relative_to(Path.cwd()) and not is_binary():
        here = python.relative_to(Path.cwd())
        install = f"{here} -m pip install -q kafka-python"
        return f"{install} && {here} -m kafka.consumer -b {address} -g my-group -t {topic}"
    return f"kcat -b {address} -G my-group {topic}   (or any other Kafka client)"


def config_from(
    arguments: argparse.Namespace, environ: Mapping[str, str], warn: Callable[[str], None] | None = None
) -> Config:
    flags = {key: getattr(arguments, name) for name, key in FLAGS.items() if getattr(arguments, name) is not None}
    if arguments.topic:
        flags["topics.preload"] = ",".join(arguments.topic)
    return load(
        read_properties(arguments.config) if arguments.config is not None else None,
        arguments.override,
        environ,
        file_name=str(arguments.config),
        flags=flags,
        profile=arguments.profile,
        warn=warn,
    )


def read_properties(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CliError(f"--config {path} is not text in UTF-8; save it as a plain properties file") from None
    except OSError as error:
        raise CliError(
            f"--config {path} cannot be read ({error.strerror}); give the path of a properties file"
        ) from None
