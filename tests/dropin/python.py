"""Projects in Python: sdists that carry their tests, each in an environment of its own, run by pytest."""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
from pathlib import Path
from typing import Final

from tests.dropin.edits import add, edit
from tests.dropin.junit import verdicts_of
from tests.dropin.model import ADDRESS, Language, Project, Verdicts
from tests.dropin.processes import prepare, run_tests

# What `tests.backends` of sentry-arroyo imports, and its package lacks.
ASSERTIONS: Final = """
import contextlib

@contextlib.contextmanager
def assert_changes(observe, before, after):
    assert observe() == before
    yield
    assert observe() == after

@contextlib.contextmanager
def assert_does_not_change(observe, value):
    assert observe() == value
    yield
    assert observe() == value
"""
# What the tests of kafka-python import, and its package lacks: nothing is started, because KAFKA_URI is set.
SERVICES: Final = """
class ExternalService:
    def __init__(self, host, port):
        pass

class SpawnedService:
    pass
"""
PROJECTS: Final = (
    Project(
        "kafka-python",
        "3.0.12",
        tests=(
            "test/integration",
            "--timeout=60",
            "--timeout-method=signal",
            "--deselect=test/integration/test_sasl_integration.py",
            "--deselect=test/integration/test_ssl_integration.py",
        ),
        packages=(
            "pytest==8.4.2",
            "pytest-mock==3.15.1",
            "pytest-timeout==2.4.0",
            "py==1.11.0",
            "lz4==4.4.5",
            "python-snappy==0.7.3",
            "zstandard==0.25.0",
        ),
        environment={"KAFKA_VERSION": "4.3.0", "KAFKA_URI": f"kafka://{ADDRESS}", "KAFKA_ROOT": "."},
        settings={
            "num.partitions": "4",
            "advertised.listeners": f"PLAINTEXT://{ADDRESS}",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
        },
        edits=(("test/integration/test_admin_integration.py", "[[0], [0]]", "[[1], [1]]"),),  # broker 1
        files={
            "test/__init__.py": "",
            "test/service.py": SERVICES,
        },
        explained={
            "test_describe_metadata_quorum": (
                "DescribeQuorum is not served, because no quorum of controllers exists here: topics are in files, or "
                "in a shared store, and not in a replicated log of metadata."
            ),
        },
    ),
    Project(
        "kombu",
        "5.7.0",
        tests=("t/integration/test_kafka.py",),
        packages=("confluent-kafka==2.16.1", "pytest==8.4.2", "pytest-rerunfailures==16.7"),
    ),
    Project(
        "sentry-arroyo",
        "2.48.0",
        tests=("tests/backends/test_kafka.py", "tests/test_kip848_e2e.py"),
        packages=("confluent-kafka==2.16.1", "pytest==8.4.2"),
        files={"tests/assertions.py": ASSERTIONS},
    ),
    Project(
        "faust-streaming",
        "0.15.3",
        tests=("tests/integration/broker", "--override-ini=addopts="),
        packages=(
            "confluent-kafka==2.16.1",
            "pytest==7.4.4",
            "pytest-asyncio==0.23.8",
            "freezegun==1.5.5",
            "intervaltree==3.2.1",
        ),
        environment={"FAUST_TEST_BROKER": f"kafka://{ADDRESS}"},
    ),
    Project(
        "taskiq-aio-kafka",
        "1.0.0",
        tests=("tests",),
        packages=("aiokafka==0.14.0", "kafka-python==2.3.0", "pytest==9.0.1", "anyio==4.16.0"),
        environment={"TEST_KAFKA_URL": ADDRESS},
    ),
    Project(
        "bluesky-kafka",
        "0.10.0",
        tests=("bluesky_kafka/tests", "--ignore=bluesky_kafka/tests/test_mongo_consumer.py"),
        packages=("confluent-kafka==2.16.1", "pytest==8.4.2", "ophyd==1.11.2", "intake==2.0.9", "bluesky==1.15.1"),
    ),
    Project(
        "adc-streaming",
        "2.7.1",
        tests=("tests/test_kafka_integration.py",),
        packages=("confluent-kafka==2.16.1", "pytest==8.4.2", "pytest-integration==0.2.3"),
        edits=(
            ("tests/test_kafka_integration.py", "have_docker = False", "have_docker = True"),
            (
                "tests/test_kafka_integration.py",
                "cls.kafka = KafkaDockerConnection()",
                f'cls.kafka = unittest.mock.Mock(address="{ADDRESS}", auth=None)',
            ),
            ("tests/test_kafka_integration.py", "import unittest\n", "import unittest.mock\n"),
        ),
    ),
)


def _prepare(project: Project, folder: Path) -> None:
    pip: list[str | Path] = [folder / "venv" / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "-q"]
    prepare([sys.executable, "-m", "venv", "venv"], folder)
    pinned = f"{project.name}=={project.version}"
    prepare([*pip, "download", "--no-deps", "--no-binary", project.name, pinned], folder)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    shutil.move(source, folder / "source")
    edit(folder / "source", project.edits)
    add(folder / "source", project.files)
    prepare([*pip, "install", pinned, "pytest", *project.packages], folder)


def _run(project: Project, folder: Path, output: Path) -> Verdicts:
    report = output.with_suffix(".xml")
    report.unlink(missing_ok=True)
    programs = folder / "venv" / "bin"
    command: list[str | Path] = [programs / "python", "-m", "pytest", f"--junitxml={report}", *project.tests]
    environment = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", **project.environment}
    run_tests(command, folder / "source", output, environment, project.within_s)
    return verdicts_of(report)


PYTHON: Final = Language("Python", PROJECTS, _prepare, _run)
