"""`coordinator history sql "SELECT …"`: any question about a history, in the SQL of DuckDB.

Statements read the views of `coordinator.history.views` and nothing else: no file, no network, no setting.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from decimal import Decimal
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.cli.errors import CliError
from coordinator.cli.history.arguments import add_place, asking_duckdb, check_files, moment, sources_of
from coordinator.cli.screen import tell
from coordinator.cli.table import as_columns, as_csv
from coordinator.processes.wall_clock import wall_ms

if TYPE_CHECKING:
    import duckdb

    from coordinator.history.questions import Answer
    from coordinator.history.views import Stand

NOW: Final = "now_ms"  # the parameter that every statement may have
Titled = tuple[str, list[str], "Answer"]  # a statement's comment, the columns of its answer, and the rows


def add_arguments(actions: Any) -> None:
    parser = actions.add_parser("sql", help="answer any question, in SQL", allow_abbrev=False)
    parser.add_argument("text", metavar="SQL", nargs="?", help='for example "SELECT * FROM rebalances"')
    parser.add_argument("--file", type=Path, metavar="FILE", help="answer the statements of a file, one after another")
    parser.add_argument("--now", metavar="TIME", help=f"the value of ${NOW}; default: now")
    add_place(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, for programs")
    form.add_argument("--csv", action="store_true", help="print CSV")


def run(arguments: argparse.Namespace) -> int:
    """Answer and print. Call within `reading_files`."""
    text = _text(arguments)
    now = wall_ms()
    chosen = moment("--now", arguments.now, now)
    sources = sources_of(arguments)
    check_files(arguments, sources)
    with asking_duckdb():
        from coordinator.history.duckdb_views import DuckdbViews
        from coordinator.history.views import NAMES, needed, steady

        names = needed(text) or set(NAMES)

        def answer(stand: Stand) -> list[Titled]:
            views = DuckdbViews.of_sources(sources, stand, names, skip_corrupt=arguments.skip_corrupt)
            views.lock([path for paths in stand.files.values() for path in paths])
            statements = _statements(views.connection, text)
            if len(statements) > 1 and (arguments.json or arguments.csv):
                raise CliError("--json and --csv are for one statement; leave out the others")
            return [_asked(views.connection, each, now if chosen is None else chosen) for each in statements]

        found = steady(sources, names, answer)
    for number, (title, columns, rows) in enumerate(found):
        if arguments.json:
            print(json.dumps([_plain(row) for row in rows], indent=2, ensure_ascii=False, default=str))
        elif arguments.csv:
            print(as_csv(columns, [_shown(row) for row in rows]))
        else:
            _print(title if len(found) > 1 else "", columns, rows, is_first=number == 0)
    return 0


def _text(arguments: argparse.Namespace) -> str:
    if (arguments.text is None) == (arguments.file is None):
        raise CliError("give one SQL text, or a file with --file")
    try:
        return arguments.text if arguments.file is None else str(arguments.file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"{arguments.file} cannot be read ({getattr(error, 'strerror', error)}); name another") from None


def _statements(connection: duckdb.DuckDBPyConnection, text: str) -> list[duckdb.Statement]:
    import duckdb

    statements = connection.extract_statements(text)
    for each in statements:
        if each.type != duckdb.StatementType.SELECT:
            raise CliError(f"a history is only read: write SELECT instead of {each.type.name}")
        if unknown := sorted(each.named_parameters - {NOW}):
            raise CliError(f"there is no parameter ${unknown[0]}; ${NOW} is the only one")
    if not statements:
        raise CliError("there is no statement; write for example: SELECT * FROM rebalances")
    return statements


def _asked(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement, now_ms: int) -> Titled:
    import duckdb

    from coordinator.history.duckdb_views import rows_of
    from coordinator.history.views import NAMES

    try:
        answered = connection.execute(statement, {NOW: now_ms} if statement.named_parameters else None)
        columns = [column[0] for column in answered.description or ()]
        return _title(statement.query), columns, rows_of(answered)
    except duckdb.CatalogException as error:
        first = str(error).partition("\n")[0]
        tables = f"; there are {', '.join(NAMES)}" if "Table with name" in first else ""
        raise CliError(f"{first.rstrip('!')}{tables}") from None


def _title(query: str) -> str:
    """Return the comment right before a statement."""
    before = takewhile(lambda line: not line or line.startswith("--"), query.strip().splitlines())
    return "\n".join(before).strip().rpartition("\n\n")[2]


def _print(title: str, columns: Sequence[str], rows: Answer, *, is_first: bool) -> None:
    if title:
        print(title if is_first else f"\n{title}")
    if rows:
        numeric = [name for name in columns if isinstance(rows[0][name], float | Decimal)]
        print(as_columns(columns, [_shown(row) for row in rows], numeric))
    else:
        tell("no rows")


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return the values as JSON has them; others become texts."""
    return {name: float(value) if isinstance(value, Decimal) else value for name, value in row.items()}


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """Return the values as a table has them."""
    return {name: _cell(value) for name, value in row.items()}


def _cell(value: Any) -> Any:
    if isinstance(value, float | Decimal):
        return f"{value:.6g}"
    return value if isinstance(value, int | str | list | dict | None) else str(value)
