"""AlterConfigs, versions 0 to 2: replaces the settings of topics. It goes the way of IncrementalAlterConfigs."""

from __future__ import annotations

from coordinator.server.api import incremental_alter_configs
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey

API = Api(ApiKey.ALTER_CONFIGS, 0, 2, incremental_alter_configs.alter, max_elements=6_000)
