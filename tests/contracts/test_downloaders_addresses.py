"""What every downloader promises about where requests go: never inside, unless the user named it."""

from __future__ import annotations

import asyncio
import socket

import pytest

from openoctopus.exceptions import BlockedAddress, SettingsError
from openoctopus.http import Request
from tests.downloaders.engines import ENGINES, fetch, opened
from tests.downloaders.servers import RawServer, reply


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What the system's resolver says of some names: each look-up takes the next address, the last one stays."""
    table: dict[str, list[str]] = {}
    ask = socket.getaddrinfo

    def answer(host, port, *args, **kwargs):
        found = table.get(host)
        if found is None:
            return ask(host, port, *args, **kwargs)
        address = found.pop(0) if len(found) > 1 else found[0]
        return [info for one in address.split() for info in ask(one, port, *args, **kwargs)]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return table


INSIDE = [
    "127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.100.100.200", "0.0.0.0", "0.1.2.3", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
    "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "168.63.129.16", "[::1]", "[::]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]",
    "[2002:7f00:1::]", "[2002:a00:1::1]", "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]", "[fec0::1]", "[ff02::1]",
    "[2001:db8::1]", "[2001::1]", "[100::1]", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "127.1", "127.0.0.1.",
    "%31%32%37.0.0.1", "１２７.0.0.1", "127。0。0。1", "localhost", "LOCALHOST",
]  # fmt: skip


@pytest.mark.parametrize("host", INSIDE)
async def test_an_inner_address_is_refused_however_it_is_written(engine, host):
    async with RawServer(reply()) as server, opened(engine, start_hosts=()) as downloaders:
        with pytest.raises(BlockedAddress):
            await downloaders.fetch(Request(f"http://{host}:{server.port}/"))

    assert server.connections == 0


@pytest.mark.parametrize("port", [1, 22, 25, 110, 6379, 6667, 11211])
async def test_a_port_that_browsers_refuse_is_refused(engine, port):
    with pytest.raises(BlockedAddress, match=f"port {port}"):
        await fetch(engine, f"http://127.0.0.1:{port}/")


async def test_inner_addresses_can_be_allowed(engine):
    async with RawServer(reply(b"fine")) as server, opened(engine, (), ALLOW_PRIVATE_ADDRESSES=True) as downloaders:
        page = await downloaders.fetch(Request(server.url()))
        named = await downloaders.fetch(Request(server.url(host="localhost")))

    assert (page.body, named.body) == (b"fine", b"fine")
    assert named.ip_address == "127.0.0.1"


async def test_a_start_url_may_name_an_inner_host_also_later(engine):
    start_hosts: set[str] = set()
    async with RawServer(reply(b"fine")) as server, opened(engine, start_hosts) as downloaders:
        with pytest.raises(BlockedAddress, match=r"127\.0\.0\.1 is a loopback address"):
            await downloaders.fetch(Request(server.url()))
        start_hosts.add("127.0.0.1")
        page = await downloaders.fetch(Request(server.url()))
        with pytest.raises(BlockedAddress):
            await downloaders.fetch(Request(server.url(host="127.0.0.2")))

    assert page.body == b"fine"


async def test_hosts_of_the_settings_are_meant(engine):
    table = {"Shop.Example": "127.0.0.1", "two.example": ["::1", "127.0.0.1"]}
    async with RawServer(reply(b"fine")) as server, opened(engine, (), HOSTS=table) as downloaders:
        pages = [await downloaders.fetch(Request(server.url(host=host))) for host in ("shop.example", "two.example")]

    assert [page.body for page in pages] == [b"fine", b"fine"]
    assert server.asked[0].header("Host") == f"shop.example:{server.port}"


async def test_hosts_of_the_settings_are_addresses(engine):
    with pytest.raises(SettingsError, match=r"HOSTS: shop\.example needs an address"):
        await fetch(engine, "http://127.0.0.1/", {"HOSTS": {"shop.example": "other.example"}})


async def test_a_name_that_leads_inside_is_refused(engine, names):
    names["inside.example"] = ["127.0.0.1"]
    names["both.example"] = ["93.184.216.34 127.0.0.1"]
    async with RawServer(reply()) as server, opened(engine, ()) as downloaders:
        for host in ("inside.example", "both.example"):
            with pytest.raises(BlockedAddress, match=f"{host} is at 127.0.0.1, which is a loopback address"):
                await downloaders.fetch(Request(server.url(host=host)))

    assert server.connections == 0


@pytest.mark.parametrize("start_hosts", [(), ("rebinding.example",)], ids=["a link", "a start URL"])
async def test_a_name_that_moves_inside_reaches_nobody(engine, names, start_hosts):
    """DNS rebinding: public when it is judged, the loopback at every look-up after it."""
    names["rebinding.example"] = ["192.88.98.1", "127.0.0.1"]
    async with RawServer(reply()) as server, opened(engine, start_hosts, CONNECT_TIMEOUT=0.3) as downloaders:
        for _ in range(2):
            await asyncio.gather(downloaders.fetch(Request(server.url(host="rebinding.example"))), return_exceptions=True)

    assert server.connections == 0


async def test_a_start_host_that_began_in_public_may_not_move_inside(engine, names, monkeypatch):
    monkeypatch.setattr("openoctopus.downloaders.address.KEPT_SECONDS", 0.0)
    monkeypatch.setattr("openoctopus.downloaders.wire.KEPT_SECONDS", 0.0)
    names["moving.example"] = ["192.88.98.1", "127.0.0.1"]
    async with RawServer(reply()) as server, opened(engine, ("moving.example",), DOWNLOAD_TIMEOUT=0.3) as downloaders:
        await asyncio.gather(downloaders.fetch(Request(server.url(host="moving.example"))), return_exceptions=True)
        with pytest.raises(BlockedAddress):
            await downloaders.fetch(Request(server.url(host="moving.example")))

    assert server.connections == 0


async def test_a_name_is_looked_up_once_for_all_who_ask(engine, names, monkeypatch):
    asked = []
    answer = socket.getaddrinfo

    def counting(host, *args, **kwargs):
        asked.append(host)
        return answer(host, *args, **kwargs)

    names["busy.example"] = ["127.0.0.1"]
    monkeypatch.setattr(socket, "getaddrinfo", counting)
    async with RawServer(reply(b"fine")) as server, opened(engine, ("busy.example",)) as downloaders:
        pages = await asyncio.gather(*(downloaders.fetch(Request(server.url(host="busy.example"))) for _ in range(10)))

    assert {page.body for page in pages} == {b"fine"}
    assert asked.count("busy.example") == 1


async def test_the_next_address_is_tried_where_one_does_not_answer(engine, names):
    names["two.example"] = ["127.0.0.9 127.0.0.1"]
    async with RawServer(reply(b"fine")) as server, opened(engine, ("two.example",)) as downloaders:
        page = await downloaders.fetch(Request(server.url(host="two.example")))

    assert (page.body, page.ip_address) == (b"fine", "127.0.0.1")
