"""Tokens for OAUTHBEARER: from a file, or from an endpoint by client credentials (RFC 6749, section 4.4).

A token of an endpoint is kept until shortly before its end. A file is read anew for each connection, because another
program renews it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Final

from aiokafka.abc import AbstractTokenProvider

from coordinator.observe.client_settings import TokenSource
from coordinator.observe.errors import ClusterProblem

TIMEOUT_S: Final = 10.0
EARLY_S: Final = 30.0  # before its end, a token counts as expired


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc] # aiokafka has no types
    """Gives tokens to the connections of one client."""

    def __init__(self, source: TokenSource) -> None:
        self._source = source
        self._token = ""
        self._until = 0.0

    async def token(self) -> str:
        """Return a token that is valid now. ClusterProblem: none can be had."""
        if not self._token or time.monotonic() >= self._until:
            try:
                self._token, life_s = await asyncio.to_thread(self._fetch)
            except (OSError, ValueError, KeyError) as error:
                if isinstance(error, urllib.error.HTTPError):
                    error.close()
                raise ClusterProblem(
                    f"no OAUTHBEARER token can be had from {self._source.url} ({error}); check "
                    "sasl.oauthbearer.token.endpoint.url and the client's id and secret"
                ) from None
            self._until = time.monotonic() + life_s - EARLY_S
        return self._token

    def _fetch(self) -> tuple[str, float]:
        """Return a token and its life in seconds."""
        source = self._source
        if source.url.startswith("file://"):
            with urllib.request.urlopen(source.url, timeout=TIMEOUT_S) as file:
                return file.read().decode().strip(), 0.0
        form = {"grant_type": "client_credentials"} | ({"scope": source.scope} if source.scope else {})
        request = urllib.request.Request(source.url, urllib.parse.urlencode(form).encode())
        credentials = f"{source.client_id}:{source.client_secret}".encode()
        request.add_header("Authorization", "Basic " + base64.b64encode(credentials).decode())
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            facts = json.load(answer)
        return str(facts["access_token"]), float(facts.get("expires_in", 300))
