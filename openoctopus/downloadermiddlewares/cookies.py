"""Sends and keeps cookies: one jar per session."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Hashable
from pathlib import Path

from openoctopus.downloadermiddlewares.base import DownloaderMiddleware
from openoctopus.exceptions import InvalidRequest, SettingsError
from openoctopus.http import Request, Response
from openoctopus.http.cookiefile import read_cookies
from openoctopus.http.cookies import Cookie, CookieHeader, CookieJar
from openoctopus.http.data import dumped, loaded
from openoctopus.http.url import parse
from openoctopus.spider import Spider
from openoctopus.state import State, Stateful

logger = logging.getLogger(__name__)

#: Sessions whose cookies are kept; those not used for the longest time go first.
MAX_JARS = 10_000


class CookiesMiddleware(DownloaderMiddleware, Stateful):
    """Keeps what servers set and sends what belongs to a URL (RFC 6265bis).

    ``request.session`` (or ``meta["cookiejar"]``) names the jar. ``request.cookies`` go into the jar, a Cookie header of the
    request is sent beside it. With ``meta["dont_merge_cookies"]`` the jar is left alone. ``cookies_file`` fills the jar of
    requests without a session. A job keeps all jars; several workers keep theirs in turn.
    """

    state_prefix = "cookies"

    def __init__(self, cookies_file: str = "", cookies_debug: bool = False) -> None:
        self.cookies_file = cookies_file
        self.debug = cookies_debug
        self.jars: dict[Hashable, CookieJar] = {}
        #: The sessions whose jars changed since they were last kept.
        self._changed: set[Hashable] = set()

    async def open(self) -> None:
        if not self.cookies_file:
            return
        try:
            data = await asyncio.to_thread(Path(self.cookies_file).read_bytes)
        except OSError as error:
            raise SettingsError(f"COOKIES_FILE = {self.cookies_file!r}: {error.strerror}") from error
        cookies, bad = read_cookies(data)
        if bad:
            logger.warning("%s: not a cookie: %s", self.cookies_file, ", ".join(map(str, bad[:20])))
        for cookie in cookies:
            self._jar("").put(cookie, time.time())

    def changed_state(self) -> State:
        changed, self._changed = self._changed, set()
        return {
            dumped(session, "session").hex(): dumped([session, self._jar(session).dump()], "cookies") for session in changed
        }

    def restore_state(self, state: State) -> None:
        now = time.time()
        for data in state.values():
            try:
                session, cookies = loaded(data)
                self._jar(session).load(cookies, now)
            except (InvalidRequest, TypeError, ValueError) as error:
                raise SettingsError(f"the job's cookies cannot be read: {error}; begin anew with --fresh") from error

    def process_request(self, request: Request, spider: Spider) -> None:
        if not self.jars and request.cookies is None:
            return
        meta = request._meta
        session = request.session or (meta and meta.get("cookiejar")) or ""
        if session in self.jars or request.cookies is not None:
            self._send(request, session)

    def process_response(self, request: Request, response: Response, spider: Spider) -> Response:
        if written := response.headers.getlist("Set-Cookie"):
            self._receive(request, response, written)
        if self.jars or request.cookies is not None:
            _restore(request)
        return response

    def process_exception(self, request: Request, exception: Exception, spider: Spider) -> None:
        _restore(request)

    def _send(self, request: Request, session: Hashable) -> None:
        apart = request.meta.get("dont_merge_cookies")
        now = time.time()
        jar = CookieJar() if apart else self._jar(session)
        if given := _given(request):
            self._changed.add(session)
        for cookie in given:
            jar.put(cookie, now)
        sent = jar.cookies(request.parsed, now)
        if not sent:
            return
        headers = request.headers
        literal = headers.get("Cookie")
        if literal is None:
            header = CookieHeader("; ".join([cookie.pair for cookie in sent]))
            header.given = None
            headers.raw.append(("Cookie", header))
        else:
            header = _merged(literal, sent)
            headers.raw = [*(pair for pair in headers.raw if pair[0].lower() != "cookie"), ("Cookie", header)]
        if self.debug:
            logger.info("cookies sent to %s: %s", request, header)

    def _receive(self, request: Request, response: Response, written: list[str]) -> None:
        meta = request.meta
        if meta.get("dont_merge_cookies"):
            return
        session = request.session or meta.get("cookiejar") or ""
        jar = self._jar(session)
        self._changed.add(session)
        url = request.parsed if response.url == request.url else parse(response.url)
        now = time.time()
        for header in written:
            kept = jar.receive(header, url, now)
            if self.debug:
                logger.info("cookie %s by %s: %s", "set" if kept else "refused", response, header)

    def _jar(self, session: Hashable) -> CookieJar:
        """The jar of a session, now the one used last."""
        jar = self.jars.pop(session, None)
        if jar is None:
            jar = CookieJar()
        self.jars[session] = jar
        if len(self.jars) > MAX_JARS:
            oldest = next(iter(self.jars))
            del self.jars[oldest]
            self._changed.discard(oldest)
        return jar


def _given(request: Request) -> list[Cookie]:
    """The cookies given with a request: for its host alone, unless they name a domain. Raises ``InvalidRequest``."""
    cookies = request.cookies
    if not cookies:
        return []
    if isinstance(cookies, list):
        return [Cookie.given(values, request.host) for values in cookies]
    return [Cookie.given({"name": name, "value": value}, request.host) for name, value in cookies.items()]


def _merged(literal: str, sent: list[Cookie]) -> CookieHeader:
    """The header that the request came with, then the jar's cookies of other names."""
    given = literal.given if isinstance(literal, CookieHeader) else literal
    own = {pair.partition("=")[0].strip() for pair in (given or "").split(";")}
    pairs = [cookie.pair for cookie in sent if cookie.name not in own]
    header = CookieHeader("; ".join([given, *pairs] if given else pairs))
    header.given = given
    return header


def _restore(request: Request) -> None:
    """Take back what was added for the wire, so that a redirect or another try begins with what the user gave."""
    headers = request._headers
    if headers is None:
        return
    for place, (name, value) in enumerate(headers.raw):
        if type(value) is CookieHeader:
            headers.raw[place : place + 1] = [] if value.given is None else [(name, value.given)]
            return
