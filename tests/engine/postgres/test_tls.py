"""TLS to the database, as the parameters of `log.engine` ask for it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.storage.log_store import LogStoreError
from tests.engine.postgres.database import Database
from tests.support.machine_tools import require_tool
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.integration


@pytest.fixture
def secured(server: PostgresServer, tmp_path: Path) -> Iterator[Path]:
    """Give the server a certificate for 127.0.0.1; returns the file of its authority."""
    authority, certificate = _certificates(tmp_path)
    server.write("server.crt", certificate.read_text())
    server.write("server.key", certificate.with_suffix(".key").read_text())
    server.setting("ssl_cert_file", str(server.directory / "server.crt"))
    server.setting("ssl_key_file", str(server.directory / "server.key"))
    server.setting("ssl", "on")
    yield authority
    server.setting("ssl", "off")


def _certificates(directory: Path) -> tuple[Path, Path]:
    def openssl(*args: str) -> None:
        subprocess.run([require_tool("openssl"), *args], check=True, capture_output=True, cwd=directory)

    new_key = ("req", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    openssl(*new_key, "-x509", "-subj", "/CN=authority", "-keyout", "authority.key", "-out", "authority.crt")
    openssl(*new_key, "-subj", "/CN=database", "-keyout", "database.key", "-out", "database.csr")
    (directory / "names").write_text("subjectAltName=IP:127.0.0.1")
    openssl(
        "x509", "-req", "-in", "database.csr", "-CA", "authority.crt", "-CAkey", "authority.key", "-CAcreateserial",
        "-days", "2", "-extfile", "names", "-out", "database.crt",
    )  # fmt: skip
    return directory / "authority.crt", directory / "database.crt"


async def test_all_sessions_are_encrypted_and_the_server_is_verified(database: Database, secured: Path) -> None:
    node = await database.node(database.config(query=f"?sslmode=verify-full&sslrootcert={secured}"))
    await node.fill(await node.store.claim(0, 0), 3)
    encrypted = "SELECT count(*), bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
    assert database.sql(f"{encrypted} WHERE application_name LIKE 'coordinator node%'") == "3|t"


async def test_a_server_with_a_certificate_of_another_authority_is_refused(
    database: Database, secured: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other, _ = _certificates(tmp_path_factory.mktemp("other"))
    with pytest.raises(LogStoreError, match=r"no TLS connection .*certificate verify failed.*sslrootcert") as caught:
        await database.unannounced(database.config(query=f"?sslmode=verify-full&sslrootcert={other}"))
    assert not caught.value.may_pass


async def test_a_server_without_tls_is_refused_where_it_is_required(database: Database) -> None:
    with pytest.raises(LogStoreError, match=r"no TLS connection .*sslmode") as caught:
        await database.unannounced(database.config(query="?sslmode=require"))
    assert not caught.value.may_pass
