"""How a body is unpacked while it arrives: gzip, deflate, br and zstd, in steps of bounded size."""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple, Protocol

import brotli

from openoctopus.exceptions import DecodingFailed, IncompleteResponse, ResponseTooLarge

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: What we can unpack, and so all that we offer (RFC 9110, 12.5.3).
ACCEPT_ENCODING = "gzip, deflate, br, zstd"
#: A body in more codings than these is not unpacked: no honest server sends one.
MAX_CODINGS = 2
#: Unpacked bytes for one that arrived, at most, beyond the first ``RATIO_FREE`` bytes.
MAX_RATIO = 200
RATIO_FREE = 1 << 20
#: Bytes that one step gives at most, and takes.
PIECE = 1 << 16
STEP = 1 << 14
#: What does not unpack within so many bytes is not in that coding at all.
_FIRST_BYTES = 64
#: A brotli body is read again byte by byte to find its end, but only where that is quick.
_SALVAGED = 1 << 18
#: https://mimesniff.spec.whatwg.org/#binary-data-byte
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_ERRORS = (zlib.error, brotli.error, zstd.ZstdError)


class Unpacker(Protocol):
    """One stream of one coding, as the standard library's decompressors are."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Zlib:
    """A zlib object with the manners of the younger decompressors: it keeps what it could not take yet."""

    def __init__(self, window_bits: int) -> None:
        self._zlib = zlib.decompressobj(window_bits)
        self.eof, self.needs_input, self.unused_data = False, True, b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        waiting = self._zlib.unconsumed_tail
        piece = self._zlib.decompress(waiting + data if waiting else data, max_length)
        self.eof, self.unused_data = self._zlib.eof, self._zlib.unused_data
        self.needs_input = len(piece) < max_length and not self._zlib.unconsumed_tail
        return piece


class _Brotli:
    """A brotli object with the same manners."""

    def __init__(self) -> None:
        self._brotli = brotli.Decompressor()
        self._fed = bytearray()
        self._given = 0
        self.eof, self.needs_input, self.unused_data = False, True, b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if len(self._fed) <= _SALVAGED:
            self._fed += data
        try:
            piece: bytes = self._brotli.process(data, output_buffer_limit=max_length)
        except brotli.error as error:
            return self._salvaged(error)
        self._given += len(piece)
        self.eof = self._brotli.is_finished()
        self.needs_input = len(piece) < max_length and self._brotli.can_accept_more_data()
        return piece

    def _salvaged(self, error: Exception) -> bytes:
        """The rest of a stream with junk behind it: the library refuses the chunk that holds both."""
        again, output = brotli.Decompressor(), bytearray()
        for place in range(len(self._fed) if len(self._fed) <= _SALVAGED else 0):
            output += again.process(bytes(self._fed[place : place + 1]))
            if again.is_finished():
                self.eof, self.unused_data = True, bytes(self._fed[place + 1 :])
                return bytes(output[self._given :])
        raise error


def _zstd() -> Unpacker:
    # RFC 9659: a window of 8 MB at most, so that a small body cannot ask for 2 GB.
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: 23})


def _deflate(start: bytes) -> Unpacker:
    """With or without the zlib wrapper: servers send both. Its header is known by its check bits (RFC 1950, 2.2)."""
    wrapped = start[0] & 0x0F == 8 and start[0] >> 4 <= 7 and int.from_bytes(start[:2], "big") % 31 == 0
    return _Zlib(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)


class _Coding(NamedTuple):
    """How a stream of one coding is begun, and by what it is known."""

    begin: Callable[[bytes], Unpacker]
    #: So many first bytes are needed to begin.
    needs: int
    #: What every stream begins with; ``None``: anything may be one.
    magic: re.Pattern[bytes] | None = None


_GZIP = _Coding(lambda start: _Zlib(zlib.MAX_WBITS | 16), 2, re.compile(rb"\x1f\x8b"))
_CODINGS = {
    "gzip": _GZIP,
    "x-gzip": _GZIP,
    "deflate": _Coding(_deflate, 2),
    "br": _Coding(lambda start: _Brotli(), 1),
    "zstd": _Coding(lambda start: _zstd(), 4, re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")),
}


class Unpacking:
    """The content codings of one body, undone one after the other; none for a coding that is not known.

    A body that is plainly not in its coding passes as it is, so that a lie costs no page. ``max_size`` in bytes, 0: no
    limit. What it raises: ``DecodingFailed``, ``IncompleteResponse`` and ``ResponseTooLarge``.
    """

    def __init__(self, content_encoding: str, max_size: int = 0) -> None:
        names = [name for part in content_encoding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
        if len(names) > MAX_CODINGS:
            raise DecodingFailed(f"the body is in {len(names)} codings: {content_encoding[:80]}")
        self._stages: list[_Stage] = []
        for name in reversed(names):
            if name not in _CODINGS:
                break
            self._stages.append(_Stage(name, max_size))

    @property
    def whole(self) -> bool:
        """The codings themselves show that nothing is missing."""
        return bool(self._stages) and all(stage.ended for stage in self._stages)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What these bytes unpack to, in pieces."""
        for start in range(0, len(data), STEP):
            yield from self._push(0, data[start : start + STEP])

    def finish(self) -> Iterator[bytes]:
        """What was held back, when the body has ended."""
        for place, stage in enumerate(self._stages):
            for piece in stage.finish():
                yield from self._push(place + 1, piece)

    def _push(self, place: int, data: bytes) -> Iterator[bytes]:
        if place == len(self._stages):
            yield data
            return
        for piece in self._stages[place].feed(data):
            yield from self._push(place + 1, piece)


