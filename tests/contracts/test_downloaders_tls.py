"""What every downloader promises about TLS and HTTP/2."""

from __future__ import annotations

import asyncio
import datetime
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from hypercorn.asyncio import serve
from hypercorn.config import Config

from openoctopus.exceptions import CertificateInvalid, ConnectionFailed, DownloadTimeout, SettingsError
from openoctopus.http import Request
from tests.downloaders.engines import ENGINES, fetch, opened
from tests.downloaders.servers import RawServer, reply


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> str:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def context_of(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


@pytest.fixture
def good(authority: trustme.CA) -> ssl.SSLContext:
    return context_of(authority.issue_cert("127.0.0.1", "shop.example"))


async def test_an_authority_can_be_added(engine, good, ca_file):
    async with RawServer(reply(b"fine"), context=good) as server:
        page = await fetch(engine, server.url(), {"TLS_CA_FILE": ca_file})

    assert (page.body, page.ip_address) == (b"fine", "127.0.0.1")


async def test_the_name_is_told_and_verified_where_hosts_maps_it(engine, good, ca_file):
    options = {"TLS_CA_FILE": ca_file, "HOSTS": {"shop.example": "127.0.0.1", "other.example": "127.0.0.1"}}
    async with RawServer(reply(b"fine"), context=good) as server, opened(engine, (), **options) as downloaders:
        page = await downloaders.fetch(Request(server.url(host="shop.example")))
        with pytest.raises(CertificateInvalid, match=r"other\.example"):
            await downloaders.fetch(Request(server.url(host="other.example")))

    assert page.body == b"fine"
    assert server.asked[0].header("Host") == f"shop.example:{server.port}"


async def test_an_unknown_authority_is_refused(engine, good):
    async with RawServer(reply(), context=good) as server:
        with pytest.raises(CertificateInvalid) as failure:
            await fetch(engine, server.url())

    assert (failure.value.reason, server.asked) == ("certificate", [])


async def test_an_expired_certificate_is_refused(engine, authority, ca_file):
    long_ago = datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1)
    expired = authority.issue_cert("127.0.0.1", not_before=long_ago[0], not_after=long_ago[1])
    async with RawServer(reply(), context=context_of(expired)) as server:
        with pytest.raises(CertificateInvalid):
            await fetch(engine, server.url(), {"TLS_CA_FILE": ca_file})


async def test_a_certificate_of_another_name_is_refused(engine, authority, ca_file):
    async with RawServer(reply(), context=context_of(authority.issue_cert("other.example"))) as server:
        with pytest.raises(CertificateInvalid):
            await fetch(engine, server.url(), {"TLS_CA_FILE": ca_file})


async def test_a_host_can_be_excepted_and_that_is_said_once(engine, good, caplog):
    caplog.set_level(logging.WARNING)
    options = {"start_hosts": {"127.0.0.1", "localhost"}, "VERIFY_TLS_EXCEPT": ["127.0.0.1"]}
    async with RawServer(reply(b"fine"), context=good) as server, opened(engine, **options) as downloaders:
        pages = [await downloaders.fetch(Request(server.url())) for _ in range(3)]
        with pytest.raises(CertificateInvalid):
            await downloaders.fetch(Request(server.url(host="localhost")))

    assert {page.body for page in pages} == {b"fine"}
    assert caplog.messages.count("the certificate of 127.0.0.1 is not verified (VERIFY_TLS_EXCEPT)") == 1


async def test_verification_can_be_switched_off(engine, good, caplog):
    async with RawServer(reply(b"fine"), context=good) as server:
        page = await fetch(engine, server.url(), {"VERIFY_TLS": False})

    assert page.body == b"fine"
    assert "certificates are not verified" in caplog.text


async def test_what_does_not_speak_tls_fails(engine):
    async with RawServer(b"HTTP/1.1 400 Bad Request\r\n\r\n") as server:
        with pytest.raises((ConnectionFailed, DownloadTimeout)):
            await fetch(engine, server.url().replace("http:", "https:"), {"CONNECT_TIMEOUT": 1})


async def test_a_missing_authority_file_is_told_at_the_start(engine, tmp_path):
    with pytest.raises(SettingsError, match="TLS_CA_FILE"):
        await fetch(engine, "https://127.0.0.1/", {"TLS_CA_FILE": str(tmp_path / "nowhere.pem")})


@asynccontextmanager
async def http2_site(authority: trustme.CA, folder: Path, heads: list[dict[str, Any]]) -> AsyncIterator[str]:
    """A site that speaks HTTP/2, with long headers and a page of 100 kB."""
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(str(folder / "key.pem"))
    certificate.cert_chain_pems[0].write_to_path(str(folder / "cert.pem"))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    port = listener.getsockname()[1]
    config = Config.from_mapping(
        # The server closes the socket that it is given.
        bind=[f"fd://{listener.detach()}"],
        certfile=str(folder / "cert.pem"),
        keyfile=str(folder / "key.pem"),
        errorlog=None,
    )

    async def site(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            heads.append(scope)
            while (await receive()).get("more_body"):
                pass
            headers = [(b"x-long", b"a" * 20_000), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": bytes(100_000)})

    done = asyncio.Event()
    running = asyncio.create_task(serve(site, config, shutdown_trigger=done.wait))
    yield f"https://127.0.0.1:{port}"
    done.set()
    await running


async def test_http2_is_spoken_where_it_is_offered(engine, authority, ca_file, tmp_path):
    heads: list[dict[str, Any]] = []
    async with http2_site(authority, tmp_path, heads) as site, opened(engine, TLS_CA_FILE=ca_file) as downloaders:
        pages = [await downloaders.fetch(Request(f"{site}/{n}", headers={"X-One": "1"})) for n in range(3)]
        post = await downloaders.fetch(Request(site, method="POST", body=b"x" * 1000))

    # aiohttp speaks HTTP/1.1 only.
    spoken = "HTTP/2" if engine == "http" else "HTTP/1.1"
    assert {page.protocol for page in pages} == {spoken}
    assert {len(page.body) for page in [*pages, post]} == {100_000}
    assert len(pages[0].headers["X-Long"]) == 20_000
    assert pages[0].headers.getlist("Set-Cookie") == ["a=1", "b=2"]
    assert (b"x-one", b"1") in [(name.lower(), value) for name, value in heads[0]["headers"]]


@pytest.mark.parametrize("browser", ["chrome", "firefox", "safari", "edge", "Chrome137"])
async def test_wreq_speaks_as_a_browser(authority, ca_file, tmp_path, browser):
    heads: list[dict[str, Any]] = []
    async with http2_site(authority, tmp_path, heads) as site:
        page = await fetch("http", site, {"TLS_CA_FILE": ca_file, "IMPERSONATE": browser}, headers={"Accept-Language": "zh"})

    sent = {name.decode(): value.decode() for name, value in heads[0]["headers"]}
    assert page.protocol == "HTTP/2"
    assert browser.lower().removesuffix("137") in sent["user-agent"].lower().replace("edg/", "edge/")
    assert sent["accept-language"] == "zh"
    assert "gzip" in sent["accept-encoding"]
