"""Budgets of the base install: bytes, distributions, and the modules that `coordinator serve` imports at its start.

Bytes are counted without .pyc files, whose size depends on the version of Python. Modules are counted in the
environment of these tests, which has the heavy packages, so that an import of one of them is seen.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from coordinator.cli.main import COMMANDS
from tests.support.built import CALM, require_wheels
from tests.support.daemon import Daemon
from tests.test_architecture import EXTRAS

pytestmark = pytest.mark.integration


class Budget(NamedTuple):
    """A figure: its value when the budget was last set, and the most that it may be."""

    measured: int
    most: int
    remedy: str


SMALLER: Final = "leave data out of package-data in pyproject.toml, or generate less code"
LATE: Final = "import it where it is used, in the function, with the reason"
EXTRA: Final = "make it an extra, import it late and say `coordinator.version.install`, or use the standard library"
BUDGETS: Final = {
    "bytes of coordinator and protocol": Budget(6_950_000, 8_000_000, SMALLER),
    "bytes of all packages": Budget(41_320_000, 47_000_000, EXTRA),
    "distributions": Budget(19, 21, EXTRA),
    "modules of coordinator and protocol at the start": Budget(502, 550, LATE),
    "modules of the standard library at the start": Budget(201, 230, LATE),
    "modules of other packages at the start": Budget(27, 32, LATE),
}
AT_THE_START: Final = {"cramjam", "google_crc32c", "msgspec", "re2", "typing_extensions", "uvloop"}
HEAVY: Final = {"duckdb", "matplotlib", "numpy", "pandas", "pyarrow", "pyspark"}
MEASURED_IN_IT: Final = """
import json, sysconfig
from importlib.metadata import distributions
from pathlib import Path
site = Path(sysconfig.get_path("purelib"))
files = {str(path.relative_to(site)): path.stat().st_size for path in site.rglob("*") if path.is_file()}
print(json.dumps([files, sorted(each.name for each in distributions())]))
"""


def check(what: str, found: int, parts: Counter[str]) -> None:
    """Fail with the largest parts and a remedy if a figure is above its budget."""
    measured, most, remedy = BUDGETS[what]
    largest = ", ".join(f"{name} {size:,}" for name, size in parts.most_common(12))
    assert found <= most, (
        f"{what}: {found:,}, and the budget is {most:,}; it was {measured:,} when the budget was set. The largest "
        f"parts: {largest}. If one of them is new, {remedy}. If the growth is worth it, raise the budget in this file "
        "and say why in the commit."
    )


@pytest.mark.timeout(900)  # pip takes 7 s of CPU; the rest is room for a busy machine
def test_an_installation_without_extras_stays_small(tmp_path: Path) -> None:
    wheel = require_wheels()["plain"]
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=120)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--quiet"]
    subprocess.run([*pip, "--no-compile", wheel], cwd=tmp_path, env=CALM, check=True, timeout=600)
    told = subprocess.run([python, "-c", MEASURED_IN_IT], env=CALM, check=True, capture_output=True, timeout=60).stdout
    files, distributions = json.loads(told)
    sizes: Counter[str] = Counter()
    for name, size in files.items():
        sizes[name.partition("/")[0]] += size
    own = Counter({name: sizes[name] for name in ("coordinator", "protocol")})
    check("bytes of coordinator and protocol", own.total(), own)
    check("bytes of all packages", sizes.total(), sizes)
    check("distributions", len(distributions), Counter(distributions))


def test_the_daemon_imports_little_at_its_start(tmp_path: Path) -> None:
    missing = {name for name in HEAVY if importlib.util.find_spec(name) is None}
    assert not missing, f"this proves something only where they are installed: {sorted(missing)}; run: make setup"
    with ImportingDaemon(tmp_path, topics=["orders:3"], http="127.0.0.1:0") as daemon:
        modules = daemon.imported()
    tops = Counter(name.partition(".")[0] for name in modules)
    own = Counter({name: tops.pop(name) for name in ("coordinator", "protocol")})
    standard = Counter({name: tops.pop(name) for name in [*tops] if name in sys.stdlib_module_names})
    assert not HEAVY & tops.keys(), f"the daemon imports {sorted(HEAVY & tops.keys())}; {LATE}"
    others = Counter({name: count for name, count in tops.items() if name in AT_THE_START or _is_a_package(name)})
    new = others.keys() - AT_THE_START
    assert not new, f"the daemon imports {sorted(new)} at its start; {LATE}, or add it to AT_THE_START and say why"
    check("modules of coordinator and protocol at the start", own.total(), _by_two_words(modules))
    check("modules of the standard library at the start", standard.total(), standard)
    check("modules of other packages at the start", others.total(), others)


class ImportingDaemon(Daemon):
    """A daemon whose log has a line for each module that it imports."""

    def command(self) -> list[str]:
        python, *arguments = super().command()
        return [python, "-X", "importtime", *arguments]

    def imported(self) -> set[str]:
        lines = (line for line in self.log_lines() if line.startswith("import time:"))
        return {line.rpartition("|")[2].strip() for line in lines}


def _is_a_package(name: str) -> bool:
    """Return True for packages that pip installed; start-up hooks of an environment are none."""
    if name.startswith(("_", "imported package")) or name in ("sitecustomize", "usercustomize"):
        return False
    spec = importlib.util.find_spec(name)
    return spec is not None and "site-packages" in str(spec.origin or spec.submodule_search_locations)


def _by_two_words(modules: set[str]) -> Counter[str]:
    return Counter(".".join(name.split(".")[:2]) for name in modules if name.startswith(("coordinator.", "protocol.")))


def test_every_command_shows_its_help_without_extras() -> None:
    """A command that needs one says so in one sentence when it runs, which it cannot if its module does not load."""
    script = (
        f"import sys; sys.modules.update(dict.fromkeys({sorted(EXTRAS)!r}))\n"
        "from coordinator.cli.main import parser_of, verbs_at\n"
        "def show(*path):\n"
        "    parser_of(*path).format_help()\n"
        "    for verb in verbs_at(path) or (): show(*path, verb)\n"
        f"for command in {list(COMMANDS)!r}: show(command)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
