"""Who is asking."""

from __future__ import annotations

import re
from typing import Any

import pytest

import openoctopus
from openoctopus.downloadermiddlewares import UserAgentMiddleware
from openoctopus.exceptions import SettingsError
from openoctopus.http import Headers, Request
from openoctopus.plugins import build
from openoctopus.settings import Settings
from openoctopus.spider import Spider


async def made(**settings: Any) -> UserAgentMiddleware:
    middleware: UserAgentMiddleware = build(UserAgentMiddleware, Settings.load({"project": settings}))
    await middleware.open()
    return middleware


def sent(middleware: UserAgentMiddleware, url: str = "http://a.example/", **options: Any) -> Headers:
    request = Request(url, **options)
    middleware.process_request(request, Spider("test"))
    return request.headers


async def test_it_is_honest_by_default() -> None:
    expected = f"OpenOctopus/{openoctopus.__version__} (+https://github.com/openoctopus/openoctopus)"

    assert sent(await made())["User-Agent"] == expected


async def test_it_can_be_chosen() -> None:
    middleware = await made(USER_AGENT="mine/1.0")

    assert sent(middleware).raw == [("User-Agent", "mine/1.0")]
    assert sent(middleware, headers={"user-agent": "own"}).raw == [("user-agent", "own")]


async def test_of_a_list_each_host_and_each_session_keeps_one() -> None:
    names = [f"mine/{number}" for number in range(10)]
    middleware = await made(USER_AGENTS=names)

    by_host = [sent(middleware, f"http://h{number}.example/{path}")["User-Agent"] for number in range(50) for path in "ab"]
    by_session = [sent(middleware, f"http://h{number}.example/", session="s")["User-Agent"] for number in range(50)]

    assert by_host[::2] == by_host[1::2]
    assert set(by_host) == set(names)
    assert len(set(by_session)) == 1


async def test_the_choice_is_the_same_in_the_next_run() -> None:
    names = [f"mine/{number}" for number in range(10)]

    assert sent(await made(USER_AGENTS=names)) == sent(await made(USER_AGENTS=names))


@pytest.mark.parametrize("written", ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"])
async def test_one_name_may_hold_a_comma(written: str) -> None:
    assert sent(await made(USER_AGENTS=[written]))["User-Agent"] == written


@pytest.mark.parametrize(("kind", "mobile"), [("desktop", "?0"), ("mobile", "?1")])
async def test_a_browser_tells_the_same_in_all_headers(kind: str, mobile: str) -> None:
    middleware = await made(USER_AGENTS=kind)

    for number in range(60):
        headers = sent(middleware, f"https://h{number}.example/")
        major = re.search(r"Chrome/(\d+)", headers["User-Agent"])
        assert major is not None
        assert f'v="{major[1]}"' in headers["sec-ch-ua"]
        assert ("Microsoft Edge" in headers["sec-ch-ua"]) == ("Edg" in headers["User-Agent"])
        assert headers["sec-ch-ua-mobile"] == mobile
        assert int(major[1]) >= 140


async def test_browsers_give_hints_over_https_only() -> None:
    middleware = await made(USER_AGENTS="desktop")

    plain, secure = sent(middleware, "http://a.example/"), sent(middleware, "https://a.example/")

    assert plain["User-Agent"] == secure["User-Agent"]
    assert len(plain) == 1


async def test_an_impersonated_browser_speaks_for_itself_unless_one_was_chosen() -> None:
    assert sent(await made(IMPERSONATE="chrome")).raw == []
    assert sent(await made(IMPERSONATE="chrome", USER_AGENT="mine"))["User-Agent"] == "mine"
    assert sent(await made(IMPERSONATE="chrome", USER_AGENTS=["mine"]))["User-Agent"] == "mine"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("tablet", 'there are "desktop" and "mobile"'),
        ("destkop", 'there are "desktop" and "mobile"'),
        ("chrome", 'there are "desktop" and "mobile"'),
        ("Desktop", 'write "desktop"'),
        (" mobile ", 'write "mobile"'),
        ("desktop,mobile", r'write \["desktop", "mobile"\]'),
    ],
)
async def test_words_that_are_no_kind_of_browser_are_refused(text: str, hint: str) -> None:
    with pytest.raises(SettingsError, match=hint):
        await made(USER_AGENTS=text)


async def test_what_looks_like_a_user_agent_is_one_and_so_is_a_word_in_a_list() -> None:
    assert sent(await made(USER_AGENTS="mine/1.0"))["User-Agent"] == "mine/1.0"
    assert sent(await made(USER_AGENTS=["mine"]))["User-Agent"] == "mine"


async def test_a_list_may_name_kinds_of_browsers() -> None:
    middleware = await made(USER_AGENTS=["desktop", "mobile", "mine/1.0"])

    names = {sent(middleware, f"http://h{number}.example/")["User-Agent"] for number in range(3000)}

    assert "mine/1.0" in names
    assert any("Android" in name for name in names)
    assert any("Windows" in name for name in names)
    assert not names & {"desktop", "mobile"}
