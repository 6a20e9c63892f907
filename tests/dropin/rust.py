"""Projects in Rust: crates that carry their integration tests; `cargo test` prints a line for each."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Final

from tests.dropin.edits import edit
from tests.dropin.model import ADDRESS, FAILED, PASSED, SKIPPED, Language, Project, Verdicts
from tests.dropin.processes import prepare, run_tests

PROJECTS: Final = (
    Project(
        "rdkafka",
        "0.39.0",
        tests=("--test", "test_*"),
        environment={"KAFKA_HOST": ADDRESS, "RUST_LOG": "off"},
        settings={"num.partitions": "3"},
        edits=(  # the only node is 1 here
            ("tests/test_admin.rs", "Broker(0)", "Broker(1)"),
            ("tests/test_admin.rs", "&[0]", "&[1]"),
            ("tests/test_metadata.rs", ".id(), 0)", ".id(), 1)"),
            ("tests/test_metadata.rs", ".leader(), 0)", ".leader(), 1)"),
            ("tests/test_metadata.rs", "&[0]", "&[1]"),
            ("tests/test_metadata.rs", "orig_broker_id != 0", "orig_broker_id != 1"),
        ),
        explained={
            "test_configs$": "There is no log.flush.interval.messages here: a log is flushed by time or at each write.",
            "test_base_producer_timeout$": "The records should time out after 100 ms; here the topic is made and has "
            "them before that.",
        },
    ),
)
_DEPENDENT: Final = """[package]
name = "dependent"
version = "0.0.0"
edition = "2021"

[dependencies]
{name} = "={version}"
"""
_RUNNING: Final = re.compile(r"\s+Running (?:unittests )?(\S+) \(")
_VERDICT: Final = re.compile(r"test (\S+)(?: - should panic)? \.\.\. (?:.*\b)?(ok|FAILED|ignored)\b")
_VERDICTS: Final = {"ok": PASSED, "FAILED": FAILED, "ignored": SKIPPED}


def _prepare(project: Project, folder: Path) -> None:
    dependent = folder / "dependent"
    (dependent / "src").mkdir(parents=True)
    (dependent / "src" / "lib.rs").touch()
    (dependent / "Cargo.toml").write_text(_DEPENDENT.format(name=project.name, version=project.version))
    metadata = json.loads(prepare(["cargo", "metadata", "--format-version=1"], dependent))
    [manifest] = [each["manifest_path"] for each in metadata["packages"] if each["name"] == project.name]
    shutil.copytree(Path(manifest).parent, folder / "source")
    (folder / "source" / "rust-toolchain.toml").unlink(missing_ok=True)  # the compiler that is here will do
    edit(folder / "source", project.edits)
    prepare(["cargo", "test", "--no-run", *project.tests], folder / "source")


def _run(project: Project, folder: Path, output: Path) -> Verdicts:
    command = ["cargo", "test", "--offline", "--no-fail-fast", *project.tests, "--", "--test-threads=4"]
    run_tests(command, folder / "source", output, project.environment, project.within_s)
    return _read(output.read_text(encoding="utf-8", errors="replace"))


def _read(printed: str) -> Verdicts:
    """Return the verdict of each test by the file of its program and its name."""
    found: Verdicts = {}
    file = ""
    for line in printed.splitlines():
        if running := _RUNNING.match(line):
            file = running[1]
        elif verdict := _VERDICT.match(line):
            found[f"{file}::{verdict[1]}"] = _VERDICTS[verdict[2]]
    return found


RUST: Final = Language("Rust", PROJECTS, _prepare, _run)
