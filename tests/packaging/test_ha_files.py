"""The files for nodes that share a database do what they say: manifest and unit start nodes of a real PostgreSQL."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.config.config import keys
from tests.support.eventually import eventually
from tests.support.machine_tools import require_tool
from tests.support.nodes import free_ports
from tests.support.postgres import PASSWORD, SUPERUSER, PostgresServer

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
SET = (ROOT / "docs/ops/statefulset-ha.yaml").read_text(encoding="utf-8")
UNIT = (ROOT / "docs/ops/coordinator-ha.service").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/high-availability.md").read_text(encoding="utf-8")
COORDINATOR = Path(sys.executable).parent / "coordinator"


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    """A primary with a synchronous standby: the files ask for one."""
    primary = PostgresServer.new()
    try:
        standby = primary.new_standby()
        try:
            yield primary
        finally:
            standby.close()
    finally:
        primary.close()


def secrets(directory: Path) -> Path:
    """Return a directory with the files of the secret, as Kubernetes mounts it."""
    directory.mkdir()
    (directory / "user").write_text(SUPERUSER)
    (directory / "password").write_text(PASSWORD)
    return directory


def environment() -> dict[str, str]:
    """Return the variables of the container in the StatefulSet."""
    found = dict(re.findall(r"- name: (COORDINATOR_\w+).*\n +value: (.*)", SET))
    return {name: value.strip('"') for name, value in found.items()}


def command_of_the_container() -> str:
    """Return the script that the container runs: a folded block of YAML."""
    folded = re.search(r"- >-\n((?: {14}.*\n)+)", SET)
    assert folded is not None
    return " ".join(folded[1].split())


def nodes(database: PostgresServer, name: str, schema: str) -> list[str]:
    return database.sql(f"SELECT id, host, state FROM {schema}.node", name).splitlines()


def run_until(command: list[str], variables: dict[str, str], directory: Path, appears: str) -> tuple[str, int]:
    """Run a daemon until its log has a text, end it by SIGTERM, and return its log and exit code."""
    log = directory / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, env={**os.environ, **variables}, cwd=directory, stdout=out, stderr=out)
    try:
        eventually(
            lambda: appears in log.read_text() or process.poll() is not None, f"it says {appears!r}", within_s=60
        )
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        code = process.wait(60)
    return log.read_text(), code


def test_the_stateful_set_starts_a_node_with_the_number_and_the_name_of_its_pod(
    database: PostgresServer, tmp_path: Path
) -> None:
    name = database.new_database()
    mounted = secrets(tmp_path / "secret")
    variables = environment()
    assert variables["COORDINATOR_LOG_ENGINE_PASSWORD_FILE"].startswith("/run/secrets/database/")
    variables = {name: value.replace("/run/secrets/database", str(mounted)) for name, value in variables.items()}
    variables |= {
        "COORDINATOR_LOG_ENGINE": f"postgresql://127.0.0.1:{database.port}/{name}",
        "COORDINATOR_LISTENERS": f"127.0.0.1:{free_ports(1)[0]}",
        "COORDINATOR_HTTP_LISTEN": "off",
        "COORDINATOR_LOG_DIRS": str(tmp_path / "data"),
        "HOSTNAME": "coordinator-ha-2",
        "PATH": f"{COORDINATOR.parent}:{os.environ['PATH']}",
    }
    log, code = run_until(["sh", "-c", command_of_the_container()], variables, tmp_path, " ready ")
    assert code == 0, log
    assert "node=3@coordinator-ha-2.coordinator-ha-nodes:9092" in log
    assert nodes(database, name, "kgc_prod") == []  # it has left in good order


def test_the_manifest_is_consistent() -> None:
    """Names that must be equal: of services, of the secret, of labels, of mounts and volumes, of ports and probes."""
    (service,) = re.findall(r"serviceName: (\S+)", SET)
    assert f"name: {service}\n" in SET
    assert f"$HOSTNAME.{service}:9092" in SET
    assert set(re.findall(r"app: ([\w-]+)", SET)) == {"coordinator-ha"}
    assert set(re.findall(r"secretName: (\S+?) ?[,}]", SET)) == {"coordinator-database"}
    assert "create secret generic coordinator-database" in SET
    mounts = dict(re.findall(r"name: (\w+), mountPath: ([\w/]+)", SET))
    assert set(mounts) == set(re.findall(r"- name: (\w+)\n +(?:emptyDir|secret)", SET))
    for variable in ("COORDINATOR_LOG_ENGINE_USER_FILE", "COORDINATOR_LOG_ENGINE_PASSWORD_FILE"):
        assert Path(environment()[variable]).parent == Path(mounts["database"])
    assert set(re.findall(r"port: ([a-z]+) ", SET)) <= set(re.findall(r"name: (\w+), containerPort", SET))
    assert "COORDINATOR_CLUSTER_NODES" not in SET


def test_kubectl_reads_the_manifest() -> None:
    kubectl = require_tool("kubectl", "kubectl")
    done = subprocess.run(
        [kubectl, "label", "--local", "--filename", "-", "--output", "json", "read=yes"],
        input=SET, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kinds = re.findall(r'^    "kind": "(\w+)"', done.stdout, flags=re.MULTILINE)
    assert kinds == ["Service", "Service", "StatefulSet", "PodDisruptionBudget"]


@pytest.mark.parametrize("name", ["docs/ops/coordinator.service", "docs/ops/coordinator-ha.service"])
def test_systemd_accepts_the_unit(name: str, tmp_path: Path) -> None:
    analyze = require_tool("systemd-analyze", "systemd")
    text = (ROOT / name).read_text(encoding="utf-8")
    unit = tmp_path / Path(name).name
    unit.write_text(text.replace("/opt/coordinator/bin/coordinator", str(COORDINATOR)), encoding="utf-8")
    done = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_unit_starts_a_node_with_the_settings_of_the_page(database: PostgresServer, tmp_path: Path) -> None:
    """The test copies the credentials and replaces `%d` itself, as systemd does."""
    name = database.new_database()
    etc, credentials = secrets(tmp_path / "etc"), tmp_path / "credentials"
    credentials.mkdir()
    loaded = dict(re.findall(r"^LoadCredential=([\w-]+):/etc/coordinator/([\w-]+)$", UNIT, flags=re.MULTILINE))
    assert loaded == {each: each for each in ("database-user", "database-password")}
    for credential, file in loaded.items():
        shutil.copy(etc / file.removeprefix("database-"), credentials / credential)
    variables = dict(re.findall(r"^Environment=(\w+)=(.*)$", UNIT, flags=re.MULTILINE))
    variables = {key: value.replace("%d", str(credentials)) for key, value in variables.items()}

    properties = re.search(r"```properties\n(.*?)```", PAGE, flags=re.DOTALL)
    assert properties is not None
    port = free_ports(1)[0]
    settings = properties[1].replace("db-1,db-2/coordinator", f"127.0.0.1:{database.port}/{name}")
    settings = settings.replace("0.0.0.0:9092", f"127.0.0.1:{port}")
    (tmp_path / "server.properties").write_text(settings, encoding="utf-8")

    start = re.search(r"^ExecStart=(.*)$", UNIT, flags=re.MULTILINE)
    assert start is not None
    command = start[1].replace("/opt/coordinator/bin/coordinator", str(COORDINATOR))
    command = command.replace("/etc/coordinator", str(tmp_path)).replace("/var/lib/coordinator", str(tmp_path / "data"))
    log, code = run_until([*command.split(), "--http", "off"], variables, tmp_path, " ready ")
    assert code == 0, log
    assert "node=1@node-1:9092" in log
    assert PASSWORD not in log


def test_a_database_that_is_away_lets_the_unit_try_again_and_a_mistake_does_not(tmp_path: Path) -> None:
    (never,) = re.findall(r"^RestartPreventExitStatus=(\d+)$", UNIT, flags=re.MULTILINE)

    def exit_code(engine: str, *overrides: str) -> int:
        command = [str(COORDINATOR), "serve", "--listen", "127.0.0.1:0", "--http", "off"]
        settings = ("cluster.id=prod", f"log.engine={engine}", "log.engine.timeout.ms=500", *overrides)
        for each in settings:
            command += ["--override", each]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
        return done.returncode

    assert str(exit_code(f"postgresql://127.0.0.1:{free_ports(1)[0]}/none")) != never
    assert str(exit_code("postgresql://127.0.0.1/none", "log.engine.password.file=/missing")) == never


def test_the_profile_is_complete_and_the_other_services_do_not_need_it() -> None:
    """Ask the real compose for the resolved file."""
    compose = require_tool("docker-compose", "docker-compose")
    done = subprocess.run(
        [compose, "--profile", "ha", "config"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    services = re.split(r"^  (?=[\w-]+:\n)", done.stdout.partition("services:\n")[2], flags=re.MULTILINE)
    ha = {each.partition(":")[0]: each for each in services if "    profiles:\n    - ha\n" in each}
    nodes = [name for name in ha if name.startswith("ha-coordinator-")]
    assert len(nodes) == 4
    for name in nodes:
        settings = dict(re.findall(r"^      (COORDINATOR_\w+): (.*)$", ha[name], flags=re.MULTILINE))
        assert set(settings) <= {key.environment for key in keys().values()}
        number = name.rpartition("-")[2]
        assert settings["COORDINATOR_NODE_ID"].strip("'\"") == number
        assert re.findall(r":54(\d)(\d)", settings["COORDINATOR_LOG_ENGINE"]) == [(number, "1"), (number, "2")]
        assert "source: ha_password" in ha[name]
    others = [each for each in services if not each.startswith("ha-") and "    image:" in each]
    assert others
    assert not [each for each in others if "ha-" in each or "ha_" in each]
