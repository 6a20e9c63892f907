"""Packaging files and documents name commands, settings, ports and paths that exist."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from coordinator.cli.main import COMMANDS
from coordinator.config.config import Config, keys
from coordinator.config.values import parse_nodes
from tests.support.machine_tools import require_tool

ROOT = Path(__file__).resolve().parents[2]
HA_SET = "docs/ops/statefulset-ha.yaml"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", read("Makefile"), flags=re.MULTILINE))


def documents() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_licence_is_the_one_that_is_declared() -> None:
    licence = read("LICENSE")
    assert "Apache License" in licence
    assert "Version 2.0, January 2004" in licence
    assert "END OF TERMS AND CONDITIONS" in licence
    assert tomllib.loads(read("pyproject.toml"))["project"]["license"] == {"text": "Apache-2.0"}


def test_the_changelog_speaks_of_the_version_that_is_built() -> None:
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert re.search(rf"^## {re.escape(version)}\b", read("CHANGELOG.md"), flags=re.MULTILINE)


@pytest.mark.parametrize("name", ["Dockerfile", "docker-compose.yml", "docs/ops/statefulset.yaml", HA_SET])
def test_every_variable_in_image_compose_file_and_stateful_set_is_a_setting(name: str) -> None:
    variables = set(re.findall(r"\bCOORDINATOR_[A-Z_]+", read(name)))
    assert variables
    assert variables <= {key.environment for key in keys().values()}


def test_the_stateful_set_has_a_replica_for_each_node_of_the_cluster() -> None:
    manifest = read("docs/ops/statefulset.yaml")
    (replicas,) = re.findall(r"^  replicas: (\d+)$", manifest, flags=re.MULTILINE)
    (nodes,) = re.findall(r'value: "(1@.*)"', manifest)
    expected = {number + 1: f"coordinator-{number}.coordinator:9092" for number in range(int(replicas))}
    assert {number: str(address) for number, address in parse_nodes(nodes).items()} == expected
    page = read("docs/cluster.md")
    for heading in re.findall(r'docs/cluster\.md, "(.+?)"', manifest):
        assert f"## {heading}\n" in page


def test_image_and_compose_file_publish_the_default_ports() -> None:
    config = Config()
    assert config.http_address is not None
    for port in (config.listen_address.port, config.http_address.port):
        assert re.search(rf"^EXPOSE .*\b{port}\b", read("Dockerfile"), flags=re.MULTILINE)
        assert f'"127.0.0.1:{port}:{port}"' in read("docker-compose.yml")


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_commands_in_documents_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, flags=re.DOTALL))
    for word in re.findall(r"\bmake ([a-z-]+)", code):
        assert word in targets(), f"make {word}"
    for word in re.findall(r"(?<![-/\w.])coordinator ([a-z]+)", code):
        assert word in COMMANDS, f"coordinator {word}"
    for name in set(re.findall(r"--override ([a-z.]+)=", code)) - {"key"}:
        assert name in keys(), name


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_links_between_documents_have_targets(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_paths_that_the_documents_name_exist() -> None:
    """Paths in a `build/` folder are skipped, because a clean clone does not have them."""
    for path in documents():
        for named in re.findall(r"`((?:coordinator|protocol|tests|docs|bench)/[\w./-]*)`", path.read_text("utf-8")):
            assert "build" in Path(named).parts or (ROOT / named).exists(), f"{path.name} names {named}"


@pytest.mark.integration
def test_make_lists_its_targets() -> None:
    require_tool("make")
    run = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    listed = set(re.findall(r"^  make ([a-z-]+) ", run.stdout, flags=re.MULTILINE))
    assert listed == targets()
