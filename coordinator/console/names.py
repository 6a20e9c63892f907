"""Short names of members: as long as needed to tell them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

UUID_PART = 8  # characters of the random end of a member id that tell two members of one client id apart


def member_names(members: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return a name for each key, from pairs of key and client id.

    A key is an instance id, which is a name already, or a member id: Kafka's member ids are the client id and a random
    UUID.
    """
    pairs = dict(members)
    clients = Counter(pairs.values())
    names = {}
    for key, client_id in pairs.items():
        if not client_id or not key.startswith(f"{client_id}-"):
            names[key] = key
        elif clients[client_id] == 1:
            names[key] = client_id
        else:
            names[key] = f"{client_id}-{key[len(client_id) + 1 :][:UUID_PART]}"
    return names
