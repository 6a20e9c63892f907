"""Type in docs/secure.md in a fresh clone and compare the output. It takes most of a minute."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Final

import pytest

from tests.docs.blocks import Block
from tests.docs.play import Play, Script, daemon_says, file, shown, typed
from tests.docs.stage import Stage, _free_port
from tests.support.machine_tools import require_tool


class SecuredStage(Stage):
    """A machine where the port 9093 is replaced, too, and where less is waited. The page names its servers itself."""

    def __init__(self, scratch: Path) -> None:
        for tool in ("openssl", "curl"):
            require_tool(tool, tool)
        super().__init__(scratch)
        self.external_port = _free_port()
        self.environment |= {
            "COORDINATOR_BOOTSTRAP_SERVER": f"127.0.0.1:{self.port}",  # for the default
            "COORDINATOR_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
            "COORDINATOR_SSL_STORE_CHECK_MS": "500",
        }

    def adapted(self, text: str) -> str:
        return (
            text.replace("<this repository>", str(self._copy))
            .replace("127.0.0.1:9092", f"127.0.0.1:{self.port}")
            .replace("127.0.0.1:9093", f"127.0.0.1:{self.external_port}")
            .replace("127.0.0.1:9080", f"127.0.0.1:{self.http_port}")
        )


def clone_and_run(play: Play, block: Block) -> None:
    clone, run = block.text.strip().splitlines()
    play.stage.clone_repository(clone)
    play.stage.start_daemon(run)


def the_first_user_is_added(play: Play, block: Block) -> None:
    """Press Ctrl-C in the first terminal, as the page has said, and type the block in the second."""
    daemon = play.stage.daemon
    assert daemon is not None
    assert daemon.interrupt() in (0, 130, -signal.SIGINT)  # make, or the shell that execs
    daemon.close()
    typed(play, block)


def the_daemon_starts_again(play: Play, block: Block) -> None:
    """Start it with the listeners of the file."""
    stage = play.stage
    for name in ("COORDINATOR_LISTENERS", "COORDINATOR_HTTP_LISTEN"):
        del stage.environment[name]
    stage.start_daemon(block.text)


def it_is_refused(play: Play, block: Block) -> None:
    typed(play, block)
    assert play.printed.startswith("coordinator: ")


SECURE: Final = Script(
    "docs/secure.md",
    steps={
        "git clone <this repository> && cd kafka-group-coordinator": clone_and_run,
        ". .venv/bin/activate #1": typed,
        "mkdir -m 700 tls && chmod 700 data": typed,
        "issue() { # NAME NAMES-OF-HOSTS": typed,
        "listeners=INTERNAL://127.0.0.1:9092,EXTERNAL://127.0.0.1:909": file("server.properties"),
        "openssl rand -base64 18 > tls/admin.password": the_first_user_is_added,
        "USER MECHANISM ITERATIONS #1": shown(again=False),
        ". .venv/bin/activate #2": the_daemon_starts_again,
        "listening on INTERNAL://127.0.0.1:9092, EXTERNAL://127.0.0.1": daemon_says,
        "coordinator topics list -b 127.0.0.1:9093": it_is_refused,
        "coordinator: 127.0.0.1:9093 does not answer as a Kafka broke": shown(again=False),
        "cat > tls/admin.properties <<END": typed,
        "TOPIC PARTITIONCOUNT REPLICATIONFACTOR INTERNAL #1": shown(again=False),
        "for user in alice bob; do": typed,
        "USER MECHANISM ITERATIONS #2": shown(again=False),
        "from pathlib import Path": file("client.py"),
        "pip install kafka-python": typed,
        "kafka.errors.TopicAuthorizationFailedError: [Error 29] Topic": shown(again=False),
        "Principal = User:alice is Denied operation = DESCRIBE from h": daemon_says,
        "coordinator acls add --allow-principal User:alice --producer": typed,
        "TYPE RESOURCE PATTERN PRINCIPAL HOST OPERATION PERMISSION": shown(again=False),
        "python client.py": typed,
        "read [b'one', b'two']": shown(again=False),
        "issue billing DNS:billing": typed,
        "TOPIC PARTITIONCOUNT REPLICATIONFACTOR INTERNAL #2": shown(again=False),
        "grep -v keystore tls/billing.properties > tls/nothing.proper": it_is_refused,
        "reason=it shows no certificate, and ssl.client.auth=required": daemon_says,
        "issue server DNS:localhost,IP:127.0.0.1": typed,
        "certificate replaced listener=EXTERNAL": daemon_says,
        "coordinator quotas set --user alice request_rate=200 produce": typed,
        "USER CLIENT-ID IP QUOTA VALUE": shown(again=False),
        'echo "Authorization: Bearer $(cat tls/http.token)" > tls/htt': typed,
        "send http.token: as the header `Authorization: Bearer TOKEN`": shown(again=False),
        'echo "http.token=$(cat tls/http.token)" >> tls/admin.propert': typed,
    },
    exempt={},
)


def test_every_block_of_the_page_is_run() -> None:
    SECURE.check()


@pytest.mark.integration
def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    stage = SecuredStage(tmp_path)
    try:
        SECURE.perform(stage)
    finally:
        stage.close()
