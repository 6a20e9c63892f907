"""The recorded answers of a real Kafka 4.4 to 159 sequences of frames around a login, and those of this daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.security.credentials import document_of
from coordinator.security.scram import BY_NAME, credential_of
from coordinator.storage.file_names import USERS_NAME
from tests.conformance import sasl_script as sasl
from tests.support.secured import Listening

pytestmark = [pytest.mark.integration, pytest.mark.timeout(200)]


def test_a_login_is_answered_as_by_kafka(tmp_path: Path) -> None:
    settings = {
        **sasl.SETTINGS,
        "connection.failed.authentication.delay.max.ms": "0",
        f"listener.name.{sasl.REAUTH.lower()}.connections.max.reauth.ms": str(sasl.MAX_REAUTH_MS),
    }
    listeners = {sasl.PLAINTEXT: "PLAINTEXT", sasl.SASL: "SASL_PLAINTEXT", sasl.REAUTH: "SASL_PLAINTEXT"}
    daemon = Listening(tmp_path, listeners, settings)
    rows = BY_NAME.values()
    users = {
        user: {row: credential_of(row, password, b"salt", 4096) for row in rows}
        for user, password in sasl.USERS.items()
    }
    (daemon.data_dir / USERS_NAME).write_text(document_of(users))
    with daemon:
        assert sasl.differences(daemon.ports) == []
