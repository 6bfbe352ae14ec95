"""Which downloader fetches a request."""

from __future__ import annotations

import asyncio
import logging
import sys

import pytest

from openoctopus.downloaders import Downloader
from openoctopus.exceptions import MissingExtra, SettingsError
from openoctopus.http import Request, Response
from tests.downloaders.engines import fetch, opened
from tests.downloaders.servers import RawServer, reply


class Parrot(Downloader):
    """Answers with the URL."""

    opened = 0

    def __init__(self, word: str = "") -> None:
        self.word = word

    async def open(self) -> None:
        await asyncio.sleep(0)
        Parrot.opened += 1

    async def fetch(self, request: Request) -> Response:
        return Response(request.url, body=f"{self.word}{request.url}".encode(), request=request)


PARROT = f"{__name__}.Parrot"


async def test_a_dotted_path_may_be_the_default():
    page = await fetch(PARROT, "http://a.example/")
    assert page.body == b"http://a.example/"


async def test_downloaders_of_the_settings_have_names_and_keywords():
    table = {"parrot": Parrot, "loud": {"class": PARROT, "word": "squawk "}}
    async with opened("http", DOWNLOADERS=table) as downloaders:
        pages = [await downloaders.fetch(Request("http://a.example/", downloader=name)) for name in ("parrot", "loud")]

    assert [page.body for page in pages] == [b"http://a.example/", b"squawk http://a.example/"]


async def test_a_downloader_is_opened_once_when_it_is_first_asked_for():
    Parrot.opened = 0
    async with opened("http", DOWNLOADERS={"parrot": PARROT}) as downloaders:
        assert Parrot.opened == 0
        requests = [Request(f"http://a.example/{n}", downloader="parrot") for n in range(5)]
        await asyncio.gather(*map(downloaders.fetch, requests))

    assert Parrot.opened == 1


async def test_whole_pages_can_be_streamed():
    async with opened(PARROT) as downloaders, downloaders.stream(Request("http://a.example/")) as page:
        assert (page.status, [chunk async for chunk in page]) == (200, [b"http://a.example/"])


@pytest.mark.parametrize(("default", "told"), [("borwser", "write aiohttp or http"), ("no.such.Thing", "no module no")])
async def test_a_default_that_is_none_is_told_at_the_start(default, told):
    with pytest.raises(SettingsError, match=told):
        await fetch(default, "http://a.example/")


async def test_an_entry_without_a_class_is_told():
    with pytest.raises(SettingsError, match=r"DOWNLOADERS\['odd'\] needs a class"):
        await fetch("odd", "http://a.example/", {"DOWNLOADERS": {"odd": {"word": "x"}}})


async def test_aiohttp_fetches_where_wreq_cannot_be_imported(monkeypatch, caplog):
    caplog.set_level(logging.WARNING)
    monkeypatch.setitem(sys.modules, "wreq", None)
    monkeypatch.delitem(sys.modules, "openoctopus.downloaders.http", raising=False)
    async with RawServer(reply(b"fine", "X-Case: kept")) as server:
        page = await fetch("http", server.url())

    assert list(page.headers)[-1] == "X-Case"
    assert "aiohttp fetches instead" in caplog.text


async def test_name_servers_need_their_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiodns", None)
    with pytest.raises(MissingExtra, match=r"openoctopus\[dns\]"):
        await fetch("http", "http://127.0.0.1/", {"DNS_SERVERS": ["127.0.0.1"]})
