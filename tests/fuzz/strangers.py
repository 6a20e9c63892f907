"""Clients that may not know a password: what each sends on one connection, read by read.

A stranger begins with one of the recorded sequences of `sasl_script`, or with a login by one of the mechanisms and
requests behind it. Parts of it are left out, sent twice, exchanged, or come from elsewhere. A third of its frames is
changed; frames come together in one read, or in pieces.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from coordinator.security.oauthbearer import ACKNOWLEDGEMENT, OAUTHBEARER
from coordinator.server.api.table import HANDLERS
from protocol.api_keys import ApiKey
from protocol.errors import ProtocolError
from protocol.generate import declared_classes
from tests.conformance import sasl_script as sasl
from tests.conformance.sasl_script import Exchange, Part, ScramFinal, authenticate, handshake, raw, raw_token
from tests.fuzz.frame_changes import changed
from tests.fuzz.messages import random_message
from tests.support.tokens import ISSUER, TokenIssuer

CHANGED: Final = 0.3  # share of the frames that are changed
PIPELINED: Final = 0.25  # share of the frames that come in one read with the next
IN_PIECES: Final = 0.2  # share of the reads that come in pieces
LONG: Final = 0.01  # share of the frames over LONG_BYTES that are sent
LONG_BYTES: Final = 100_000
CHALLENGE: Final = re.compile(rf"r={sasl.NONCE}[^,]+,s=[\w+/]+=*,i=\d+".encode())
ISSUED: Final = TokenIssuer({"ec": "ES256"}, now_s=lambda: 0)
GOOD_TOKEN: Final = ISSUED.token(kid="ec", exp=10**9)
DEEP: Final = urlsafe_b64encode(json.dumps({"alg": "ES256", "kid": "ec"}).encode()).decode().rstrip("=")
BAD_TOKENS: Final = (
    ISSUED.token(kid="ec", exp=0),
    ISSUED.token(kid="ec", exp=10**9, iss=f"{ISSUER}other"),
    TokenIssuer({"other": "RS256"}, now_s=lambda: 0).token(kid="other", exp=10**9),  # its key must be looked for
    GOOD_TOKEN[:-8],
    f"{DEEP}.{urlsafe_b64encode(b'[' * 9999).decode()}.AAAA",
    "eyJhbGciOiJub25lIn0.e30.",  # no signature
)


def bearer(token: str) -> bytes:
    return f"n,,\1auth=Bearer {token}\1\1".encode()


def _logins() -> Iterator[list[Part]]:
    """Return logins, most of which are refused."""
    exchanges: list[tuple[str, Sequence[bytes | ScramFinal]]] = [
        ("PLAIN", [sasl.RIGHT]),
        ("PLAIN", [sasl.WRONG]),
        (sasl.SCRAM_256, [sasl.FIRST, ScramFinal()]),
        (sasl.SCRAM_256, [sasl.FIRST, ScramFinal(password="wrong")]),
        (sasl.SCRAM_512, [sasl.FIRST, ScramFinal(sasl.SCRAM_512)]),
        (OAUTHBEARER, [bearer(GOOD_TOKEN)]),
        *((OAUTHBEARER, [bearer(token), ACKNOWLEDGEMENT]) for token in BAD_TOKENS),
    ]
    for name, tokens in exchanges:
        yield [handshake(name), *map(authenticate, tokens)]
        yield [handshake(name, 0), *map(raw_token, tokens)]


SEQUENCES: Final = [[part for step in each.steps for part in step.parts] for each in sasl.SEQUENCES]
LOGINS: Final = list(_logins())
PARTS: Final = list({part.words: part for parts in (*SEQUENCES, *LOGINS) for part in parts}.values())


class Stranger:
    """One client on one connection. `hear` must be called with all that it has been sent."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self.exchange = Exchange()
        self.sent = 0  # frames

    def hear(self, answers: bytes) -> None:
        """Remember the last challenge of the server."""
        if found := CHALLENGE.findall(answers):
            self.exchange.challenge = found[-1].decode()

    def reads(self) -> Iterator[bytes]:
        """Yield what arrives in one read. Each depends on what the server has answered until then."""
        data = b""
        for part in self._plan():
            try:
                frame = part.make(self.sent, self.exchange)
            except ProtocolError:
                continue  # a version that cannot carry what was chosen
            if len(frame) > LONG_BYTES and self._chance.random() > LONG:
                continue
            self.sent += 1
            data += changed(frame, self._chance)[0] if self._chance.random() < CHANGED else frame
            if self._chance.random() > PIPELINED:
                yield from self._pieces(data)
                data = b""
        if data:
            yield data

    def _plan(self) -> list[Part]:
        chance = self._chance
        if chance.random() < 0.4:
            plan = list(chance.choice(SEQUENCES))
        else:
            plan = [*chance.choice(([], [], [sasl.VERSIONS])), *chance.choice(LOGINS)]
            plan += [self._any_request() for _ in range(chance.randrange(4))]
        while chance.random() < 0.5:
            at, kind = chance.randrange(len(plan) + 1), chance.randrange(4)
            if kind == 0:
                del plan[at : at + 1]
            elif kind == 1:
                plan[at:at] = plan[at : at + 2]
            elif kind == 2:
                plan[at : at + 2] = plan[at : at + 2][::-1]
            else:
                plan.insert(at, self._other_part())
        return plan

    def _other_part(self) -> Part:
        kind = self._chance.random()
        if kind < 0.6:
            return self._chance.choice(PARTS)
        return self._any_request() if kind < 0.9 else raw(self._chance.randbytes(self._chance.randint(2, 60)))

    def _any_request(self) -> Part:
        """Return a request of any API with random fields."""
        key, api = self._chance.choice(API_ROWS)
        version = self._chance.randint(api.min_version, api.max_version)
        return sasl.request(random_message(declared_classes(ApiKey(key))[0], version, self._chance), version)

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        if self._chance.random() > IN_PIECES or len(data) < 2:
            yield data
            return
        cuts = sorted(self._chance.randrange(1, len(data)) for _ in range(self._chance.choice((1, 1, 2, 5))))
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            if start < end:
                yield data[start:end]


API_ROWS: Final = list(HANDLERS.items())
