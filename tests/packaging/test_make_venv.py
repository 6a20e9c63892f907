"""The messages of `make run` on a machine without a suitable Python name what to install."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".ci" / "make-venv"

OLD = 'exec {python} -c "import sys; sys.exit(1)"\n'
# A Python that is new enough, on which `import ensurepip` fails: Debian without python3-venv.
LAME = """\
case "$2" in
  *ensurepip*) exit 1 ;;
  *) exec {python} "$@" ;;
esac
"""
# All targets but the environment itself, which would take seconds to make.
GOOD = """\
case "$1 $2" in
  "-m venv") shift 3; mkdir -p "$1"; echo "made by $0" ;;
  *) exec {python} "$@" ;;
esac
"""
BROKEN = """\
case "$1 $2" in
  "-m venv") mkdir -p "$4/bin"; exit 1 ;;
  *) exec {python} "$@" ;;
esac
"""


class Machine:
    """A PATH with only the Pythons that a test puts there."""

    def __init__(self, directory: Path) -> None:
        self.bin = directory / "bin"
        self.bin.mkdir()
        self.venv = directory / "venv"
        for tool in ("sh", "mkdir", "rm"):
            (self.bin / tool).symlink_to(f"/bin/{tool}")

    def has(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text("#!/bin/sh\n" + script.format(python=sys.executable), encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def make(self, *python: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", str(SCRIPT), str(self.venv), *python],
            env={"PATH": str(self.bin)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_python_the_message_says_to_install_it(machine: Machine) -> None:
    run = machine.make()
    assert run.returncode == 2
    assert "Python 3.11 or later is needed" in run.stderr
    assert "apt-get install python3 python3-venv" in run.stderr


def test_a_python_that_is_too_old_does_not_count(machine: Machine) -> None:
    machine.has("python3", OLD)
    run = machine.make()
    assert run.returncode == 2
    assert "Python 3.11 or later is needed, and python3 is older or not there" in run.stderr


def test_a_missing_venv_module_is_named_with_the_package_to_install(machine: Machine) -> None:
    machine.has("python3", LAME)
    run = machine.make()
    assert run.returncode == 2
    assert "python3 cannot make virtual environments" in run.stderr
    assert f"apt-get install python3-venv, or python3.{sys.version_info.minor}-venv" in run.stderr


def test_a_python_that_can_make_environments_is_preferred_to_a_newer_one_that_cannot(machine: Machine) -> None:
    machine.has("python3.13", LAME)
    machine.has("python3.12", OLD)
    machine.has("python3", GOOD)
    run = machine.make()
    assert (run.returncode, run.stderr) == (0, "")
    assert f"made by {machine.bin}/python3\n" in run.stdout
    assert machine.venv.is_dir()


def test_a_python_can_be_named(machine: Machine) -> None:
    machine.has("python3", OLD)
    machine.has("mine", GOOD)
    assert machine.make("mine").returncode == 0
    machine.has("mine", OLD)
    run = machine.make("mine")
    assert "and mine is older or not there" in run.stderr


def test_an_incomplete_environment_is_removed(machine: Machine) -> None:
    machine.has("python3", BROKEN)
    run = machine.make()
    assert run.returncode == 2
    assert not machine.venv.exists()
