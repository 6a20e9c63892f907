"""The architecture as rules over imports and names. docs/architecture.md explains the layers.

Type-only and lazy imports count as imports. An exception is listed with its reason; the lists may only shrink.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Lowest first. A file may import its own layer and the layers above it in this table.
LAYERS = (
    "protocol",
    "coordinator.version",
    "coordinator.config",
    "coordinator.processes",
    "coordinator.security",
    "coordinator.core.purgatory",
    "coordinator.core",
    "coordinator.explain",
    "coordinator.metrics",
    "coordinator.console",
    "coordinator.http",
    "coordinator.columnar",
    "coordinator.storage",
    "coordinator.telemetry",
    "coordinator.membership",
    "coordinator.engine",
    "coordinator.spark",
    "coordinator.compaction",
    "coordinator.selfcheck",
    "coordinator.history",
    "coordinator.report",
    "coordinator.whatif",
    "coordinator.observe",
    "coordinator.server",
    "coordinator.workers",
    "coordinator.testing",
    "coordinator.torture",
    "coordinator.rehearse",
    "coordinator.simulation",
    "coordinator.cli",
    "coordinator.__main__",
)

# Places that touch no clock, file, socket, thread or source of randomness.
PURE = (
    "protocol",
    "coordinator.config",
    "coordinator.core",
    "coordinator.explain",
    "coordinator.server.api",
    "coordinator.server.dispatch",
    "coordinator.server.loop_health",
    "coordinator.metrics.group_figures",
    "coordinator.console.open_transactions",
    *(f"coordinator.console.{name}" for name in ("facts", "lag", "listing", "model", "names", "owners", "ribbon")),
    "coordinator.metrics.histogram",
    "coordinator.security.acl",
    *(f"coordinator.security.{name}" for name in ("authenticator", "client_settings", "credentials", "jaas")),
    *(f"coordinator.security.{name}" for name in ("mechanisms", "oauthbearer", "plain", "principal")),
    *(f"coordinator.security.{name}" for name in ("principal_mapping", "sasl_client", "sasl_server", "scram")),
    "coordinator.security.scram_changes",
    "coordinator.security.quotas",
    "coordinator.membership.lease",
    *(f"coordinator.telemetry.{name}" for name in ("figures", "instances", "metrics_data", "telemetry")),
    "coordinator.compaction.rules",
    "coordinator.compaction.eligibility",
    "coordinator.cli.groups.member_ids",
    "coordinator.cli.reset.plan",
    "coordinator.cli.reset.targets",
    *(f"coordinator.history.{name}" for name in ("commits", "questions", "rebalances", "reset_csv", "resets", "times")),
    *(f"coordinator.rehearse.{name}" for name in ("callbacks", "findings", "output", "phases", "record", "repeats")),
    *(f"coordinator.observe.{name}" for name in ("changes", "classic", "consumer_groups", "consumer_members")),
    *(f"coordinator.observe.{name}" for name in ("departures", "described", "generation_changes", "generations")),
    *(f"coordinator.observe.{name}" for name in ("limits", "moves", "offsets", "state", "topic_names", "unknown")),
)
IMPURE = frozenset({"asyncio", "os", "random", "secrets", "select", "selectors", "socket"})
IMPURE |= {"subprocess", "threading", "time", "uuid", "uvloop"}
IMPURE_ALLOWED = {"protocol.generate": {"os"}}  # it writes the generated codecs, at build time

EXTRAS = frozenset(["aiokafka", "cryptography", "duckdb", "jwt", "matplotlib", "numpy", "pandas", "pyarrow", "pyspark"])
EXTRAS |= {"rich"}

# Modules that import an extra late, and say what to install.
OPTIONAL = {
    "coordinator.security.jwks": "the keys of tokens",
    "coordinator.security.key_store": "key stores of the type PKCS12",
    "coordinator.security.token_validator": "tokens",
}

# Modules that name pyspark and are not called spark_*.
PYSPARK = {
    "coordinator.cli.compact.rounds": "the type of a session that it opens by `coordinator.spark`",
    "coordinator.cli.compact.screen": "the type of a session that it asks how far it is",
    "coordinator.cli.history.all_groups": "the type of a session that it opens by `coordinator.spark`",
}

# Pairs of packages that import each other.
MUTUAL = {
    ("coordinator.core", "coordinator.core.group"): "the core's files use its groups, which use `core.context`",
    (
        "coordinator.core",
        "coordinator.core.consumer_group",
    ): "the core's files use its groups, which use `core.context`",
    (
        "coordinator.core.consumer_group",
        "coordinator.core.group",
    ): "lists have both kinds of groups, and one becomes the other",
    ("coordinator.core", "coordinator.core.offsets"): "the core's files use the store, which uses `core.context`",
}

# Names of files and topics, each with the one file that spells it.
ON_DISK = {
    "__consumer_offsets": "coordinator.core.topics.names",
    "__group_events": "coordinator.core.topics.names",
    "cleaner-offset-checkpoint": "coordinator.storage.file_names",
    "recovery-checkpoint": "coordinator.storage.log.checkpoint",
    "meta.properties": "coordinator.storage.file_names",
    "live-state": "coordinator.storage.file_names",
    "topics.json": "coordinator.storage.file_names",
    "users.json": "coordinator.storage.file_names",
    "acls.json": "coordinator.storage.file_names",
    "quotas.json": "coordinator.storage.file_names",
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {
    module_name(path): path
    for path in sorted([*(ROOT / "protocol").rglob("*.py"), *(ROOT / "coordinator").rglob("*.py")])
}
every_module = pytest.mark.parametrize("module", FILES)


@cache
def parse(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


@cache
def imports(module: str) -> frozenset[str]:
    """The modules that a file imports anywhere: ours by their full names, others by their first word."""
    found: set[str] = set()
    for node in ast.walk(parse(module)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: write imports in full"
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found.update(name if name in FILES else str(node.module) for name in names)
    return frozenset(name if name in FILES else name.split(".")[0] for name in found)


def ours(module: str) -> frozenset[str]:
    return imports(module) & FILES.keys()


def is_under(module: str, place: str) -> bool:
    return module == place or module.startswith(place + ".")


def layer(module: str) -> int:
    """The layer with the longest matching name."""
    return max((len(name), number) for number, name in enumerate(LAYERS) if is_under(module, name))[1]


def package(module: str) -> str:
    return module if FILES[module].name == "__init__.py" else module.rpartition(".")[0]


@every_module
def test_every_file_belongs_to_a_layer_and_imports_no_higher_one(module: str) -> None:
    if module == "coordinator":
        return
    assert any(is_under(module, name) for name in LAYERS), "no file lies beside the layers"
    higher = sorted(name for name in ours(module) - {"coordinator"} if layer(name) > layer(module))
    assert not higher, f"{module} imports {higher}: move the shared part down, or hand it in"


@pytest.mark.parametrize("module", [name for name in FILES if any(is_under(name, place) for place in PURE)])
def test_the_core_touches_no_clock_no_socket_and_no_chance(module: str) -> None:
    found = imports(module) & IMPURE - IMPURE_ALLOWED.get(module, set())
    assert not found, f"{module} imports {sorted(found)}: hand it in as an argument instead"


@every_module
def test_only_spark_modules_import_pyspark(module: str) -> None:
    allowed = (
        is_under(module, "coordinator.spark") or module.rpartition(".")[2].startswith("spark_") or module in PYSPARK
    )
    assert allowed or "pyspark" not in imports(module), "the daemon and the other commands start without Spark"


@every_module
def test_only_the_engine_on_postgresql_imports_its_driver(module: str) -> None:
    assert is_under(module, "coordinator.engine.postgres") or "asyncpg" not in imports(module), (
        "a daemon with files, and every command, works without it"
    )


@pytest.mark.parametrize("start", ["coordinator.server.server", "coordinator.compaction.child"])
def test_the_daemon_and_its_children_need_nothing_of_the_extras(start: str) -> None:
    came_from = {start: start}
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module in OPTIONAL:  # it says what to install
            continue
        assert not imports(module) & EXTRAS, f"{start} reaches {module}, by {came_from[module]}"
        for name in ours(module) - came_from.keys():
            came_from[name] = f"{came_from[module]} -> {name}"
            waiting.append(name)


def test_no_two_packages_import_each_other() -> None:
    arrows = {(package(module), package(name)) for module in FILES for name in ours(module)}
    mutual = {(a, b) for a, b in arrows if a < b and (b, a) in arrows and a.startswith("coordinator.")}
    assert mutual == MUTUAL.keys()


def test_no_class_name_is_defined_twice() -> None:
    places = defaultdict(list)
    for module in FILES:
        if is_under(module, "coordinator"):
            for node in ast.walk(parse(module)):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", ON_DISK)
def test_a_name_on_disk_is_a_literal_in_one_file(name: str) -> None:
    literals: Counter[str] = Counter()
    for module in FILES:
        if is_under(module, "coordinator"):
            literals[module] += sum(
                isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip("/-") == name
                for node in ast.walk(parse(module))
            )
    assert +literals == {ON_DISK[name]: 1}


@every_module
def test_every_module_opens_with_its_purpose(module: str) -> None:
    if not is_under(module, "protocol.generated"):
        assert ast.get_docstring(parse(module)), "the first lines of a file say what it is for"
