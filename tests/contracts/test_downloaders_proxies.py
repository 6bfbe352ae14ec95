"""What every downloader promises about proxies: credentials for the proxy go to that proxy, and to nobody else."""

from __future__ import annotations

import ssl
from base64 import b64encode

import pytest
import trustme

from openoctopus.exceptions import BlockedAddress, DownloadTimeout, InvalidRequest, ProxyFailed
from openoctopus.http import Request
from tests.downloaders.engines import ENGINES, fetch, opened
from tests.downloaders.servers import Asked, HttpProxy, RawServer, SocksProxy, head, reply

HUSH = "Basic " + b64encode(b"user:p@ss").decode()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("shop.example").configure_cert(context)
    return context


@pytest.fixture(params=["http", "https"])
async def target(request: pytest.FixtureRequest, context: ssl.SSLContext):
    async with RawServer(reply(b"fine"), keep=True, context=context if request.param == "https" else None) as server:
        yield server


def assert_nothing_was_told(target: RawServer) -> None:
    assert all("proxy" not in name.lower() and "dXNlc" not in value for asked in target.asked for name, value in asked.headers)


async def test_a_request_goes_through_its_http_proxy(engine, target):
    """The proxy resolves the name: nobody here could."""
    async with HttpProxy(HUSH) as proxy:
        meta = {"proxy": f"http://user:p%40ss@127.0.0.1:{proxy.port}"}
        page = await fetch(engine, target.url("/a", "shop.example"), {"VERIFY_TLS": False}, meta=meta)

    assert (page.body, page.ip_address) == (b"fine", "")
    assert proxy.asked[0].target == f"shop.example:{target.port}"
    assert (target.asked[0].target, target.asked[0].header("Host")) == ("/a", f"shop.example:{target.port}")
    assert_nothing_was_told(target)


async def test_what_a_request_says_to_its_proxy_goes_to_the_proxy(engine, target):
    async with HttpProxy(HUSH) as proxy:
        meta, headers = {"proxy": f"http://127.0.0.1:{proxy.port}"}, {"Proxy-Authorization": HUSH}
        page = await fetch(engine, target.url(host="shop.example"), {"VERIFY_TLS": False}, meta=meta, headers=headers)

    assert page.body == b"fine"
    assert_nothing_was_told(target)


async def test_what_is_said_to_a_proxy_is_not_said_where_there_is_none(engine):
    async with RawServer(reply()) as server:
        await fetch(engine, server.url(), headers={"Proxy-Authorization": HUSH})

    assert_nothing_was_told(server)


async def test_one_proxy_does_not_hear_of_another(engine, target):
    async with HttpProxy(HUSH) as one, HttpProxy() as other, opened(engine, VERIFY_TLS=False) as downloaders:
        url = target.url(host="shop.example")
        for proxy in (f"http://user:p%40ss@127.0.0.1:{one.port}", f"http://127.0.0.1:{other.port}") * 2:
            await downloaders.fetch(Request(url, meta={"proxy": proxy}))

    assert {asked.headers.get("proxy-authorization") for asked in one.asked} == {HUSH}
    assert {asked.headers.get("proxy-authorization") for asked in other.asked} == {None}
    assert one.asked
    assert other.asked


async def test_a_proxied_connection_is_not_used_for_a_direct_request(engine):
    async with RawServer(reply(b"fine"), keep=True) as server, HttpProxy() as proxy, opened(engine) as downloaders:
        await downloaders.fetch(Request(server.url(), meta={"proxy": f"http://127.0.0.1:{proxy.port}"}))
        await downloaders.fetch(Request(server.url()))
        await downloaders.fetch(Request(server.url(), meta={"proxy": ""}))

    assert len(proxy.asked) == 1


async def test_a_proxy_that_wants_other_credentials(engine, target):
    async with HttpProxy(HUSH) as proxy:
        proxied = {"proxy": f"http://user:wrong@127.0.0.1:{proxy.port}"}
        with pytest.raises(ProxyFailed, match=r"\*\*\*@127.0.0.1") as failure:
            await fetch(engine, target.url(host="shop.example"), {"VERIFY_TLS": False}, meta=proxied)

    assert failure.value.reason == "proxy"
    assert "wrong" not in str(failure.value)
    assert target.asked == []


@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
async def test_a_proxy_that_is_not_there(engine, target, scheme):
    with pytest.raises(ProxyFailed):
        await fetch(engine, target.url(), {"VERIFY_TLS": False}, meta={"proxy": f"{scheme}://127.0.0.1:9"})


async def test_a_proxy_that_hangs_up(engine, target):
    async with RawServer(b"") as proxy:
        with pytest.raises(ProxyFailed):
            await fetch(engine, target.url(), {"VERIFY_TLS": False}, meta={"proxy": proxy.url()})


async def test_a_proxy_that_never_answers(engine, target):
    async def never(asked: Asked) -> None:
        await asked.reader.read()

    async with RawServer(never) as proxy:
        with pytest.raises((DownloadTimeout, ProxyFailed)):
            await fetch(engine, target.url(), {"VERIFY_TLS": False, "DOWNLOAD_TIMEOUT": 0.4}, meta={"proxy": proxy.url()})


async def test_what_a_proxy_says_about_its_target_is_an_answer(engine):
    async with RawServer(head("HTTP/1.1 502 Bad Gateway", "Content-Length: 0")) as proxy:
        page = await fetch(engine, "http://shop.example/", meta={"proxy": proxy.url()})

    assert page.status == 502


@pytest.mark.parametrize("credentials", ["", "user:p@ss"])
async def test_a_request_goes_through_its_socks_proxy_which_resolves_the_name(engine, target, credentials):
    async with SocksProxy(credentials) as proxy:
        user = "user:p%40ss@" if credentials else ""
        meta = {"proxy": f"socks5h://{user}127.0.0.1:{proxy.port}"}
        page = await fetch(engine, target.url(host="shop.example"), {"VERIFY_TLS": False}, meta=meta)

    assert (page.body, page.ip_address) == (b"fine", "")
    assert (proxy.asked[0].target, proxy.asked[0].headers["credentials"]) == (f"shop.example:{target.port}", credentials)
    assert_nothing_was_told(target)


async def test_socks5_resolves_the_name_here(engine, target):
    async with SocksProxy() as proxy:
        meta = {"proxy": f"socks5://127.0.0.1:{proxy.port}"}
        page = await fetch(engine, target.url(host="localhost"), {"VERIFY_TLS": False}, meta=meta)

    assert page.body == b"fine"
    assert proxy.asked[0].target == f"127.0.0.1:{target.port}"


async def test_a_socks_proxy_that_wants_other_credentials(engine, target):
    async with SocksProxy("user:right") as proxy:
        with pytest.raises(ProxyFailed):
            await fetch(
                engine, target.url(), {"VERIFY_TLS": False}, meta={"proxy": f"socks5h://user:wrong@127.0.0.1:{proxy.port}"}
            )


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "[::1]", "127.0.0.2"])
async def test_a_proxy_is_no_way_inside(engine, host):
    async with HttpProxy() as proxy:
        with pytest.raises(BlockedAddress):
            await fetch(engine, f"http://{host}/", meta={"proxy": f"http://127.0.0.1:{proxy.port}"})

    assert proxy.asked == []


@pytest.mark.parametrize("proxy", ["ftp://127.0.0.1:1", "127.0.0.1:8080", "http://", "socks5://", "http://127.0.0.1:http"])
async def test_what_is_no_proxy_is_told(engine, proxy):
    with pytest.raises(InvalidRequest):
        await fetch(engine, "http://shop.example/", meta={"proxy": proxy})
