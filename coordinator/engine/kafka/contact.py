"""The first contact with the cluster: tells whether the settings of TLS and SASL fit its listeners, in one sentence.

A Kafka that is addressed in the wrong protocol ends the connection and says nothing, as does one that is being stopped.
So if nothing else explains the failure, the listeners are tried in the other protocol.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from typing import Final

from coordinator.config.values import Address
from coordinator.engine.kafka.client import TROUBLE, KafkaClient, may_pass
from coordinator.engine.kafka.connection import BrokerConnection
from coordinator.engine.kafka.security import FILE_KEY, BrokerSecurity
from coordinator.storage.log_store import LogStoreError
from protocol.error_codes import ErrorCode
from protocol.messages.sasl_handshake import SaslHandshakeRequest

PROBE_S: Final = 2.0


async def make_contact(client: KafkaClient, brokers: Sequence[Address], security: BrokerSecurity) -> None:
    """Ask for the brokers once. Raises LogStoreError if the settings must be changed for an answer."""
    try:
        await client.metadata()
    except TROUBLE as error:
        if not may_pass(error):
            raise LogStoreError(str(error), may_pass=False) from None
        for misfit in await asyncio.gather(*(_misfit(each, security) for each in brokers)):
            if misfit:
                raise LogStoreError(misfit, may_pass=False) from None


async def _misfit(address: Address, security: BrokerSecurity) -> str:
    """Return how the listener differs from the settings, as a sentence; "" if that is not certain."""
    has_tls = await speaks_tls(address)
    if has_tls and not security.has_tls:
        return f"{address} speaks TLS; set security.protocol=SSL or SASL_SSL in the file of {FILE_KEY}"
    if security.has_tls and not has_tls and await _mechanisms(address, BrokerSecurity()) is not None:
        return (
            f"{address} has no TLS; in {security.source}, set security.protocol to PLAINTEXT or SASL_PLAINTEXT, or "
            "name the listener with TLS in log.engine"
        )
    mechanisms = [] if security.has_sasl else await _mechanisms(address, security)
    if mechanisms:
        protocol = "SASL_SSL" if security.has_tls else "SASL_PLAINTEXT"
        return (
            f"{address} wants a login; set security.protocol={protocol}, sasl.mechanism (one of "
            f"{', '.join(mechanisms)}) and the user in the file of {FILE_KEY}"
        )
    return ""


async def speaks_tls(address: Address) -> bool:
    """Return whether a server answers a TLS handshake; nothing is sent afterwards."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(PROBE_S):
            _, writer = await asyncio.open_connection(*address, ssl=context)
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")  # such as: this server wants a certificate of its clients
    except OSError:
        return False
    writer.transport.abort()
    return True


async def _mechanisms(address: Address, security: BrokerSecurity) -> list[str] | None:
    """Return the mechanisms for a login at a listener; none if it wants no login; None if it does not answer."""
    try:
        async with asyncio.timeout(PROBE_S):
            connection = await BrokerConnection.connect(address, security.without_login())
            try:
                answer = await connection.call(SaslHandshakeRequest(mechanism=""), PROBE_S)
            finally:
                connection.close()
    except TROUBLE:
        return None
    return [] if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE else list(answer.mechanisms)
