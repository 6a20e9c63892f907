"""An issuer of access tokens: its keys, its JWKS, and a tiny HTTP server that serves it on 127.0.0.1."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import AllowedPrivateKeys

ISSUER = "https://issuer.example/"


@cache
def _key(kind: str) -> AllowedPrivateKeys:
    makers: Mapping[str, Callable[[], AllowedPrivateKeys]] = {
        "RSA": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
        "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
        "ES384": lambda: ec.generate_private_key(ec.SECP384R1()),
        "ES512": lambda: ec.generate_private_key(ec.SECP521R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate,
    }
    return makers[kind]()


def private_key(algorithm: str) -> AllowedPrivateKeys:
    """Return the key for an algorithm. It is the same each time, and one for all of RSA, which takes long to make."""
    return _key("RSA" if algorithm[:2] in ("RS", "PS") else algorithm)


def public_jwk(algorithm: str, **members: object) -> dict[str, Any]:
    """Return the public key as a member of a JWKS."""
    jwk = jwt.get_algorithm_by_name(algorithm).to_jwk(private_key(algorithm).public_key(), as_dict=True)
    return {**jwk, **members}


class TokenIssuer:
    """Issues tokens that are valid for an hour. `keys` is from key id to algorithm. `now_s` is the wall clock."""

    def __init__(self, keys: Mapping[str, str] = {"rsa": "RS256"}, now_s: Callable[[], float] = time.time) -> None:
        self.keys = dict(keys)
        self._now_s = now_s

    def token(self, user: str | None = "alice", *, kid: str = "rsa", algorithm: str = "", **claims: Any) -> str:
        """Sign a token. A claim of None is left out, and other claims replace the usual ones."""
        now = int(self._now_s())
        usual = {"sub": user, "iss": ISSUER, "iat": now, "exp": now + 3600}
        payload = {name: claim for name, claim in {**usual, **claims}.items() if claim is not None}
        algorithm = algorithm or self.keys[kid]
        return jwt.encode(payload, private_key(algorithm), algorithm, {"kid": kid})

    def jwks(self) -> bytes:
        return json.dumps({"keys": [public_jwk(name, kid=kid) for kid, name in self.keys.items()]}).encode()


class JwksEndpoint(ThreadingHTTPServer):
    """Serves a document at `url` while it is entered. `seen` are the paths of the requests."""

    def __init__(self, document: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.document = document
        self.status = 200
        self.location = ""  # of a redirect
        self.seen: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}/jwks.json"
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: JwksEndpoint

    def do_GET(self) -> None:
        self.server.seen.append(self.path)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.document)))
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()
        self.wfile.write(self.server.document)

    def log_message(self, *_: object) -> None:
        pass
