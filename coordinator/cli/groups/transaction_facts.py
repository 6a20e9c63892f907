"""Transactions that hold a group back, asked of the nodes by the client of the commands.

They are one cause among many. A cluster that does not tell of transactions, or not to this login, is explained without
them.
"""

from __future__ import annotations

from typing import Any

from coordinator.cli.client import Client
from coordinator.cli.errors import CliError
from coordinator.cli.groups.describe import committed_offsets
from coordinator.core.events.model import Story
from coordinator.explain.transaction_facts import NodeRequest, cluster_leaders, transaction_facts
from protocol.api_keys import ApiKey


def note_transactions(client: Client, story: Story) -> None:
    """Note in the story of a group the transactions that hold it back."""
    state = story.state
    try:
        if state is None or not client.any_node().offers(ApiKey.LIST_TRANSACTIONS):
            return
        committed = {key: each.committed_offset for key, each in committed_offsets(client, state.group).items()}
        cluster = cluster_leaders(client.metadata(sorted({topic for topic, _ in committed})))
    except CliError:
        return
    steps = transaction_facts(story, committed, cluster)
    try:
        requests = next(steps)
        while True:
            requests = steps.send([_answer(client, each) for each in requests])
    except StopIteration:
        return


def _answer(client: Client, asked: NodeRequest) -> Any:
    try:
        return client.node(asked.node_id).call(asked.request, object, asked.max_version)
    except CliError:
        return None
