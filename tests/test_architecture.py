"""The house rules about imports, as a test that explains itself when one is broken.

Imports point one way (docs/architecture.md draws them), the core touches no clock, socket, file or chance, and what
only the Spark job needs is imported by nobody else.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# The pure half of coordinator/offsets; the other is offsets_log.py, which writes.
OFFSETS_CORE = (
    "cold",
    "commit",
    "commit_again",
    "committed",
    "deletion",
    "directory",
    "expiration",
    "failure",
    "fetch",
    "freezing",
    "loaded",
    "partition",
    "raw_batch",
    "raw_records",
    "replay",
    "scan",
    "settled",
    "store",
)

# Cleaning in columns, from one segment to a Spark task: each may use those before it.
CLEANING: dict[str, tuple[str, ...]] = {}
for _name, *_others in (
    ("segment_scan", "batches", "kernel", "boundaries", "plain", "plan", "rules"),
    ("segment_rewrite", "batches", "kernel", "plain", "rules"),
    ("cleaner", "batches", "boundaries", "plain", "plan", "rules"),
    ("spark_tasks", "batches", "boundaries", "kernel", "plain", "plan", "rules"),
):
    CLEANING[_name] = (*CLEANING, *_others)

# What history means, apart from where it lies: each may use those before it.
HISTORY_CORE = ("times", "commits", "reset_csv", "rebalances", "resets", "questions")

PURE = (
    "protocol",
    "coordinator/effects.py",
    "coordinator/core.py",
    "coordinator/config.py",
    "coordinator/config_sources.py",
    "coordinator/config_values.py",
    "coordinator/dynamic_config.py",
    "coordinator/cluster.py",
    "coordinator/dispatch.py",
    "coordinator/distribution.py",
    "coordinator/loop_health.py",
    "coordinator/group",
    "coordinator/purgatory",
    "coordinator/topics",
    "coordinator/api",
    "coordinator/compaction/rules.py",
    "coordinator/compaction/eligibility.py",
    *(f"coordinator/history/{name}.py" for name in HISTORY_CORE),
    "coordinator/cli/reset_plan.py",
    *(f"coordinator/offsets/{name}.py" for name in OFFSETS_CORE),
)
# What daemon, child and job share: files in and out, nothing of a daemon. See docs/architecture.md.
COMPACTION_BASE = (
    "cleaner_checkpoint",
    "eligibility",
    "frames",
    "handover",
    "jobs",
    "kept",
    "memory_check",
    "plan",
    "planning",
    "request",
    "rules",
    "tail",
    "validate",
)

IMPURE = frozenset(
    {
        "asyncio",
        "os",
        "random",
        "secrets",
        "select",
        "selectors",
        "socket",
        "subprocess",
        "threading",
        "time",
        "uuid",
        "uvloop",
    }
)

# Each part may import what is named here, itself, and nothing else of ours. The longest matching prefix counts.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "protocol": frozenset(),
    "coordinator.effects": frozenset(),
    "coordinator.config": frozenset({"coordinator.config_values", "coordinator.environment"}),
    "coordinator.config_values": frozenset(),
    "coordinator.broker_loggers": frozenset({"protocol"}),
    "coordinator.dynamic_config": frozenset(
        {"coordinator.config", "coordinator.config_sources", "coordinator.config_values"}
    ),
    "coordinator.config_sources": frozenset(
        {
            "coordinator.config",
            "coordinator.config_values",
            "coordinator.environment",
            "coordinator.kafka_keys",
            "coordinator.properties",
        }
    ),
    "coordinator.about": frozenset({"protocol"}),
    "coordinator.cluster": frozenset(),
    "coordinator.compiling": frozenset(),
    "coordinator.purgatory.timing_wheel": frozenset({"coordinator.compiling"}),
    "coordinator.purgatory.purgatory": frozenset({"coordinator.compiling", "coordinator.purgatory.timing_wheel"}),
    "coordinator.distribution": frozenset(),
    "coordinator.loop_health": frozenset({"coordinator.distribution"}),
    "coordinator.collector": frozenset({"coordinator.distribution", "coordinator.loop_health"}),
    "coordinator.log": frozenset({"protocol", "coordinator.config", "coordinator.distribution"}),
    "coordinator.data_dir": frozenset({"protocol", "coordinator.config", "coordinator.log"}),
    "coordinator.group": frozenset({"protocol", "coordinator.effects", "coordinator.config"}),
    **{
        f"coordinator.offsets.{name}": frozenset(
            {
                "protocol",
                "coordinator.effects",
                "coordinator.config",
                "coordinator.group",
                "coordinator.purgatory",
                *(f"coordinator.offsets.{other}" for other in OFFSETS_CORE),
            }
        )
        for name in OFFSETS_CORE
    },
    "coordinator.offsets.committed": frozenset(),
    "coordinator.offsets.cold": frozenset({"coordinator.offsets.committed"}),
    "coordinator.offsets.raw_batch": frozenset({"protocol"}),
    "coordinator.offsets.raw_records": frozenset({"protocol", "coordinator.offsets.committed"}),
    "coordinator.offsets.freezing": frozenset(
        {"protocol", "coordinator.offsets.cold", "coordinator.offsets.committed", "coordinator.offsets.raw_records"}
    ),
    "coordinator.offsets.store": frozenset({"protocol", "coordinator.offsets.cold", "coordinator.offsets.committed"}),
    "coordinator.offsets.offsets_log": frozenset(
        {"protocol", "coordinator.config", "coordinator.log", "coordinator.effects"}
    ),
    **{
        f"coordinator.compaction.{name}": frozenset(
            {
                "protocol",
                "coordinator.log",
                "coordinator.offsets.raw_records",
                "coordinator.offsets.replay",
                "coordinator.offsets.settled",
                *(f"coordinator.compaction.{other}" for other in COMPACTION_BASE),
            }
        )
        for name in COMPACTION_BASE
    },
    "coordinator.purgatory": frozenset(
        {"protocol", "coordinator.effects", "coordinator.config", "coordinator.group", "coordinator.topics.effects"}
    ),
    "coordinator.topics": frozenset(
        {
            "protocol",
            "coordinator.effects",
            "coordinator.config",
            "coordinator.broker_loggers",
            "coordinator.config_values",
            "coordinator.dynamic_config",
            "coordinator.purgatory",
        }
    ),
    "coordinator.compaction.rules": frozenset({"protocol"}),
    "coordinator.compaction.eligibility": frozenset(),
    "coordinator.compaction.plan": frozenset(),
    "coordinator.compaction.plain": frozenset({"protocol", "coordinator.compaction"}),
    "coordinator.compaction.batches": frozenset({"protocol"}),
    "coordinator.compaction.kernel": frozenset({"protocol", "coordinator.compaction.batches"}),
    "coordinator.compaction.fast_replay": frozenset(
        {
            "protocol",
            "coordinator.compaction.batches",
            "coordinator.compaction.kernel",
            "coordinator.compaction.plan",
            "coordinator.offsets.replay",
        }
    ),
    "coordinator.compaction.fast_check": frozenset(
        {
            "protocol",
            "coordinator.log",
            *(f"coordinator.compaction.{each}" for each in ("batches", "kept", "kernel", "plan", "segment_scan")),
        }
    ),
    "coordinator.compaction.offline": frozenset(
        {"coordinator.log", *(f"coordinator.compaction.{other}" for other in COMPACTION_BASE)}
    ),
    "coordinator.compaction.boundaries": frozenset({"protocol", "coordinator.compaction.rules"}),
    **{
        f"coordinator.compaction.{name}": frozenset({"protocol", *(f"coordinator.compaction.{each}" for each in below)})
        for name, below in CLEANING.items()
    },
    "coordinator.compaction.spark_session": frozenset(),
    "coordinator.compaction.spark_compact": frozenset(
        {"coordinator.log", *(f"coordinator.compaction.{each}" for each in (*CLEANING, "boundaries", "jobs"))}
        | {f"coordinator.compaction.{each}" for each in ("plain", "plan", "rules")}
    ),
    "coordinator.compaction.group_columns": frozenset({"protocol"}),
    "coordinator.compaction.columns": frozenset(
        {
            "protocol",
            "coordinator.compaction.batches",
            "coordinator.compaction.kernel",
            "coordinator.compaction.group_columns",
        }
    ),
    "coordinator.compaction.log_reader": frozenset(
        {"protocol", "coordinator.compaction.batches", "coordinator.compaction.kernel"}
    ),
    "coordinator.compaction.spark_source": frozenset(
        {"coordinator.compaction.log_reader", "coordinator.compaction.columns"}
    ),
    "coordinator.history": frozenset(
        {
            "coordinator.log",
            "coordinator.offsets.partition",
            *(
                f"coordinator.compaction.{name}"
                for name in ("batches", "cleaner_checkpoint", "columns", "group_columns", "kernel", "log_reader")
            ),
        }
    ),
    "coordinator.history.marks": frozenset({"coordinator.log"}),  # the planner reads it
    **{
        f"coordinator.history.{name}": frozenset(f"coordinator.history.{each}" for each in HISTORY_CORE[:number])
        for number, name in enumerate(HISTORY_CORE)
    },
    "coordinator.history.plots": frozenset(f"coordinator.history.{name}" for name in HISTORY_CORE),
    "coordinator.compaction.spark_history": frozenset(
        {
            "coordinator.history",
            "coordinator.log",
            "coordinator.compaction.batches",
            "coordinator.compaction.log_reader",
        }
    ),
    "coordinator.compaction.spark_fleet": frozenset({"coordinator.history"}),
    "coordinator.core": frozenset(
        {
            "protocol",
            "coordinator.effects",
            "coordinator.config",
            "coordinator.group",
            "coordinator.purgatory",
            *(f"coordinator.offsets.{name}" for name in OFFSETS_CORE),
        }
    ),
    "coordinator.api": frozenset(
        {
            "protocol",
            "coordinator.effects",
            "coordinator.config",
            "coordinator.cluster",
            "coordinator.broker_loggers",
            "coordinator.core",
            "coordinator.group",
            "coordinator.topics",
        }
    ),
}


def module_name(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules_under(*places: str) -> list[Path]:
    found: list[Path] = []
    for place in places:
        path = ROOT / place
        found += [path] if path.is_file() else sorted(path.rglob("*.py"))
    assert found, f"nothing under {places}: the layout has changed and this test must follow"
    return found


@cache
def imported_modules(path: Path) -> set[str]:
    """Dotted names imported anywhere in the file, but for those under `if TYPE_CHECKING`."""
    names: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for child in node.orelse:
                visit(child)
            return
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(parse(path))
    return names


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_under(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def ours(path: Path) -> set[str]:
    """The modules of this project that a file imports."""
    found = set()
    for name in imported_modules(path):
        if not (is_under(name, "coordinator") or is_under(name, "protocol")):
            continue
        place = ROOT / Path(*name.split("."))
        if place.with_suffix(".py").exists() or (place / "__init__.py").exists():
            found.add(name)
    return found


def rule_for(module: str) -> str | None:
    matching = [prefix for prefix in MAY_IMPORT if is_under(module, prefix)]
    return max(matching, key=len, default=None)


@pytest.mark.parametrize("path", modules_under(*PURE), ids=lambda path: module_name(path))
def test_the_core_touches_no_clock_no_socket_and_no_chance(path: Path) -> None:
    roots = {name.split(".")[0] for name in imported_modules(path)}
    allowed = {"os"} if module_name(path) == "protocol.generate" else set()  # the generator writes files, at build time
    assert roots & IMPURE <= allowed, "hand it in as an argument instead"


@pytest.mark.parametrize("path", modules_under("protocol", "coordinator"), ids=lambda path: module_name(path))
def test_imports_point_one_way(path: Path) -> None:
    module = module_name(path)
    prefix = rule_for(module)
    if prefix is None:
        return  # the edge: server, runtime, connection, cli, http may use everything below them
    allowed = MAY_IMPORT[prefix]
    for name in ours(path):
        package_only = name in {
            "coordinator",
            "coordinator.compaction",
            "coordinator.offsets",
            "coordinator.purgatory",
            "coordinator.topics",
        }
        if is_under(name, prefix) or package_only:
            continue
        assert any(is_under(name, place) for place in allowed), (
            f"{module} imports {name}, but {prefix} may import only {sorted(allowed) or 'nothing of ours'}: "
            "move the shared part down, or hand it in"
        )


@pytest.mark.parametrize("path", modules_under("protocol", "coordinator"), ids=lambda path: module_name(path))
def test_only_the_spark_job_imports_pyspark(path: Path) -> None:
    if path.name.startswith("spark_"):
        return
    assert not any(is_under(name, "pyspark") for name in imported_modules(path)), "the server must start without Spark"


HEAVY = frozenset({"matplotlib", "numpy", "pandas", "pyarrow", "pyspark", "rich"})


@pytest.mark.parametrize("start", ["coordinator.server", "coordinator.compaction.child"])
def test_the_daemon_and_its_children_need_nothing_of_the_spark_extra(start: str) -> None:
    """Neither its memory nor its start-up is to grow by them, and they may not be installed. Lazy imports count too."""
    came_from: dict[str, str] = {start: ""}
    waiting = [start]
    while waiting:
        module = waiting.pop()
        place = ROOT / Path(*module.split("."))
        path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        heavy = {name.split(".")[0] for name in imported_modules(path)} & HEAVY
        way = [module]
        while came_from[way[-1]]:
            way.append(came_from[way[-1]])
        assert not heavy, f"{start} reaches {sorted(heavy)}: {' <- '.join(way)}"
        for name in ours(path) - came_from.keys():
            came_from[name] = module
            waiting.append(name)


@pytest.mark.parametrize("path", modules_under("protocol", "coordinator"), ids=lambda path: module_name(path))
def test_every_module_opens_with_its_idea(path: Path) -> None:
    if path.parent.name == "generated":
        return
    docstring = ast.get_docstring(parse(path))
    assert docstring, "a reader should learn in the first lines what this file is for"
