"""What is inside of a compressed file, told by its first bytes, whatever it is called."""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from alluvium.spark_udfs.record import FileError, describe

_CHUNK = 64 * 1024
# 32 + 15 = gzip or zlib framing, as the header says, with the largest window (zlib manual, inflateInit2).
_GZIP_OR_ZLIB = 47
_XERIAL_HEADER = 16


class Codec(NamedTuple):
    """A compression.

    Attributes:
        name: for users.
        magic: first bytes of a file.
        inflate: gives the text in pieces; FileError where the file breaks.
    """

    name: str
    magic: bytes
    inflate: Callable[[bytes], Iterator[bytes]]


def codec_of(content: bytes) -> Codec | None:
    """The compression of a file; None of one that has none that is known."""
    known = next((codec for codec in CODECS if content.startswith(codec.magic)), None)
    return known or (HADOOP_SNAPPY if _is_hadoop_snappy(content) else None)


def _members(new: Callable[[], Any], name: str) -> Callable[[bytes], Iterator[bytes]]:
    """For codecs of which a file may have several members, one behind the other, with a checksum each.

    Whatever is sound before a break is given before the break is raised. A member that is cut off is sound as far as it
    goes. One that is damaged is not: zlib gives text of it, with other digits in it, until it meets a code that is none
    or the checksum at its end. So each member is inflated twice.
    """

    def pieces(data: memoryview) -> Iterator[tuple[bytes, int]]:
        position = 0
        while position < len(data):
            begin = position
            yield b"", begin
            member = new()
            while not member.eof:
                if position >= len(data):
                    raise FileError("truncated", f"{name} stream ends in the middle, after {len(data)} bytes")
                chunk = data[position : position + _CHUNK]
                position += len(chunk)
                yield member.decompress(chunk), begin
            position -= len(member.unused_data)
            while position < len(data) and data[position] == 0:
                position += 1

    def inflate(content: bytes) -> Iterator[bytes]:
        data = memoryview(content)
        end, damage = len(data), None
        begin = 0
        try:
            for _, at in pieces(data):
                begin = at
        except (zlib.error, lzma.LZMAError, OSError) as error:
            end, damage = begin, FileError("corrupt", f"{name}, {error}")
        except FileError:
            pass  # cut off, which is said once what is there has been read
        for text, _ in pieces(data[:end]):
            yield text
        if damage:
            raise damage

    return inflate


def _frames(name: str) -> Callable[[bytes], Iterator[bytes]]:
    """For the codecs of Arrow; nothing of a damaged file is given."""

    def pieces(content: bytes) -> Iterator[bytes]:
        try:
            with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(content)), name) as stream:
                while piece := stream.read(_CHUNK):
                    yield piece
        except OSError as error:
            code = "truncated" if "runcated" in str(error) else "corrupt"
            raise FileError(code, f"{name}, {describe(error)}") from error

    def inflate(content: bytes) -> Iterator[bytes]:
        try:
            for _ in pieces(content):
                pass
        except FileError as error:
            if error.code == "corrupt":
                raise
        yield from pieces(content)

    return inflate


def _block(content: bytes, position: int, size: int) -> bytes:
    """A block of raw Snappy, which begins with the length of its text (7 bits a byte)."""
    data = content[position : position + size]
    if len(data) < size:
        raise FileError("truncated", f"snappy stream ends in the middle, after {len(content)} bytes")
    length = 0
    for place, byte in enumerate(data[:5]):
        length |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            break
    try:
        text = pa.Codec("snappy").decompress(data, decompressed_size=length, asbytes=True)
    except (OSError, ValueError, MemoryError) as error:
        raise FileError("corrupt", f"snappy, {describe(error)}") from error
    return bytes(text)


def raw_snappy(data: bytes) -> bytes:
    """The text of one block of raw Snappy.

    Raises:
        FileError: it is damaged.
    """
    return _block(data, 0, len(data))


def _xerial(content: bytes) -> Iterator[bytes]:
    """What SnappyOutputStream of snappy-java writes."""
    if len(content) < _XERIAL_HEADER:
        raise FileError("truncated", f"snappy stream ends in the middle, after {len(content)} bytes")
    position = _XERIAL_HEADER
    while position < len(content):
        size = int.from_bytes(content[position : position + 4], "big")
        yield _block(content, position + 4, size)
        position += 4 + size


def _snappy_framing(content: bytes) -> Iterator[bytes]:
    """github.com/google/snappy/blob/main/framing_format.txt; its CRC-32C is not held against the text."""
    position = 0
    while position < len(content):
        kind, size = content[position], int.from_bytes(content[position + 1 : position + 4], "little")
        if kind == 0x00:
            yield _block(content, position + 8, size - 4)
        elif kind == 0x01:
            yield content[position + 8 : position + 4 + size]
        elif kind < 0x80:
            raise FileError("corrupt", f"snappy, chunk of type {kind}")
        position += 4 + size
    if position > len(content):
        raise FileError("truncated", f"snappy stream ends in the middle, after {len(content)} bytes")


def _is_hadoop_snappy(content: bytes) -> bool:
    """Hadoop's framing has no magic bytes: lengths of the text and of its first block, which begins with its own."""
    if len(content) < 9:
        return False
    text, size = int.from_bytes(content[:4], "big"), int.from_bytes(content[4:8], "big")
    if not 0 < text < 1 << 28 or not 0 < size < 1 << 28 or size > len(content) - 8:
        return False
    try:
        return len(_block(content, 8, size)) <= text
    except FileError:
        return False


def _hadoop_snappy(content: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(content):
        left = int.from_bytes(content[position : position + 4], "big")
        position += 4
        while left > 0:
            size = int.from_bytes(content[position : position + 4], "big")
            text = _block(content, position + 4, size)
            yield text
            position += 4 + size
            left -= len(text)


CODECS = (
    Codec("gzip", b"\x1f\x8b", _members(lambda: zlib.decompressobj(_GZIP_OR_ZLIB), "gzip")),
    Codec("zstd", b"\x28\xb5\x2f\xfd", _frames("zstd")),
    Codec("bzip2", b"BZh", _members(bz2.BZ2Decompressor, "bzip2")),
    Codec("lz4", b"\x04\x22\x4d\x18", _frames("lz4")),
    Codec("xz", b"\xfd7zXZ\x00", _members(lzma.LZMADecompressor, "xz")),
    Codec("snappy", b"\xff\x06\x00\x00sNaPpY", _snappy_framing),
    Codec("snappy", b"\x82SNAPPY\x00", _xerial),
    Codec("deflate", b"\x78\x9c", _members(lambda: zlib.decompressobj(_GZIP_OR_ZLIB), "deflate")),
    Codec("deflate", b"\x78\xda", _members(lambda: zlib.decompressobj(_GZIP_OR_ZLIB), "deflate")),
)
HADOOP_SNAPPY = Codec("snappy", b"", _hadoop_snappy)


def inflate_zstd(data: bytes) -> bytes:
    """The text of zstd frames.

    Raises:
        FileError: they are damaged or cut off.
    """
    out = io.BytesIO()
    for piece in _frames("zstd")(data):
        out.write(piece)
    return out.getvalue()
