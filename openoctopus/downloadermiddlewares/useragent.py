"""Says who is asking."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.metadata import version
from zlib import crc32

import ua_generator
from ua_generator.options import Options

from openoctopus.downloadermiddlewares.base import DownloaderMiddleware
from openoctopus.exceptions import InvalidRequest, SettingsError
from openoctopus.http import Headers, Request
from openoctopus.spider import Spider

#: How many browsers are made up to choose from.
_CROWD = 200
#: Only the newest so many versions: an old one stands out.
_NEWEST = 8
#: Platforms and browsers. What ua-generator writes for others is not what those send (Firefox with patch versions).
_BROWSERS = {
    "desktop": (("windows", "macos", "linux"), ("chrome", "edge")),
    "mobile": (("android",), ("chrome",)),
}

Pairs = list[tuple[str, str]]


class UserAgentMiddleware(DownloaderMiddleware):
    """Sets User-Agent where the request does not: ``user_agent``, or one of ``user_agents``.

    ``user_agents`` is a list, or ``"desktop"`` or ``"mobile"``: current browsers with the client hints that belong to them;
    a list may name both. A session keeps its own, requests without a session keep one per host. Under ``impersonate`` the
    browser's own is sent unless one was chosen. Raises ``SettingsError`` for what no header can be, and for words that name
    no kind of browser.
    """

    def __init__(self, user_agent: str = "", user_agents: Sequence[str] | str = (), impersonate: str = "") -> None:
        if isinstance(user_agents, str):
            _check_kind(user_agents)
        self._names = [user_agents] if isinstance(user_agents, str) else list(user_agents)
        _check("USER_AGENT", user_agent)
        _check("USER_AGENTS", *self._names)
        self.user_agent = user_agent or ("" if impersonate or user_agents else default_user_agent())
        #: What is sent over http, and over https: only there do browsers send client hints.
        self._choices: list[tuple[Pairs, Pairs]] = []

    async def open(self) -> None:
        for name in filter(None, self._names or [self.user_agent]):
            if name in _BROWSERS:
                self._choices += [_browser(name) for _ in range(_CROWD)]
            else:
                self._choices.append(([("User-Agent", name)], [("User-Agent", name)]))

    def process_request(self, request: Request, spider: Spider) -> None:
        choices = self._choices
        if not choices:
            return
        raw = request.headers.raw
        for name, _ in raw:
            if len(name) == 10 and name.lower() == "user-agent":
                return
        if len(choices) == 1:
            raw += choices[0][0]
            return
        # By a hash that is the same in every run and worker, so that nothing has to be remembered.
        place = crc32((request.session or request.host).encode("utf-8", "surrogatepass")) % len(choices)
        raw += choices[place][request.url.startswith("https:")]


def _check(option: str, *names: str) -> None:
    """Raises ``SettingsError`` for what no header can be."""
    for name in names:
        try:
            Headers({"User-Agent": name})
            name.encode("latin-1")
        except (InvalidRequest, UnicodeError):
            raise SettingsError(f"{option}: {name!r} cannot be sent: a User-Agent is one line of latin-1") from None


def _check_kind(text: str) -> None:
    """Raises ``SettingsError`` for words that name no kind of browser: sent as they are they would give every request away."""
    if text and text not in _BROWSERS and not re.search(r"[^\w\s,;-]", text):
        words = re.findall(r"[\w-]+", text.lower())
        known = [word for word in words if word in _BROWSERS]
        guess = f"write {json.dumps(known if len(known) > 1 else known[0])}" if known else 'there are "desktop" and "mobile"'
        raise SettingsError(f"USER_AGENTS = {text!r} is no kind of browser: {guess}; a User-Agent of your own goes into a list")


def default_user_agent() -> str:
    """The honest one."""
    return f"OpenOctopus/{version('openoctopus')} (+https://github.com/openoctopus/openoctopus)"


def _browser(kind: str) -> tuple[Pairs, Pairs]:
    options = Options(weighted_versions=True, latest_versions={"chrome": _NEWEST, "edge": _NEWEST})
    platforms, browsers = _BROWSERS[kind]
    made = ua_generator.generate(platform=platforms, browser=browsers, options=options)
    hints = [(name, value) for name, value in made.headers.get().items() if name != "user-agent"]
    return [("User-Agent", made.text)], [("User-Agent", made.text), *hints]
