"""Writer of docs/metrics.md: every metric with its type, labels and meaning, read from the code that makes the samples.

`make generate` runs it. A metric may appear with its first value only, so a running daemon does not show all; a test
compares the page with those that it shows.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

from tests.docs.blocks import ROOT

SOURCES: Final = (
    ("The daemon", "coordinator/server/status.py"),
    ("By group", "coordinator/metrics/group_samples.py"),
    ("Compaction", "coordinator/compaction/daemon/metrics.py"),
    ("Workers", "coordinator/workers/supervisor.py"),
    ("coordinator observe", "coordinator/observe/figures.py"),
)
KINDS: Final = {"_gauge": "gauge", "_counter": "counter", "_histogram": "histogram", "HistogramSample": "histogram"}
HEAD: Final = """\
# Reference of metrics

<!-- Written by `make generate` from the code that makes the samples; do not edit. -->

Every metric of `/metrics` with its type, its labels and its meaning. Which of them to watch, and when to wake up:
[monitoring.md](monitoring.md). With workers, each metric of a worker has the label `node`, too. The figures of clients
have the names that the clients give them: [client-metrics.md](client-metrics.md).
"""

Names = dict[str, ast.expr]  # expressions by the name that they have where they are used


class Metric(NamedTuple):
    name: str
    kind: str
    labels: tuple[str, ...]
    help: str


def metrics_of(source: str) -> dict[str, Metric]:
    """Return the metrics that a module makes, by name, in the order of the module."""
    tree = ast.parse((ROOT / source).read_text(encoding="utf-8"))
    names: Names = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            names[node.target.id] = node.value
    found: dict[str, Metric] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name not in ("_gauge", "_counter", "_sample", "_histogram"):
            found |= {metric.name: metric for metric in _made(node, dict(names))}
    return found


def _made(node: ast.AST, names: Names) -> Iterator[Metric]:
    """Yield the metrics below a node. A loop over a table that is written out is followed row by row."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        names[node.targets[0].id] = node.value
    if isinstance(node, ast.For):
        for bound in _rows(node, names):
            in_loop = names | bound
            for each in node.body:
                yield from _made(each, in_loop)
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {*KINDS, "Sample"}:
        name, help, *others = node.args
        kind = KINDS.get(node.func.id) or _text(others[0], names)
        labels = next((keys for each in others if (keys := _keys(each, names))), ())
        yield Metric(_text(name, names), kind, labels, _text(help, names))
    for child in ast.iter_child_nodes(node):
        yield from _made(child, names)


def _rows(loop: ast.For, names: Names) -> Iterator[Names]:
    table = names.get(loop.iter.id, loop.iter) if isinstance(loop.iter, ast.Name) else loop.iter
    if not isinstance(table, ast.Tuple):
        yield {}
        return
    for row in table.elts:
        target = loop.target
        if isinstance(row, ast.Tuple) and isinstance(target, ast.Tuple):
            yield {key.id: value for key, value in zip(target.elts, row.elts, strict=True) if isinstance(key, ast.Name)}
        else:
            yield {}


def _text(node: ast.expr, names: Names) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) if name in names:
            return _text(names[name], names)
        case ast.BinOp(left=left, right=right):
            return _text(left, names) + _text(right, names)
        case ast.JoinedStr(values=values):
            return "".join(
                _text(each.value if isinstance(each, ast.FormattedValue) else each, names) for each in values
            )
    raise ValueError(f"line {node.lineno}: `{ast.unparse(node)}` is no text that is written out")


def _keys(node: ast.expr, names: Names) -> tuple[str, ...]:
    if isinstance(node, ast.Name) and node.id in names:
        return _keys(names[node.id], names)
    if not isinstance(node, ast.Dict):
        return ()
    found: list[str] = []
    for key, value in zip(node.keys, node.values, strict=True):
        found += _keys(value, names) if key is None else [_text(key, names)]
    return tuple(found)


def text() -> str:
    """Return the whole page."""
    lines = [HEAD]
    for title, source in SOURCES:
        lines += [f"## {title}", "", "| Metric | Type | Labels | Meaning |", "| --- | --- | --- | --- |"]
        for name, kind, labels, help in metrics_of(source).values():
            lines.append(f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {help} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(text())
