"""Brings releases of consumer libraries of Go, and builds the applications of `programs/` with them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

PROGRAMS: Final = Path(__file__).parent / "programs"
SARAMA: Final = "github.com/IBM/sarama"
OLD_SARAMA: Final = "github.com/Shopify/sarama"  # its name up to 1.38
LAST_OLD_SARAMA: Final = (1, 38)
LANGUAGE: Final = "1.22"


def _sarama(version: str, build_directory: Path) -> tuple[str, ...]:
    major, minor, *_ = (int(part) for part in version.removeprefix("v").split("."))
    module = OLD_SARAMA if (major, minor) <= LAST_OLD_SARAMA else SARAMA
    return _built("sarama", "sarama", module, version, build_directory)


def _kafka_go(version: str, build_directory: Path) -> tuple[str, ...]:
    return _built("kafka-go", "kafkago", "github.com/segmentio/kafka-go", version, build_directory)


def _franz_go(version: str, build_directory: Path) -> tuple[str, ...]:
    return _built("franz-go", "franz", "github.com/twmb/franz-go", version, build_directory)


def _built(client: str, program: str, module: str, version: str, build_directory: Path) -> tuple[str, ...]:
    """Build a program with a release, unless that was done before from the same source. Returns its command."""
    directory = build_directory / f"{client}-{version}"
    binary = directory / "app"
    source = (PROGRAMS / program / "main.go").read_text(encoding="utf-8").replace(SARAMA, module)
    copy = directory / "main.go"
    if not binary.exists() or copy.read_text(encoding="utf-8") != source:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        copy.write_text(source, encoding="utf-8")
        (directory / "go.mod").write_text(
            f"module app\n\ngo {LANGUAGE}\n\nrequire {module} {version}\n", encoding="utf-8"
        )
        made = subprocess.run(
            ["go", "build", "-mod=mod", "-o", binary.name, "."], cwd=directory, capture_output=True, text=True
        )
        if made.returncode:
            raise RuntimeError(f"{client} {version} cannot be built:\n{made.stderr}")
    return (str(binary.resolve()),)


PREPARE: Final[dict[str, Callable[[str, Path], tuple[str, ...]]]] = {
    "sarama": _sarama,
    "kafka-go": _kafka_go,
    "franz-go": _franz_go,
}

NEWEST: Final[dict[str, str]] = {"sarama": "v1.61.1", "kafka-go": "v0.4.51", "franz-go": "v1.22.2"}
