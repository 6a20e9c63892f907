"""The four compression codecs of record batches, through cramjam, with a limit on the decompressed size.

A few compressed bytes can expand to gigabytes, so decompression stops at a limit that the caller may lower. The output
goes into a buffer of an estimated size, which grows in steps while the data does not fit, never past the limit.

Snappy has two forms: a raw block, and the stream that Kafka's Java clients write (xerial): a magic, two version
numbers, then blocks, each preceded by its int32 size. Both are read; the stream is written.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Any, Final

import cramjam

from protocol.errors import CorruptBatchError

MAX_DECOMPRESSED_BYTES: Final = 128 * 1024 * 1024
"""Limit for one batch. Kafka's default (`max.message.bytes`) accepts batches of 1 MiB after compression."""


class Codec(IntEnum):
    """Compression type of a batch: the low three bits of its attributes. Kafka's `CompressionType`."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK: Final = 32 * 1024
_SIZE: Final = struct.Struct(">i")
_TOO_SMALL: Final = "failed to write whole buffer"  # in cramjam's error when the output buffer is too small
_FIRST_GUESS: Final = 16 * 1024


def compress(codec: Codec, data: bytes) -> bytes:
    """Compress the records of a batch as a whole."""
    if codec is Codec.NONE:
        return data
    if codec is Codec.SNAPPY:
        return _compress_xerial(data)
    if codec is Codec.LZ4:
        # cramjam's default, blocks that refer to earlier ones, is refused by Kafka's Lz4BlockInputStream.
        compressor = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
        compressor.compress(data)
        return bytes(compressor.finish())
    return bytes(_module(codec).compress(data))


def decompress(codec: int, data: bytes, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> bytes:
    """Decompress the records of a batch; CorruptBatchError if damaged, or larger than `max_bytes` when expanded."""
    if codec == Codec.NONE:
        return data
    try:
        if codec == Codec.SNAPPY:
            return _decompress_snappy(data, max_bytes)
        return _decompress_bounded(_module(Codec(codec)), data, max_bytes)
    except ValueError:
        raise CorruptBatchError(f"codec {codec} does not exist") from None
    except cramjam.DecompressionError as error:
        raise CorruptBatchError(f"the records do not decompress: {error}") from None


def _module(codec: Codec) -> Any:
    return {Codec.GZIP: cramjam.gzip, Codec.LZ4: cramjam.lz4, Codec.ZSTD: cramjam.zstd}[codec]


def _decompress_bounded(module: Any, data: bytes, max_bytes: int) -> bytes:
    size = min(max_bytes, max(_FIRST_GUESS, 4 * len(data)))
    while True:
        output = bytearray(size)
        try:
            written = module.decompress_into(data, output)
        except cramjam.DecompressionError as error:
            if _TOO_SMALL not in str(error):
                raise
            if size >= max_bytes:
                raise CorruptBatchError(f"the records expand beyond {max_bytes} bytes") from None
            size = min(max_bytes, 4 * size)
            continue
        with memoryview(output) as view:
            return bytes(view[:written])


def _compress_xerial(data: bytes) -> bytes:
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        parts += (_SIZE.pack(len(block)), block)
    return b"".join(parts)


def _decompress_snappy(data: bytes, max_bytes: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return _decompress_block(data, max_bytes, max_bytes)
    parts: list[bytes] = []
    position = len(_XERIAL_HEADER)
    left = max_bytes
    while position < len(data):
        if position + 4 > len(data):
            raise CorruptBatchError("the snappy stream ends within a size")
        (size,) = _SIZE.unpack_from(data, position)
        position += 4
        if not 0 <= size <= len(data) - position:
            raise CorruptBatchError("a snappy block is longer than its stream")
        parts.append(_decompress_block(data[position : position + size], left, max_bytes))
        left -= len(parts[-1])
        position += size
    return b"".join(parts)


def _decompress_block(block: bytes, left: int, max_bytes: int) -> bytes:
    # The block declares its expanded size; decompress_raw allocates that much and fails if the declaration is false.
    size = cramjam.snappy.decompress_raw_len(block)
    if size > left:
        raise CorruptBatchError(f"the records expand beyond {max_bytes} bytes")
    return bytes(cramjam.snappy.decompress_raw(block))
