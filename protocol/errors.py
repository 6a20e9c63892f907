"""The exceptions of this package.

For any bytes from a socket or a file, a decoder returns a value or raises `DecodeError` or one of its subclasses. A
server then closes the connection and logs one line. A refusal that the protocol can express is not an exception but an
`ErrorCode` in a response.
"""

from __future__ import annotations


class ProtocolError(Exception):
    """Base of all errors of this package: something that the protocol does not allow."""


class DecodeError(ProtocolError):
    """Malformed bytes: cut short, a wrong length, or a null where none is allowed."""


class TooManyElementsError(DecodeError):
    """A request with more elements than the limit of its decoder."""


class CorruptBatchError(DecodeError):
    """A record batch whose checksum, size, count or compressed data is wrong."""


class ResponseMismatchError(ProtocolError):
    """A response to another request than the oldest one that has none yet."""


class EncodeError(ProtocolError):
    """A message that this version cannot carry: a null where none is allowed, or a number out of range."""


class UnsupportedVersionError(ProtocolError):
    """An API key, or a version of it, that is not declared.

    A server needs `correlation_id` to answer an ApiVersions request of an unknown version with UNSUPPORTED_VERSION, as
    Kafka does (KIP-511). It is None where no request header was read.
    """

    def __init__(self, api_key: int, api_version: int, correlation_id: int | None = None) -> None:
        super().__init__(f"API key {api_key} is not known in version {api_version}")
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
