"""What goes wrong with bytes: the exceptions of this package, and there are no others.

Whatever arrives from a socket or a file, a decoder returns a value or raises `DecodeError` (or the subclass that says
more). A server closes the connection on it and logs one line. A refusal that the protocol can express is not an
exception but an `ErrorCode` in an answer.
"""

from __future__ import annotations


class ProtocolError(Exception):
    """Something that the protocol does not allow."""


class DecodeError(ProtocolError):
    """Bytes that are not what they claim to be: cut short, a length that lies, a null that may not be."""


class TooManyElementsError(DecodeError):
    """A request with more elements than its decoder was told to take."""


class CorruptBatchError(DecodeError):
    """A record batch whose checksum, size, count or compressed data is wrong."""


class ResponseMismatchError(ProtocolError):
    """A response to another request than the oldest one that has none yet."""


class EncodeError(ProtocolError):
    """A message that this version cannot carry: a null that may not be, or a number outside its range."""


class UnsupportedVersionError(ProtocolError):
    """An API key, or a version of it, that is not declared.

    `correlation_id` is what a server needs to answer an ApiVersions request of an unknown version (wire spec 5); it is
    None where no request header was read.
    """

    def __init__(self, api_key: int, api_version: int, correlation_id: int | None = None) -> None:
        super().__init__(f"API key {api_key} is not known in version {api_version}")
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
