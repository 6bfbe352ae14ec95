"""What every downloader promises about pages that are taken while they arrive."""

from __future__ import annotations

import asyncio

import pytest

from openoctopus.exceptions import BlockedAddress, IncompleteResponse, ResponseTooLarge
from openoctopus.http import Request
from tests.contracts.test_downloaders_bodies import CUT, PACKED, PAGE, TOO_LARGE
from tests.downloaders.engines import ENGINES, opened, streamed
from tests.downloaders.servers import Asked, RawServer, head, reply


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_the_head_is_there_before_the_body(engine):
    more = asyncio.Event()

    async def slowly(asked: Asked) -> None:
        await asked.send(head("HTTP/1.1 200 OK", "X-One: 1", "Content-Length: 6"), b"abc")
        await more.wait()
        await asked.send(b"def")

    async with RawServer(slowly) as server, streamed(engine, server.url()) as page:
        chunks = aiter(page)
        first = await anext(chunks)
        more.set()
        rest = [chunk async for chunk in chunks]

    assert (page.status, page.headers["X-One"], page.ip_address, page.protocol) == (200, "1", "127.0.0.1", "HTTP/1.1")
    assert (first, b"".join(rest), page.url) == (b"abc", b"def", server.url())


@pytest.mark.parametrize(("coding", "packed"), PACKED.values(), ids=PACKED)
async def test_chunks_are_unpacked(engine, coding, packed):
    async with RawServer(reply(packed, f"Content-Encoding: {coding}")) as server, streamed(engine, server.url()) as page:
        assert b"".join([chunk async for chunk in page]) == PAGE


async def test_a_stream_may_be_larger_than_memory_should_be(engine):
    async def large(asked: Asked) -> None:
        await asked.send(head("HTTP/1.1 200 OK", "Content-Length: 67108864"))
        for _ in range(64):
            await asked.send(bytes(1 << 20))

    async with RawServer(large) as server, streamed(engine, server.url(), {"DOWNLOAD_MAXSIZE": 0}) as page:
        sizes = [len(chunk) async for chunk in page]

    assert sum(sizes) == 64 << 20
    assert max(sizes) < 4 << 20


@pytest.mark.parametrize("answer", TOO_LARGE.values(), ids=TOO_LARGE)
async def test_a_stream_is_never_larger_than_allowed(engine, answer):
    async with RawServer(answer) as server, streamed(engine, server.url(), {"DOWNLOAD_MAXSIZE": 1_000_000}) as page:
        with pytest.raises(ResponseTooLarge):
            async for _ in page:
                pass


@pytest.mark.parametrize("answer", CUT.values(), ids=CUT)
async def test_a_stream_that_ends_early_says_so(engine, answer):
    async with RawServer(answer) as server, opened(engine) as downloaders:
        async with downloaders.stream(Request(server.url())) as page:
            with pytest.raises(IncompleteResponse):
                async for _ in page:
                    pass
        async with downloaders.stream(Request(server.url(), meta={"download_fail_on_dataloss": False})) as page:
            async for _ in page:
                pass

    assert page.truncated


async def test_a_stream_that_is_read_to_its_end_keeps_its_connection(engine):
    async with RawServer(reply(PAGE), keep=True) as server, opened(engine) as downloaders:
        for _ in range(3):
            async with downloaders.stream(Request(server.url())) as page:
                assert b"".join([chunk async for chunk in page]) == PAGE

    assert server.connections == 1


async def test_a_stream_that_is_left_gives_its_connection_up(engine):
    gone = asyncio.Event()

    async def until_nobody_listens(asked: Asked) -> None:
        await asked.send(head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"))
        try:
            while True:
                await asked.send(b"10000\r\n" + bytes(1 << 16) + b"\r\n")
        except OSError:
            gone.set()

    async with RawServer(until_nobody_listens, reply(PAGE)) as server, opened(engine) as downloaders:
        async with downloaders.stream(Request(server.url())) as page:
            await anext(aiter(page))
        await asyncio.wait_for(gone.wait(), 5)
        page = await downloaders.fetch(Request(server.url()))

    assert page.body == PAGE


async def test_a_stream_follows_the_rules_of_every_request(engine):
    async with opened(engine, start_hosts=()) as downloaders:
        with pytest.raises(BlockedAddress):
            async with downloaders.stream(Request("http://127.0.0.1:8000/")):
                pass


async def test_an_answer_without_a_body_streams_nothing(engine):
    answer = head("HTTP/1.1 200 OK", "Content-Length: 5000")
    async with RawServer(answer) as server, streamed(engine, server.url(), method="HEAD") as page:
        assert [chunk async for chunk in page] == []
