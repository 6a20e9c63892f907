"""`make wheels` builds a plain wheel for every Python, a compiled wheel that behaves alike, and an sdist."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from tests.support.built import CALM, ROOT, require_wheels
from tests.support.eventually import eventually
from tests.support.first_partition import consumer_with_all
from tests.support.machine_tools import require_tool

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def wheels() -> dict[str, Path]:
    """Return the files in dist/, by "plain", "compiled" and "sdist"."""
    require_tool("cc", "gcc")
    return require_wheels()


def files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_plain_wheel_is_for_every_python_and_the_compiled_one_for_this(wheels: dict[str, Path]) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert wheels["plain"].name == f"kafka_group_coordinator-{version}-py3-none-any.whl"
    assert wheels["compiled"].name.startswith(f"kafka_group_coordinator-{version}-{python}-{python}-linux")


def test_both_wheels_have_the_same_sources_and_metadata(wheels: dict[str, Path]) -> None:
    plain, compiled = (
        {name: data for name, data in files(wheels[kind]).items() if not name.endswith((".so", "/RECORD", "/WHEEL"))}
        for kind in ("plain", "compiled")
    )
    assert plain == compiled
    sources = {
        str(path.relative_to(ROOT))
        for package in ("coordinator", "protocol")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert {name for name in plain if ".dist-info/" not in name} == sources, "see package-data in pyproject.toml"


def test_a_wheel_that_is_built_from_the_sdist_is_the_plain_wheel(wheels: dict[str, Path], tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", tmp_path, wheels["sdist"]], cwd=tmp_path, env=CALM, check=True, timeout=300)
    (built,) = tmp_path.glob("*.whl")
    assert built.name == wheels["plain"].name
    assert files(built) == files(wheels["plain"])


def test_only_the_compiled_wheel_has_machine_code(wheels: dict[str, Path]) -> None:
    assert not [name for name in files(wheels["plain"]) if name.endswith(".so")]
    modules = {name.partition(".")[0] for name in files(wheels["compiled"]) if name.endswith(".so")}
    assert {"protocol/record_batch", "coordinator/server/connection", "coordinator/core/group/join"} <= modules


@pytest.mark.timeout(600)
def test_the_compiled_wheel_serves_a_client_from_an_environment_of_its_own(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True, timeout=120)
    pip = [venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, wheels["compiled"]], cwd=tmp_path, env=CALM, check=True, timeout=300)
    command = venv / "bin" / "coordinator"
    told = subprocess.run([command, "--version"], cwd=tmp_path, env=CALM, capture_output=True, text=True, timeout=60)
    assert re.fullmatch(r"kafka-group-coordinator \S+ \(compiled, CPython 3\.\d+\)\n", told.stdout), told
    port_file = tmp_path / "port"
    with (tmp_path / "log").open("wb") as log:
        daemon = subprocess.Popen(
            [
                *(command, "serve", "--listen", "127.0.0.1:0", "--http", "off", "--topic", "orders:3"),
                *("--data-dir", tmp_path / "data", "--port-file", port_file),
            ],
            cwd=tmp_path,
            env=CALM,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        eventually(lambda: port_file.exists() and port_file.read_text() != "", "the daemon is up", within_s=60)
        address = f"127.0.0.1:{port_file.read_text().strip()}"
        with consumer_with_all(address, "orders", 3) as consumer:
            consumer.commit(offsets=[TopicPartition("orders", 1, 42)], asynchronous=False)
            (committed,) = consumer.committed([TopicPartition("orders", 1)], timeout=20)
            assert committed.offset == 42
    finally:
        daemon.send_signal(signal.SIGTERM)
        code = daemon.wait(timeout=60)
    log_text = (tmp_path / "log").read_text(encoding="utf-8")
    assert code == 0, log_text
    assert "build='compiled, CPython" in log_text
    assert "Traceback" not in log_text
