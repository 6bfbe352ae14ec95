"""DNS_SERVERS are asked instead of the system's name servers."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator

import pytest

from openoctopus.exceptions import BlockedAddress, NameNotResolved
from openoctopus.http import Request
from tests.downloaders.engines import opened
from tests.downloaders.servers import RawServer, reply

pytest.importorskip("aiodns")


class NameServer(asyncio.DatagramProtocol):
    """Knows the IPv4 addresses of a few names (RFC 1035); the others do not exist."""

    def __init__(self, table: dict[str, str]) -> None:
        self.table = table
        self.asked: set[str] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, sender: tuple[str, int]) -> None:
        labels, place = [], 12
        while size := data[place]:
            labels.append(data[place + 1 : place + 1 + size].decode())
            place += 1 + size
        question, kind = data[12 : place + 5], struct.unpack("!H", data[place + 1 : place + 3])[0]
        name = ".".join(labels)
        self.asked.add(name)
        address = self.table.get(name)
        answer = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04" + socket.inet_aton(address) if address and kind == 1 else b""
        flags = 0x8180 if address else 0x8183
        header = struct.pack("!6H", int.from_bytes(data[:2], "big"), flags, 1, 1 if answer else 0, 0, 0)
        self.transport.sendto(header + question + answer, sender)


@pytest.fixture
async def name_server() -> AsyncIterator[tuple[NameServer, str]]:
    table = {"shop.example": "127.0.0.1", "public.example": "192.88.98.1"}
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: NameServer(table), local_addr=("127.0.0.1", 0)
    )
    yield server, f"127.0.0.1:{transport.get_extra_info('sockname')[1]}"
    transport.close()


@pytest.mark.parametrize("engine", ["http", "aiohttp"])
async def test_a_name_is_asked_of_the_name_servers_of_the_settings(engine, name_server):
    server, address = name_server
    async with (
        RawServer(reply(b"fine", "X-Case: 1")) as site,
        opened(engine, ("shop.example",), DNS_SERVERS=[address]) as downloaders,
    ):
        page = await downloaders.fetch(Request(site.url(host="shop.example")))
        with pytest.raises(NameNotResolved, match=r"nowhere\.example"):
            await downloaders.fetch(Request(site.url(host="nowhere.example")))

    assert (page.body, page.ip_address) == (b"fine", "127.0.0.1")
    assert list(page.headers)[-1] == "X-Case", "aiohttp fetches, because wreq asks the system"
    assert {"shop.example", "nowhere.example"} <= server.asked


async def test_what_name_servers_say_is_judged(name_server):
    _, address = name_server
    async with opened("http", (), DNS_SERVERS=[address]) as downloaders:
        with pytest.raises(BlockedAddress, match=r"shop\.example is at 127\.0\.0\.1"):
            await downloaders.fetch(Request("http://shop.example:8000/"))
