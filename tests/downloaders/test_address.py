"""Inner addresses are told from those of the Internet."""

from __future__ import annotations

import asyncio
import timeit

import pytest

from openoctopus.downloaders import address
from openoctopus.downloaders.address import Addresses, inner_kind, literal
from openoctopus.exceptions import BlockedAddress, NameNotResolved


def addresses(table: dict[str, list[str]], start_hosts: frozenset[str] = frozenset()) -> Addresses:
    async def look_up(host: str) -> list[str]:
        await asyncio.sleep(0)
        if host not in table:
            raise OSError("no such name")
        return table[host]

    return Addresses(allow_private=False, start_hosts=start_hosts, table={}, lookup=look_up)


@pytest.mark.parametrize(
    "public",
    [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.255.255",
        "172.32.0.1",
        "192.167.1.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450::1",
        "2400:3200::1",
        "64:ff9b::808:808",
        "::ffff:8.8.8.8",
        "2002:808:808::1",
    ],
)
def test_a_public_address_is_public(public):
    assert inner_kind(public) == ""


@pytest.mark.parametrize(
    ("inner", "kind"),
    [
        ("127.0.0.1", "a loopback"),
        ("::1", "a loopback"),
        ("10.0.0.1", "a private"),
        ("fd12::1", "a private"),
        ("169.254.169.254", "a link-local"),
        ("fe80::1%eth0", "a link-local"),
        ("224.0.0.1", "a multicast"),
        ("ff02::1", "a multicast"),
        ("100.64.0.1", "a carrier's inner"),
        ("::ffff:10.0.0.1", "a private"),
        ("2002:a00:1::", "a private"),
        ("64:ff9b::a9fe:a9fe", "a link-local"),
        ("::10.0.0.1", "a reserved"),
        ("4000::1", "a reserved"),
    ],
)
def test_an_inner_address_is_called_by_its_kind(inner, kind):
    assert inner_kind(inner) == kind


@pytest.mark.parametrize(
    ("host", "written"),
    [("127.0.0.1", "127.0.0.1"), ("[::1]", "::1"), ("[::FFFF:7f00:1]", "::ffff:7f00:1"), ("example.com", ""), ("1.2.3", "")],
)
def test_a_host_may_be_written_as_an_address(host, written):
    assert literal(host) == written


async def test_all_answers_are_judged():
    book = addresses({"mixed.example": ["1.1.1.1", "10.0.0.1"]})
    with pytest.raises(BlockedAddress, match=r"mixed\.example is at 10\.0\.0\.1, which is a private address"):
        await book.find("mixed.example", 1)


async def test_the_first_finding_decides_for_a_start_host(monkeypatch):
    monkeypatch.setattr(address, "KEPT_SECONDS", 0.0)
    table = {"inside.example": ["10.0.0.1"], "outside.example": ["1.1.1.1"]}
    book = addresses(table, frozenset(table))

    assert await book.find("inside.example", 1) == ("10.0.0.1",)
    assert await book.find("outside.example", 1) == ("1.1.1.1",)
    table["inside.example"], table["outside.example"] = ["10.0.0.2"], ["10.0.0.2"]
    assert await book.find("inside.example", 1) == ("10.0.0.2",)
    with pytest.raises(BlockedAddress):
        await book.find("outside.example", 1)


async def test_what_was_found_is_kept_for_a_bounded_number_of_hosts(monkeypatch):
    monkeypatch.setattr(address, "KEPT_HOSTS", 10)
    table = {f"host{n}.example": ["1.1.1.1"] for n in range(30)}
    book = addresses(table)
    for host in table:
        await book.find(host, 1)

    assert len(book._kept) == 10
    table.clear()
    assert await book.find("host29.example", 1) == ("1.1.1.1",)
    with pytest.raises(NameNotResolved):
        await book.find("host0.example", 1)


async def test_one_who_gives_up_does_not_spoil_the_look_up_of_others():
    book = addresses({"shared.example": ["1.1.1.1"]})
    first, second = (asyncio.ensure_future(book.find("shared.example", 1)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()

    assert await second == ("1.1.1.1",)


async def test_a_look_up_that_takes_too_long_is_an_error_and_is_ended_by_closing():
    async def never(host: str) -> list[str]:
        await asyncio.sleep(60)
        return []

    book = Addresses(allow_private=False, start_hosts=(), table={}, lookup=never)
    with pytest.raises(NameNotResolved, match=r"slow\.example within 0\.02 s"):
        await book.find("slow.example", 0.02)
    await book.close()

    assert len(asyncio.all_tasks()) == 1


async def test_a_host_that_was_judged_costs_next_to_nothing():
    book = addresses({"known.example": ["1.1.1.1"]})
    await book.find("known.example", 1)

    def again() -> None:
        with pytest.raises(StopIteration):
            book.find("known.example", 1).send(None)

    def nothing() -> None:
        with pytest.raises(StopIteration):
            raise StopIteration

    spent = min(timeit.repeat(again, number=1000, repeat=5)) - min(timeit.repeat(nothing, number=1000, repeat=5))
    assert spent / 1000 < 5e-6
