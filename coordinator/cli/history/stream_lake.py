"""`coordinator tables --format delta|iceberg`: the rows go to tables in one of these formats, too."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.cli.errors import CliError
from coordinator.cli.screen import need_extra, tell

if TYPE_CHECKING:
    from coordinator.history.source import HistorySource
    from coordinator.history.spark_lake import SparkLake

PARQUET: Final = "parquet"


def add_lake(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=(PARQUET, "delta", "iceberg"),
        default=PARQUET,
        help="append the rows to tables in Delta or Iceberg, too; default: parquet alone",
    )
    parser.add_argument(
        "--lake",
        metavar="PLACE",
        help="where these tables are: a directory, its URL, or for Iceberg a catalog and namespace that Spark knows; "
        "default: the name of the format in --tables-dir",
    )


def lake_location(arguments: argparse.Namespace) -> str | None:
    """Return where the tables of the format are; None: there is none. Call before a bucket has its copy."""
    if arguments.format == PARQUET:
        if arguments.lake is not None:
            raise CliError("--lake needs a format; add --format delta or --format iceberg")
        return None
    if arguments.lake is None and not isinstance(arguments.tables_dir, Path):
        raise CliError(
            f"the tables are in a bucket; name a place for those in {arguments.format} with --lake, such as "
            "s3a://bucket/lake"
        )
    need_extra("pyspark", extra="spark")
    from coordinator.history.spark_lake import located

    return located(arguments.lake or str(arguments.tables_dir / arguments.format))


def spark_settings(arguments: argparse.Namespace, location: str | None, packages: list[str]) -> dict[str, str]:
    """Return the settings of Spark: the jars, by default `packages` and that of the format, and those of the format."""
    conf = {}
    if location is not None:
        from coordinator.history.lake_marks import LakeError
        from coordinator.history.spark_lake import package_of, spark_conf

        conf = spark_conf(arguments.format, location)
        if arguments.jars is None and arguments.packages is None:
            try:
                packages = [*packages, package_of(arguments.format)]
            except LakeError as error:
                raise CliError(str(error)) from None
    if arguments.jars is not None:
        return conf | {"spark.jars": arguments.jars}
    named = arguments.packages or ",".join(packages)
    return conf | ({"spark.jars.packages": named} if named else {})


def open_lake(
    arguments: argparse.Namespace, spark: Any, source: HistorySource, location: str | None
) -> SparkLake | None:
    """Return the tables of the format; None: there is none."""
    if location is None:
        return None
    from coordinator.history.lake_marks import LakeError
    from coordinator.history.spark_lake import SparkLake

    try:
        return SparkLake.open(spark, source, arguments.format, location)
    except LakeError as error:
        raise CliError(str(error)) from None


def push_and_publish(
    lake: SparkLake | None,
    next_offsets: Mapping[int, int],
    push: Callable[[], object],
    on_table: Callable[[str], None] = lambda _: None,
) -> None:
    """Bring the tables to their bucket, if any, and then append what is new. Raises BucketError."""
    push()
    while lake is not None and lake.plan(next_offsets):
        push()
        lake.publish(on_table)


def catch_up(lake: SparkLake | None, next_offsets: Mapping[int, int], push: Callable[[], object]) -> None:
    """Append what a run that ended did not append."""

    def show(name: str) -> None:
        tell(f"appending what is in the table {name} already …")

    push_and_publish(lake, next_offsets, push, show)
