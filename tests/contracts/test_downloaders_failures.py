"""What every downloader promises when something fails: an error of our own that says what, in time, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import gzip
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from openoctopus import Spider, crawl
from openoctopus.exceptions import (
    BadResponse,
    ConnectionFailed,
    ConnectTimeout,
    DownloadTimeout,
    FetchError,
    IncompleteResponse,
    InvalidRequest,
    NameNotResolved,
    NotConnected,
    SettingsError,
)
from openoctopus.http import Request
from tests.downloaders.engines import ENGINES, fetch, opened
from tests.downloaders.servers import Asked, RawServer, head, reply


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def full_port() -> Iterator[int]:
    """A port whose queue is full, so that a connection is neither made nor refused."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield int(listener.getsockname()[1])
        for one in waiting:
            one.close()


async def never(asked: Asked) -> None:
    await asyncio.sleep(60)


async def drip(asked: Asked) -> None:
    await asked.send(head("HTTP/1.1 200 OK", "Content-Length: 5000"))
    while True:
        await asked.send(b".")
        await asyncio.sleep(0.02)


async def drip_a_head(asked: Asked) -> None:
    await asked.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        await asked.send(b"X-Drop: 1\r\n")
        await asyncio.sleep(0.02)


async def reset(asked: Asked) -> None:
    asked.reset()


async def test_a_refused_connection(engine, closed_port):
    with pytest.raises(NotConnected, match=f"http://127.0.0.1:{closed_port}/page") as failure:
        await fetch(engine, f"http://127.0.0.1:{closed_port}/page")

    assert failure.value.reason == "connection"
    assert failure.value.__cause__ is not None


async def test_a_name_without_an_address(engine):
    with pytest.raises(NameNotResolved, match=r"nowhere\.invalid"):
        await fetch(engine, "http://nowhere.invalid/")


async def test_a_connection_that_is_not_made_in_time(engine, full_port):
    with pytest.raises(ConnectTimeout, match=r"no connection within 0\.3 s") as failure:
        await fetch(engine, f"http://127.0.0.1:{full_port}/", {"CONNECT_TIMEOUT": 0.3})

    assert isinstance(failure.value, DownloadTimeout)


@pytest.mark.parametrize("server_does", [never, drip, drip_a_head])
async def test_the_time_limit_is_for_the_whole_download(engine, server_does):
    started = time.monotonic()

    async with RawServer(server_does) as server:
        with pytest.raises(DownloadTimeout, match=r"no whole answer within 0\.4 s") as failure:
            await fetch(engine, server.url(), {"DOWNLOAD_TIMEOUT": 0.4})

    assert not isinstance(failure.value, NotConnected)
    assert 0.35 < time.monotonic() - started < 2
    assert len(server.asked) == 1


async def test_one_request_can_have_a_limit_of_its_own(engine):
    async with RawServer(never) as server:
        with pytest.raises(DownloadTimeout, match=r"0\.2 s"):
            await fetch(engine, server.url(), meta={"download_timeout": 0.2})


async def test_silence_can_have_a_limit(engine):
    async with RawServer(never) as server:
        with pytest.raises(DownloadTimeout, match=r"nothing for 0\.2 s"):
            await fetch(engine, server.url(), {"READ_TIMEOUT": 0.2})


@pytest.mark.parametrize("server_does", [reset, b"", b"HTTP/1.1 200 OK\r\nContent-Le"], ids=["reset", "closed", "half a head"])
async def test_no_answer(engine, server_does):
    async with RawServer(server_does) as server:
        with pytest.raises(ConnectionFailed) as failure:
            await fetch(engine, server.url(), method="POST", body=b"x")

    assert not isinstance(failure.value, NotConnected)
    assert len(server.asked) == 1


NO_HTTP = {
    "HTTP/0.9": b"<html>hello</html>",
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n",
    "status": b"HTTP/1.1 abc\r\n\r\n",
    "two lengths": reply(b"ok", "Content-Length: 3"),
    "negative length": head("HTTP/1.1 200 OK", "Content-Length: -3") + b"ok",
    "bad chunk size": head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + b"zz\r\nok\r\n0\r\n\r\n",
    "headers without end": head("HTTP/1.1 200 OK", *[f"X-{n}: {'a' * 1000}" for n in range(3000)]),
}


@pytest.mark.parametrize("answer", NO_HTTP.values(), ids=NO_HTTP)
async def test_an_answer_that_is_not_http(engine, answer):
    async with RawServer(answer) as server:
        with pytest.raises(BadResponse):
            await fetch(engine, server.url())


