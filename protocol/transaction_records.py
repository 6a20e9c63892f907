"""Keys and values of the records in `__transaction_state`, as Kafka's `TransactionLog` writes them.

Key and value each start with an int16 version. A key of version 0 names a transactional id; others are unknown. A
record without a value is a tombstone. Values are written in version 1 and read in both.
"""

from __future__ import annotations

import struct
from typing import Final

from protocol.errors import DecodeError
from protocol.generated import transaction_log
from protocol.messages.transaction_log import PartitionsSchema, TransactionLogValue

__all__ = [
    "PartitionsSchema",
    "TransactionLogValue",
    "decode_transaction_key",
    "decode_transaction_value",
    "encode_transaction_key",
    "encode_transaction_value",
]

TRANSACTION_KEY_VERSION: Final = 0
TRANSACTION_VALUE_VERSION: Final = 1
_KEY: Final = struct.Struct(">hh")  # version, length of the transactional id
_VERSION: Final = struct.Struct(">h")


def encode_transaction_key(transactional_id: str) -> bytes:
    """Encode the key of the state of a transactional id."""
    raw = transactional_id.encode()
    return _KEY.pack(TRANSACTION_KEY_VERSION, len(raw)) + raw


def decode_transaction_key(data: bytes) -> str | None:
    """Return the transactional id of a key; None if its version is unknown. DecodeError if it is malformed."""
    if len(data) < _VERSION.size:
        raise DecodeError("a key without a version")
    if _VERSION.unpack_from(data)[0] != TRANSACTION_KEY_VERSION:
        return None
    if len(data) < _KEY.size:
        raise DecodeError("a key that ends early")
    _, length = _KEY.unpack_from(data)
    raw = data[_KEY.size : _KEY.size + length]
    if length < 0 or len(raw) != length:
        raise DecodeError("a key that ends early")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise DecodeError("a key that is not UTF-8") from None


def encode_transaction_value(value: TransactionLogValue) -> bytes:
    """Encode the state of a transactional id. EncodeError if a field does not fit."""
    return transaction_log.ENCODE_TRANSACTION_LOG_VALUE[TRANSACTION_VALUE_VERSION](value)


def decode_transaction_value(data: bytes) -> TransactionLogValue:
    """Decode the state of a transactional id, of any version. DecodeError if it is malformed."""
    if len(data) < _VERSION.size:
        raise DecodeError("a value without a version")
    decode = transaction_log.DECODE_TRANSACTION_LOG_VALUE.get(_VERSION.unpack_from(data)[0])
    if decode is None:
        raise DecodeError(f"a value of version {_VERSION.unpack_from(data)[0]}")
    return decode(data, _VERSION.size)
