"""Profiles: what the test profile sets, and what is stronger."""

from __future__ import annotations

import pytest

from coordinator.config.config import keys
from coordinator.config.profiles import PROFILES, profile_values
from coordinator.config.sources import load
from coordinator.config.values import ConfigError


@pytest.mark.parametrize("profile", PROFILES)
def test_every_value_of_a_profile_is_a_setting_and_has_a_reason(profile: str) -> None:
    config = load(profile=profile)
    for name, row in PROFILES[profile].items():
        key = keys()[name]
        assert getattr(config, key.attribute) == key.parse(row.value)
        assert row.why


def test_the_test_profile_differs_from_the_defaults() -> None:
    for name, text in profile_values("test").items():
        assert keys()[name].parse(text) != keys()[name].default, name


def test_every_other_source_is_stronger() -> None:
    config = load(
        "group.min.session.timeout.ms=20",
        ["group.max.size=30"],
        {"COORDINATOR_GROUP_INITIAL_REBALANCE_DELAY_MS": "40"},
        flags={"log.dirs": "here"},
        profile="test",
    )
    assert config.group_min_session_timeout_ms == 20
    assert config.group_max_size == 30
    assert config.group_initial_rebalance_delay_ms == 40
    assert config.log_dirs == "here"
    assert config.offsets_topic_num_partitions == 1


def test_an_unknown_profile() -> None:
    with pytest.raises(ConfigError, match="there is no profile 'fast'; there is: test"):
        load(profile="fast")