@pytest.mark.parametrize("seed", range(60))
async def test_whatever_comes_is_a_page_or_an_error_of_ours(engine, seed):
    chance = random.Random(seed)
    well_formed = reply(b"fine" * 50), reply(gzip.compress(b"fine"), "Content-Encoding: gzip")
    answer = bytearray(chance.choice((*NO_HTTP.values(), *well_formed)))
    for _ in range(chance.choice((1, 2, 8))):
        place = chance.randrange(len(answer))
        answer[place : place + chance.randrange(9)] = chance.choice(
            (b"", b"\r\n", b"\0", b":", b"0\r\n\r\n", chance.randbytes(5))
        )

    async with RawServer(bytes(answer)) as server:
        page = asyncio.ensure_future(fetch(engine, server.url(), {"DOWNLOAD_TIMEOUT": 5}))
        await asyncio.wait([page])

    error = page.exception()
    assert error is None or (isinstance(error, FetchError) and server.url() in str(error))


async def test_an_error_does_not_tell_the_credentials_of_its_url(engine, closed_port):
    with pytest.raises(ConnectionFailed) as failure:
        await fetch(engine, f"http://user:hush@127.0.0.1:{closed_port}/")

    assert "***@127.0.0.1" in str(failure.value)
    assert "hush" not in f"{failure.value} {failure.value.__cause__!r}"


@pytest.mark.parametrize("trap", ["TimedOut", "CERTIFICATE_VERIFY_FAILED", "Parse(", "dns%20error", "source:%20TimedOut"])
async def test_a_url_cannot_choose_its_error(engine, closed_port, trap):
    with pytest.raises(ConnectionFailed) as failure:
        await fetch(engine, f"http://127.0.0.1:{closed_port}/{trap}?{trap}")

    assert type(failure.value) is NotConnected


async def first_then_close(asked: Asked) -> None:
    """Promise to keep the connection, and drop it when it is used again."""
    asked.keep = asked.target == "/first"
    if asked.keep or asked.connection > 1:
        await asked.send(reply(b"" if asked.method == "HEAD" else asked.target.encode()))


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
async def test_a_request_is_repeated_on_a_dead_kept_connection(engine, method):
    async with RawServer(first_then_close) as server, opened(engine) as downloaders:
        await downloaders.fetch(Request(server.url("/first")))
        response = await downloaders.fetch(Request(server.url("/second"), method=method))

    assert response.status == 200
    assert [asked.target for asked in server.asked] == ["/first", "/second", "/second"]


async def test_a_post_is_never_sent_twice(engine):
    async with RawServer(first_then_close) as server, opened(engine) as downloaders:
        await downloaders.fetch(Request(server.url("/first")))
        with pytest.raises(ConnectionFailed):
            await downloaders.fetch(Request(server.url("/second"), method="POST", body=b"x"))

    assert [asked.target for asked in server.asked] == ["/first", "/second"]


async def test_a_cancelled_fetch_leaves_nothing_and_spoils_nothing(engine):
    async def half(asked: Asked) -> None:
        if asked.target == "/half":
            await asked.send(head("HTTP/1.1 200 OK", "Content-Length: 1000"), b"half")
            await asked.reader.read()
        elif asked.target == "/none":
            await asked.reader.read()
        else:
            await asked.send(reply(b"fine"))

    async with RawServer(half, keep=True) as server, opened(engine) as downloaders:
        tasks = [asyncio.ensure_future(downloaders.fetch(Request(server.url(path)))) for path in ("/half", "/none") * 5]
        while len(server.asked) < 10:
            await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(5):
            while server.open_connections:
                await asyncio.sleep(0.01)
        page = await downloaders.fetch(Request(server.url("/next")))

    assert all(isinstance(end, asyncio.CancelledError) for end in ends)
    assert page.body == b"fine"


async def test_closing_leaves_no_task_and_no_connection(engine):
    before = asyncio.all_tasks()
    async with RawServer(reply(b"fine"), keep=True) as server:
        async with opened(engine) as downloaders:
            await asyncio.gather(*(downloaders.fetch(Request(server.url())) for _ in range(8)))
        async with asyncio.timeout(5):
            while server.open_connections:
                await asyncio.sleep(0.01)
        left = [task for task in asyncio.all_tasks() - before if "Listener" not in repr(task)]
        gc.collect()

    assert left == []


async def test_several_crawls_share_a_process(engine):
    async with RawServer(reply(b"fine"), keep=True) as server, opened(engine) as one, opened(engine) as other:
        pages = await asyncio.gather(*(crawl.fetch(Request(server.url())) for crawl in (one, other) * 5))

    assert {page.body for page in pages} == {b"fine"}


