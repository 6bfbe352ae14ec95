"""Bodies are unpacked in bounded steps, and lies about them cost no page."""

from __future__ import annotations

import gzip
import itertools
import time
import zlib
from collections.abc import Callable, Iterable

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openoctopus.downloaders.decoding import PIECE, Unpacking, zstd
from openoctopus.exceptions import DecodingFailed, IncompleteResponse, ResponseTooLarge


def deflated(data: bytes, window_bits: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, window_bits)
    return packer.compress(data) + packer.flush()


PACK: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "zlib": ("deflate", lambda data: deflated(data, 15)),
    "small window": ("deflate", lambda data: deflated(data, 9)),
    "raw deflate": ("deflate", lambda data: deflated(data, -15)),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstd.compress),
}
PAGE = b"<!DOCTYPE html><title>x</title>" + b"".join(b"<p>%d %d</p>" % (n, n * n) for n in range(400))
#: What servers put under the name of a coding without using it.
NOT_PACKED = [
    b"<html>plain</html>",
    b"ok",
    b"1",
    b'{"a": 1}',
    b'{"a": 1, "b": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "c": "long enough to be taken for something"}',
    b"[1, 2]",
    b"x^2 + y^2",
    b"h\x81llo",
    b"\n\n<html>",
    b"\xef\xbb\xbf<html>with a BOM</html>",
    "中文网页的内容".encode(),
    "中文网页的内容".encode("gb18030") * 50,
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(100)),
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00" + bytes(50),
]


def unpacked(coding: str, pieces: Iterable[bytes], max_size: int = 0) -> bytes:
    unpacking = Unpacking(coding, max_size)
    found = [out for piece in pieces for out in unpacking.feed(piece)]
    return b"".join([*found, *unpacking.finish()])


def split(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 1 << 20])
@pytest.mark.parametrize("name", PACK)
def test_pieces_of_any_size_make_the_whole(name, size):
    coding, pack = PACK[name]

    assert unpacked(coding, split(pack(PAGE), size)) == PAGE
    assert unpacked(coding, split(pack(b""), size)) == b""
    assert unpacked(coding, split(pack(PAGE * 60), max(size, 50))) == PAGE * 60


@pytest.mark.parametrize("name", PACK)
@given(data=st.binary(max_size=3000), size=st.integers(1, 500))
def test_what_was_packed_comes_out(name, data, size):
    coding, pack = PACK[name]
    assert unpacked(coding, split(pack(data), size)) == data


@pytest.mark.parametrize(("first", "second"), list(itertools.product(PACK, PACK)))
def test_two_codings_are_undone_in_turn(first, second):
    (inner, pack_inner), (outer, pack_outer) = PACK[first], PACK[second]
    assert unpacked(f"{inner}, {outer}", split(pack_outer(pack_inner(PAGE)), 77)) == PAGE


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
@pytest.mark.parametrize("name", PACK)
@pytest.mark.parametrize("body", NOT_PACKED, ids=lambda body: repr(body[:12]))
def test_a_body_that_is_not_packed_passes_as_it_is(name, body, size):
    assert unpacked(PACK[name][0], split(body, size)) == body


@pytest.mark.parametrize("size", [1, 5, 1 << 20])
@pytest.mark.parametrize("name", PACK)
def test_junk_behind_the_end_is_passed_over(name, size):
    coding, pack = PACK[name]
    for junk in (b"\n", b"junk junk", bytes(1000), b"\x1f", b"\x1f\x8bjunk and more junk"):
        assert unpacked(coding, split(pack(PAGE) + junk, size)) == PAGE


@pytest.mark.parametrize("size", [1, 5, 1 << 20])
@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_several_streams_are_one_body(name, size):
    coding, pack = PACK[name]
    assert unpacked(coding, split(pack(PAGE) + pack(b"") + pack(PAGE * 2), size)) == PAGE * 3


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9, 0.99])
@pytest.mark.parametrize("name", PACK)
def test_a_body_that_ends_early_says_so(name, share):
    coding, pack = PACK[name]
    packed = pack(PAGE)
    with pytest.raises(IncompleteResponse, match=f"the {coding} body ends early"):
        unpacked(coding, split(packed[: int(len(packed) * share)], 100))


@pytest.mark.parametrize("name", ["gzip", "zlib", "raw deflate", "br"])
def test_a_body_that_breaks_in_the_middle_says_so(name):
    coding, pack = PACK[name]
    broken = bytearray(pack(PAGE * 20))
    broken[len(broken) // 2 : len(broken) // 2 + 8] = b"\xff\x00\xff\x00\xa5\x5a\xa5\x5a"
    for size in (50, 1 << 20):
        with pytest.raises(DecodingFailed, match=f"is no {coding}"):
            unpacked(coding, split(bytes(broken), size))


@pytest.mark.parametrize(
    ("coding", "body"), [("sdch", PAGE), ("", PAGE), ("identity", PAGE), ("gzip, sdch", gzip.compress(PAGE))]
)
def test_what_cannot_be_unpacked_passes_as_it_is(coding, body):
    assert unpacked(coding, [body]) == body


def test_a_known_coding_over_an_unknown_one_is_undone():
    assert unpacked("sdch, gzip", [gzip.compress(PAGE)]) == PAGE


def test_three_codings_are_too_many():
    with pytest.raises(DecodingFailed, match="3 codings"):
        Unpacking("gzip, br, identity, gzip")


@pytest.mark.parametrize("max_size", [1_000_000, 32 << 20, 0])
@pytest.mark.parametrize("name", PACK)
def test_a_bomb_is_stopped_early_and_in_small_pieces(name, max_size):
    coding, pack = PACK[name]
    unpacking, sizes = Unpacking(coding, max_size), []
    bomb = split(pack(b"<html>" + bytes(50_000_000)), 1 << 16)

    def explode() -> None:
        for piece in bomb:
            sizes.extend(len(out) for out in unpacking.feed(piece))

    started = time.process_time()
    with pytest.raises(ResponseTooLarge):
        explode()

    assert max(sizes) < 4 * PIECE
    assert sum(sizes) <= (max_size or 4 << 20)
    assert time.process_time() - started < 2


def test_a_bomb_in_a_bomb_is_stopped():
    with pytest.raises(ResponseTooLarge, match="of gzip unpack to"):
        unpacked("gzip, gzip", [gzip.compress(gzip.compress(bytes(200_000_000), 9), 9)])


def test_a_zstd_body_may_not_ask_for_a_huge_window():
    wide = zstd.compress(PAGE * 2000, options={zstd.CompressionParameter.window_log: 27})
    with pytest.raises(DecodingFailed):
        unpacked("zstd", [wide])


@given(
    coding=st.sampled_from(["gzip", "deflate", "br", "zstd", "br, gzip"]), pieces=st.lists(st.binary(max_size=200), max_size=5)
)
def test_any_bytes_either_pass_or_raise_an_error_of_ours(coding, pieces):
    try:
        unpacked(coding, pieces, 10_000)
    except (DecodingFailed, IncompleteResponse, ResponseTooLarge):
        pass