class _Stage:
    """One coding of one body, which may be several streams of it, or none at all.

    Until a stream has proved to be one, by its magic, its end or a whole piece, what came and what it gave are kept.
    """

    def __init__(self, name: str, max_size: int) -> None:
        self._name = name
        self._coding = _CODINGS[name]
        self._max_size = max_size
        self._stream: Unpacker | None = None
        self._is_first = True
        self._proven = False
        self._plain = False
        self._came = b""
        self._gave: list[bytes] = []
        self._taken = self._given = self._before = 0
        #: A stream has come to its end, and none was begun after it.
        self.ended = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._taken += len(data)
        while data:
            if self._plain:
                yield data
                return
            data = (yield from self._read(self._stream, data)) if self._stream else self._begin(data)

    def finish(self) -> Iterator[bytes]:
        if self._plain or self.ended or not self._taken:
            return
        if self._stream is None or (not self._proven and self._looks_like_text()):
            yield self._came
            return
        yield from self._gave
        raise IncompleteResponse(f"the {self._name} body ends early: {self._given} bytes were unpacked")

    def _begin(self, data: bytes) -> bytes:
        """Begin a stream as soon as there is enough to know it by; return what is to be read."""
        data, magic = self._came + data, self._coding.magic
        self._came = b""
        if len(data) < self._coding.needs:
            self._came = data
            return b""
        fits = magic.match(data) is not None if magic else not self.ended
        if not fits:
            # Junk behind a stream is passed over; a body that never was in this coding stays as it is.
            self._plain = not self.ended
            return data if self._plain else b""
        self._is_first, self.ended = not self.ended, False
        self._proven, self._before = magic is not None, self._given
        self._stream = self._coding.begin(data)
        return data

    def _read(self, stream: Unpacker, data: bytes) -> Generator[bytes, None, bytes]:
        """Read on in a stream; return what is left to be read after its end."""
        if not self._proven:
            self._came += data
        try:
            while True:
                piece = stream.decompress(data, PIECE)
                data = b""
                self._count(len(piece))
                self._gave.append(piece)
                if stream.eof and not self._ends_well(stream.unused_data):
                    return self._deny()
                if self._proven or stream.eof or self._given - self._before >= PIECE:
                    self._proven, gave, self._gave = True, self._gave, []
                    yield from gave
                if stream.eof:
                    self._stream, self.ended, self._came = None, True, b""
                    return stream.unused_data
                if stream.needs_input:
                    return b""
        except _ERRORS as error:
            return self._failed(error)

    def _count(self, size: int) -> None:
        self._given += size
        if self._max_size and self._given > self._max_size:
            raise ResponseTooLarge(f"the body unpacks to more than {self._max_size} bytes")
        if self._given > RATIO_FREE and self._given > MAX_RATIO * self._taken:
            raise ResponseTooLarge(f"{self._taken} bytes of {self._name} unpack to {self._given} and more")

    def _failed(self, error: Exception) -> bytes:
        """What is left to be read where a stream broke."""
        if not self._is_first and self._given == self._before:
            self._stream, self.ended = None, True
            return b""
        if not self._proven and self._is_lie():
            return self._deny()
        raise DecodingFailed(f"the body is no {self._name} after {self._given} bytes: {error}") from error

    def _deny(self) -> bytes:
        """The body is not in this coding: all of it passes as it came."""
        came, self._came, self._gave, self._plain = self._came, b"", [], True
        return came

    def _ends_well(self, rest: bytes) -> bool:
        """Text may happen to unpack to something, but then it ends before its end."""
        return self._proven or not (rest and self._looks_like_text())

    def _is_lie(self) -> bool:
        """Whether it fails at once, and not only after a good beginning."""
        if self._looks_like_text():
            return True
        try:
            self._coding.begin(self._came).decompress(self._came[:_FIRST_BYTES], PIECE)
        except _ERRORS:
            return True
        return False

    def _looks_like_text(self) -> bool:
        return not _BINARY.search(self._came[:512])
