"""Settings in environment variables, in the convention of Kafka's container images.

`KAFKA_GROUP_MAX_SIZE` and `COORDINATOR_GROUP_MAX_SIZE` both set `group.max.size`: after the prefix, `_` stands for a
dot, `__` for an underscore, `___` for a dash. The `environment:` of a Kafka service in a compose file can thus be used
unchanged. Where both set a key, COORDINATOR_ takes precedence, because it was written for this program.

An unknown key after COORDINATOR_ is an error. Unknown keys after KAFKA_ cause one warning together, because Kafka's
images and other programs use this prefix for variables that are not settings (`KAFKA_HEAP_OPTS`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

OUR_PREFIX: Final = "COORDINATOR_"
KAFKA_PREFIX: Final = "KAFKA_"

# Set by Kubernetes in the environment of every pod when a service is named "coordinator" or "kafka".
_KUBERNETES_SERVICE_LINK: Final = re.compile(
    r"(COORDINATOR|KAFKA)_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_\d+_(TCP|UDP)(_.*)?)?)"
)
# Not settings of the daemon: the event loop to run on (cli/serve.py), how other commands reach their server, and what
# the packages in clients/ start.
_OTHER_VARIABLES: Final = frozenset(
    {
        "COORDINATOR_BINARY",
        "COORDINATOR_EVENT_LOOP",
        "COORDINATOR_IMAGE",
        "COORDINATOR_BOOTSTRAP_SERVER",
        "COORDINATOR_COMMAND_CONFIG",
        "COORDINATOR_USER_PASSWORD",
    }
)
_UNDERSCORES: Final = re.compile("_{1,3}")
_MEANING: Final = {"_": ".", "__": "_", "___": "-"}


class Variable(NamedTuple):
    """A variable with one of the two prefixes, and the key that its name stands for."""

    name: str  # of the variable
    key: str
    value: str
    is_ours: bool


def setting_variables(environ: Mapping[str, str]) -> Iterator[Variable]:
    """Yield the variables with the two prefixes, KAFKA_ first, so that later ones replace earlier ones."""
    for prefix in (KAFKA_PREFIX, OUR_PREFIX):
        for name in sorted(environ):
            if not name.startswith(prefix) or name in _OTHER_VARIABLES or _KUBERNETES_SERVICE_LINK.fullmatch(name):
                continue
            key = _UNDERSCORES.sub(lambda found: _MEANING[found[0]], name.removeprefix(prefix)).lower()
            yield Variable(name, key, environ[name], prefix == OUR_PREFIX)


def variable_of(key: str) -> str:
    """Return the name of the COORDINATOR_ variable that sets a key."""
    return OUR_PREFIX + key.replace("_", "__").replace("-", "___").replace(".", "_").upper()
