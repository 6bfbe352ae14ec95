"""What every downloader promises about bodies: unpacked, whole or not at all, never more than allowed."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

import brotli
import pytest

from openoctopus.downloaders.decoding import zstd
from openoctopus.exceptions import DecodingFailed, IncompleteResponse, ResponseTooLarge
from openoctopus.http import Request
from tests.downloaders.engines import ENGINES, fetch, opened
from tests.downloaders.servers import Answer, Asked, RawServer, head, reply

PAGE = b"<!DOCTYPE html><h1>fine</h1>" + b"".join(b"<p>%d</p>" % n for n in range(200))


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def deflated(data: bytes, window_bits: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, window_bits)
    return packer.compress(data) + packer.flush()


def gzipped(data: bytes) -> bytes:
    return deflated(data, 31)


async def body_of(engine: str, answer: Answer, options: dict[str, Any] | None = None, **arguments: Any) -> bytes:
    async with RawServer(answer) as server:
        return (await fetch(engine, server.url(), options, **arguments)).body


PACKED = {
    "gzip": ("gzip", gzipped(PAGE)),
    "x-gzip": ("x-gzip", gzipped(PAGE)),
    "gzip, two members": ("gzip", gzipped(PAGE[:500]) + gzipped(PAGE[500:])),
    "gzip, junk behind": ("gzip", gzipped(PAGE) + b"trailing junk 11111"),
    "deflate": ("deflate", deflated(PAGE, 15)),
    "deflate, small window": ("deflate", deflated(PAGE, 9)),
    "raw deflate": ("deflate", deflated(PAGE, -15)),
    "br": ("br", brotli.compress(PAGE)),
    "zstd": ("zstd", zstd.compress(PAGE)),
    "two codings": ("br, gzip", gzipped(brotli.compress(PAGE))),
    "identity": ("identity", PAGE),
    "capitals": ("GZIP", gzipped(PAGE)),
    "a lie: gzip": ("gzip", PAGE),
    "a lie: br": ("br", PAGE),
    "a lie: deflate": ("deflate", PAGE),
    "a lie: zstd": ("zstd", PAGE),
    "a lie: gzip twice": ("gzip, gzip", gzipped(PAGE)),
    "an unknown coding": ("sdch", PAGE),
}


@pytest.mark.parametrize(("coding", "packed"), PACKED.values(), ids=PACKED)
async def test_a_body_is_unpacked(engine, coding, packed):
    assert await body_of(engine, reply(packed, f"Content-Encoding: {coding}")) == PAGE


@pytest.mark.parametrize(("coding", "packed"), PACKED.values(), ids=PACKED)
async def test_a_body_is_unpacked_whatever_pieces_it_comes_in(engine, coding, packed):
    async def in_pieces(asked: Asked) -> None:
        await asked.send(head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", f"Content-Encoding: {coding}"))
        for start in range(0, len(packed), 211):
            piece = packed[start : start + 211]
            await asked.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            await asyncio.sleep(0)
        await asked.send(b"0\r\n\r\n")

    assert await body_of(engine, in_pieces) == PAGE


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
async def test_nothing_unpacks_to_nothing(engine, coding):
    assert await body_of(engine, reply(b"", f"Content-Encoding: {coding}")) == b""


async def test_the_whole_of_a_large_page_comes(engine):
    page = bytes(range(256)) * 20_000
    assert await body_of(engine, reply(page)) == page
    assert await body_of(engine, reply(zlib.compress(page, 1), "Content-Encoding: deflate")) == page


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
async def test_garbage_in_the_middle_is_no_page(engine, coding):
    packed = bytearray(PACKED[coding][1])
    packed[len(packed) // 2 : len(packed) // 2 + 8] = b"\xff\x00\xff\x00\xa5\x5a\xa5\x5a"
    packed[-8:] = b"\xff" * 8

    with pytest.raises(DecodingFailed, match=f"no {coding}"):
        await body_of(engine, reply(bytes(packed), f"Content-Encoding: {coding}"))


async def test_no_honest_body_is_in_three_codings(engine):
    with pytest.raises(DecodingFailed, match="3 codings"):
        await body_of(engine, reply(gzipped(gzipped(gzipped(PAGE))), "Content-Encoding: gzip, gzip, gzip"))


CUT = {
    "length": reply(PAGE)[:-100],
    "chunk": head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + b"%x\r\n%b" % (len(PAGE), PAGE[:-100]),
    "between chunks": head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + b"%x\r\n%b\r\n" % (len(PAGE) - 100, PAGE[:-100]),
    "gzip": reply(gzipped(PAGE)[:-20], "Content-Encoding: gzip"),
    "deflate": reply(deflated(PAGE, 15)[:-20], "Content-Encoding: deflate"),
    "raw deflate": reply(deflated(PAGE, -15)[:-20], "Content-Encoding: deflate"),
    "br": reply(brotli.compress(PAGE)[:-20], "Content-Encoding: br"),
    "zstd": reply(zstd.compress(PAGE + bytes(1000))[:-5], "Content-Encoding: zstd"),
    "length and gzip": reply(gzipped(PAGE), "Content-Encoding: gzip")[:-20],
}


@pytest.mark.parametrize("answer", CUT.values(), ids=CUT)
async def test_a_body_that_ends_early_is_an_error(engine, answer):
    with pytest.raises(IncompleteResponse):
        await body_of(engine, answer)


@pytest.mark.parametrize("answer", CUT.values(), ids=CUT)
async def test_a_body_that_ends_early_is_delivered_and_marked_if_that_is_asked(engine, answer):
    async with RawServer(answer) as server:
        response = await fetch(engine, server.url(), {"DOWNLOAD_FAIL_ON_DATALOSS": False})

    assert response.truncated
    assert PAGE.startswith(response.body) or response.body == PAGE + bytes(1000)[: len(response.body) - len(PAGE)]


async def test_one_request_can_ask_for_what_there_is_of_its_body(engine):
    async with RawServer(CUT["length"]) as server:
        response = await fetch(engine, server.url(), meta={"download_fail_on_dataloss": False})

    assert (response.body, response.truncated) == (PAGE[:-100], True)


async def test_a_reset_in_the_body_ends_it_early(engine):
    async def broken(asked: Asked) -> None:
        await asked.send(head("HTTP/1.1 200 OK", "Content-Length: 5000"), b"half")
        await asyncio.sleep(0.02)
        asked.reset()

    with pytest.raises(IncompleteResponse):
        await body_of(engine, broken)


async def test_a_page_that_its_coding_proves_whole_is_taken_in_spite_of_a_wrong_length(engine):
    packed = gzipped(PAGE)
    answer = head("HTTP/1.1 200 OK", "Content-Encoding: gzip", f"Content-Length: {len(PAGE)}") + packed

    assert await body_of(engine, answer) == PAGE


async def endless(asked: Asked) -> None:
    """200 MB of chunks, unless the client has enough."""
    await asked.send(head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"))
    for _ in range(3200):
        await asked.send(b"10000\r\n" + bytes(1 << 16) + b"\r\n")


TOO_LARGE = {
    "announced": head("HTTP/1.1 200 OK", "Content-Length: 50000000") + b"x",
    "chunked": endless,
    "until close": head("HTTP/1.1 200 OK", "Connection: close") + bytes(1_500_000),
    "gzip": reply(gzipped(bytes(10_000_000)), "Content-Encoding: gzip"),
    "deflate": reply(deflated(bytes(10_000_000), 15), "Content-Encoding: deflate"),
    "br": reply(brotli.compress(bytes(10_000_000)), "Content-Encoding: br"),
    "zstd": reply(zstd.compress(bytes(10_000_000)), "Content-Encoding: zstd"),
    "nested": reply(gzipped(gzipped(bytes(10_000_000))), "Content-Encoding: gzip, gzip"),
}


@pytest.mark.parametrize("answer", TOO_LARGE.values(), ids=TOO_LARGE)
async def test_a_body_is_never_larger_than_allowed(engine, answer):
    with pytest.raises(ResponseTooLarge):
        await body_of(engine, answer, {"DOWNLOAD_MAXSIZE": 1_000_000})


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "nested"])
async def test_a_bomb_is_known_by_how_much_it_unpacks_to(engine, coding):
    with pytest.raises(ResponseTooLarge, match="unpack to"):
        await body_of(engine, TOO_LARGE[coding], {"DOWNLOAD_MAXSIZE": 0})


async def test_a_page_of_the_largest_size_is_allowed(engine):
    page = bytes(100_000)
    assert await body_of(engine, reply(page), {"DOWNLOAD_MAXSIZE": 100_000}) == page
    assert await body_of(engine, reply(zlib.compress(page), "Content-Encoding: deflate"), {"DOWNLOAD_MAXSIZE": 100_000}) == page


async def test_one_request_can_allow_more_or_less(engine):
    page = bytes(100_000)
    assert await body_of(engine, reply(page), {"DOWNLOAD_MAXSIZE": 1000}, meta={"download_maxsize": 0}) == page
    with pytest.raises(ResponseTooLarge):
        await body_of(engine, reply(page), meta={"download_maxsize": 1000})


async def test_a_refused_body_is_not_read_on_and_the_next_request_is_answered(engine):
    sent = 0

    async def counting(asked: Asked) -> None:
        nonlocal sent
        await asked.send(head("HTTP/1.1 200 OK", "Content-Length: 200000000"))
        for _ in range(2000):
            await asked.send(bytes(100_000))
            sent += 100_000

    async with RawServer(counting, reply(PAGE)) as server, opened(engine) as downloaders:
        with pytest.raises(ResponseTooLarge, match="200000000 bytes"):
            await downloaders.fetch(Request(server.url()))
        page = await downloaders.fetch(Request(server.url()))

    assert page.body == PAGE
    assert sent < 20_000_000
