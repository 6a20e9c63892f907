"""AlterConfigs (key 33), versions 0 to 2: replaces the settings of topics, by way of IncrementalAlterConfigs."""

from __future__ import annotations

from coordinator.server.api import incremental_alter_configs
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey

API = Api(
    ApiKey.ALTER_CONFIGS,
    0,
    2,
    incremental_alter_configs.alter,
    max_elements=6_000,
    does="Of topics: settings that are not named go back to the server's value. Of nodes.",
    refuses="As IncrementalAlterConfigs. What cannot be changed stays, named or not.",
)
