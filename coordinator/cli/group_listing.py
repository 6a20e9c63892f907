"""The groups of a cluster: every node lists those that it coordinates."""

from __future__ import annotations

from coordinator.cli.client import Client, UnreachableError
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse


def every_group(client: Client, missing: list[str]) -> list[ListedGroup]:
    """Return the groups of all nodes, by name. Adds a sentence to `missing` for a node that does not answer."""
    found: list[ListedGroup] = []
    for node_id in client.node_ids():

        def ask(node_id: int = node_id) -> tuple[int, ListGroupsResponse]:
            answer = client.node(node_id).call(ListGroupsRequest(), ListGroupsResponse)
            return answer.error_code, answer

        try:
            found += client.patiently(f"the groups of node {node_id}", ask).groups
        except UnreachableError as error:
            missing.append(f"the groups of one node are not listed: {error}")
    return sorted(found, key=lambda group: group.group_id)