def test_several_event_loops_follow_each_other(engine):
    async def crawl() -> bytes:
        async with RawServer(reply(b"fine")) as server:
            return (await fetch(engine, server.url())).body

    assert [asyncio.run(crawl()) for _ in range(3)] == [b"fine"] * 3


FORKED = """
import asyncio, os, sys
from tests.downloaders.engines import fetch
from tests.downloaders.servers import RawServer, reply

async def crawl():
    async with RawServer(reply(b"fine")) as server:
        return (await fetch(sys.argv[1], server.url())).body == b"fine"

assert asyncio.run(crawl())
child = os.fork()
if child == 0:
    os._exit(0 if asyncio.run(crawl()) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_can_crawl(engine):
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    run = subprocess.run([sys.executable, "-c", FORKED, engine], cwd=root, timeout=30, check=False)
    assert run.returncode == 0


async def test_an_unknown_downloader_is_named(engine):
    async with opened(engine) as downloaders:
        with pytest.raises(InvalidRequest, match="no downloader 'borwser', only aiohttp, http"):
            await downloaders.fetch(Request("http://127.0.0.1/", downloader="borwser"))


async def test_each_request_can_choose_its_downloader(engine):
    async with RawServer(reply(b"fine", "X-Case: 1")) as server, opened(engine) as downloaders:
        pages = [await downloaders.fetch(Request(server.url(), downloader=name)) for name in ("http", "aiohttp", "")]

    # Only aiohttp keeps the case of names.
    assert [list(page.headers)[-1] for page in pages[:2]] == ["x-case", "X-Case"]


async def test_wreq_says_which_browsers_it_knows():
    with pytest.raises(SettingsError, match="chrome, edge, firefox, safari, or chrome100"):
        await fetch("http", "http://127.0.0.1/", {"IMPERSONATE": "netscape"})


async def test_a_browser_and_aiohttp_can_be_used_side_by_side():
    async with RawServer(reply(b"fine"), keep=True) as server, opened("http", IMPERSONATE="chrome") as downloaders:
        for name in ("", "aiohttp"):
            await downloaders.fetch(Request(server.url(), downloader=name))
        await downloaders.fetch(Request(server.url(), method="PROPFIND"))

    assert ["Chrome" in (asked.header("User-Agent") or "") for asked in server.asked] == [True, False, False]


async def test_aiohttp_does_not_pretend_to_be_a_browser():
    with pytest.raises(SettingsError, match="IMPERSONATE needs wreq"):
        await fetch("aiohttp", "http://127.0.0.1/", {"IMPERSONATE": "chrome"})


async def test_an_incomplete_body_counts_as_incomplete_whatever_wreq_calls_it():
    """Its class of error is the one of wrong codings: only the text tells."""
    async with RawServer(reply(b"x" * 100)[:-50]) as server:
        with pytest.raises(IncompleteResponse) as failure:
            await fetch("http", server.url())

    assert type(failure.value.__cause__).__name__ == "DecodingError"


async def silence(asked: Asked) -> None:
    await asked.reader.read()


async def half_a_body(asked: Asked) -> None:
    await asked.send(head("HTTP/1.1 200 OK", "Content-Length: 1000"), b"half")
    await asked.reader.read()


async def a_body_without_length(asked: Asked) -> None:
    await asked.send(head("HTTP/1.1 200 OK", "Connection: close"), b"half")
    await asked.reader.read()


class Waits(Spider):
    """Asks for sixteen pages, which do not come."""

    name = "waits"

    async def start(self):
        for number in range(16):
            yield Request(self.url, dont_filter=True, cb_kwargs={"number": number})

    def parse(self, response, number):
        yield {"number": number}


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="Linux tells threads and descriptors there")
@pytest.mark.parametrize("server_does", [silence, half_a_body, a_body_without_length])
async def test_cancelled_crawls_do_not_pile_up(engine, server_does):
    """Their threads and descriptors go at once, and not when somebody collects garbage or the time-out comes."""

    def held() -> tuple[int, int]:
        return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

    async def cancelled(url: str) -> None:
        crawling = asyncio.ensure_future(crawl(Waits, url=url, DOWNLOADER=engine, ROBOTSTXT_OBEY=False))
        await asyncio.sleep(0.05)
        crawling.cancel()
        await asyncio.wait([crawling])

    gc.collect()
    gc.disable()
    try:
        async with RawServer(server_does) as server:
            await cancelled(server.url())
            before = held()
            for _ in range(8):
                await cancelled(server.url())
            async with asyncio.timeout(5):
                while any(now > then for now, then in zip(held(), before, strict=True)):
                    await asyncio.sleep(0.05)
    finally:
        gc.enable()
