"""`coordinator cluster describe | owners | drain`: the nodes of a cluster, and the owners of partitions.

`describe` asks a running cluster, of this coordinator or of any Kafka. `owners` reads the files of a stopped node: it
computes the owner of each partition's directory among the given nodes, including manual assignments in topics.json.
This is needed before directories are moved to another number of nodes. With the settings of a log.engine both ask the
shared store instead, and `drain` empties a node (`living_cluster.py`).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from coordinator.cli.arguments import add_output, add_server
from coordinator.cli.client import Client, UnreachableError, client_of
from coordinator.cli.engine import add_engine
from coordinator.cli.errors import CliError
from coordinator.cli.screen import complain
from coordinator.cli.table import Row, render
from coordinator.core.cluster import StaticOwnership
from coordinator.core.topics.catalogue import CatalogueError, parse_document
from coordinator.core.topics.names import COORDINATOR_TOPICS, parse_partition_directory
from coordinator.storage.file_names import CATALOGUE_NAME
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

DESCRIPTION: Final = "The nodes of a cluster, and what each of them owns."

EPILOG: Final = """\
examples:
  coordinator cluster describe --bootstrap-server 127.0.0.1:9093
  coordinator cluster owners data-1 --nodes 1,2,3,4
  coordinator cluster describe --log-engine postgresql://db1,db2/kgc --cluster-id prod
  coordinator cluster owners --config node.properties
  coordinator cluster drain 2 --config node.properties"""

NODE_COLUMNS: Final = ("NODE", "ADDRESS", "CONTROLLER", "UP", "GROUPS", "LEADS")
OWNER_COLUMNS: Final = ("DIRECTORY", "OWNER", "BYTES")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    describing = actions.add_parser("describe", help="the nodes of a running cluster", allow_abbrev=False)
    add_server(describing)
    add_engine(describing)
    add_output(describing)
    owning = actions.add_parser("owners", help="the owners of partitions", allow_abbrev=False)
    owning.add_argument("directory", type=Path, metavar="DATA-DIR", nargs="?", help="of a stopped node without engine")
    owning.add_argument("--nodes", metavar="ID,...", help="with DATA-DIR: the ids that cluster.nodes will have")
    add_engine(owning)
    add_output(owning)
    draining = actions.add_parser("drain", help="have a node hand its partitions over", allow_abbrev=False)
    draining.add_argument("node", type=int, metavar="NODE", help="its node.id")
    draining.add_argument("--undo", action="store_true", help="let it take partitions again")
    add_engine(draining)


def run(arguments: argparse.Namespace) -> int:
    columns: tuple[str, ...]
    problems: list[str] = []
    if arguments.action == "drain" or arguments.log_engine or arguments.config:
        from coordinator.cli import living_cluster

        return living_cluster.run(arguments)
    if arguments.action == "owners":
        if arguments.directory is None or arguments.nodes is None:
            raise CliError("give DATA-DIR and --nodes, or a log.engine by --log-engine or --config")
        columns, rows = OWNER_COLUMNS, owners(arguments.directory, _ids(arguments.nodes))
    else:
        with client_of(arguments) as client:
            rows, problems = describe(client)
        columns = NODE_COLUMNS
    print(render(arguments.output, columns, rows))
    return complain(problems)


def describe(client: Client) -> tuple[list[Row], list[str]]:
    """Return a row for each node, and a sentence for each node that did not answer."""
    metadata = client.metadata(None)
    leads = Counter(partition.leader_id for topic in metadata.topics for partition in topic.partitions)
    rows: list[Row] = []
    problems: list[str] = []
    for broker in sorted(metadata.brokers, key=lambda broker: broker.node_id):
        groups: int | None = None
        try:
            answer = client.node(broker.node_id).call(ListGroupsRequest(), ListGroupsResponse)
            groups = len(answer.groups) if not answer.error_code else None
            is_up = True
        except UnreachableError as error:
            is_up = False
            problems.append(str(error))
        rows.append(
            {
                "NODE": broker.node_id,
                "ADDRESS": f"{broker.host}:{broker.port}",
                "CONTROLLER": broker.node_id == metadata.controller_id,
                "UP": is_up,
                "GROUPS": groups,
                "LEADS": leads[broker.node_id],
            }
        )
    return rows, problems


def owners(directory: Path, ids: list[int]) -> list[Row]:
    """Return a row for each directory of a partition."""
    rule, assigned = StaticOwnership(ids), _assignments(directory / CATALOGUE_NAME)
    rows: list[Row] = []
    try:
        found = sorted(path for path in directory.iterdir() if path.is_dir())
    except OSError as error:
        raise CliError(f"{directory} cannot be read ({error.strerror}); give the data directory of a node") from None
    for path in found:
        parsed = parse_partition_directory(path.name)
        if parsed is None:
            continue
        topic, index = parsed
        owner = (
            rule.owner_of_offsets_partition(index)
            if topic in COORDINATOR_TOPICS
            else rule.owner_of_topic_partition(topic, index, assigned.get(topic, {}).get(index))
        )
        size = sum(segment.stat().st_size for segment in path.glob("*.log"))
        rows.append({"DIRECTORY": path.name, "OWNER": owner, "BYTES": size})
    if not rows:
        raise CliError(f"{directory} holds no directory of a partition; give the data directory of a node", 1)
    return rows


def _assignments(path: Path) -> Mapping[str, Mapping[int, int]]:
    """Return the manual assignments of partitions to nodes, from the catalogue of topics in the data directory."""
    try:
        return parse_document(path.read_text()).assignments() if path.exists() else {}
    except (OSError, CatalogueError, UnicodeDecodeError) as error:
        raise CliError(f"the catalogue {path} cannot be used ({error}); restore it from another node's copy") from None


def _ids(text: str) -> list[int]:
    ids = [entry.strip() for entry in text.split(",") if entry.strip()]
    if not ids or not all(entry.isdecimal() for entry in ids) or len(set(map(int, ids))) != len(ids):
        raise CliError(f"--nodes {text!r} must be the ids of the nodes, as in 1,2,3")
    return [int(entry) for entry in ids]
