"""Tells the next page on which one its link was found, as far as the policy allows (https://www.w3.org/TR/referrer-policy/)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openoctopus.exceptions import SettingsError
from openoctopus.http import Headers, Request, Response
from openoctopus.http.url import origin, parse
from openoctopus.spider import Spider
from openoctopus.spidermiddlewares.base import SpiderMiddleware

#: A policy chooses from the page's URL, its origin, and whether the link stays on that origin.
Policy = Callable[[str, str, bool], str]

#: By name, never by code: the name may come from a server. Nothing is ever told over http about a page that came over https
#: (RFC 9110, 10.1.3), so the strict policies are the same as the others.
POLICIES: dict[str, Policy] = {
    "no-referrer": lambda url, site, same: "",
    "no-referrer-when-downgrade": lambda url, site, same: url,
    "same-origin": lambda url, site, same: url if same else "",
    "origin": lambda url, site, same: site,
    "strict-origin": lambda url, site, same: site,
    "origin-when-cross-origin": lambda url, site, same: url if same else site,
    "strict-origin-when-cross-origin": lambda url, site, same: url if same else site,
    "unsafe-url": lambda url, site, same: url,
}
#: A longer URL is told by its origin.
_LONGEST = 4096


class RefererMiddleware(SpiderMiddleware):
    """Sets Referer on every request found on a page, unless the request has one.

    The policy is that of ``meta["referrer_policy"]`` of the request, else of the page's Referrer-Policy header, else
    ``referrer_policy``; names that are no policy count as none.
    """

    def __init__(self, referrer_policy: str = "strict-origin-when-cross-origin") -> None:
        if referrer_policy not in POLICIES:
            raise SettingsError(f"REFERRER_POLICY = {referrer_policy!r}: one of {', '.join(POLICIES)}")
        self.policy = referrer_policy
        # The last page and what it tells to each origin: its links come one after the other.
        self._page: Response | None = None
        self._url = self._site = self._page_policy = ""
        self._told: dict[str, str] = {}

    def process_found(self, found: Any, response: Response, spider: Spider) -> Any:
        if not isinstance(found, Request):
            return found
        if response is not self._page:
            self._turn_to(response)
        target = found._parsed.origin
        meta = found._meta
        if meta and "referrer_policy" in meta:
            referer = self._tell(target, str(meta["referrer_policy"]))
        elif (told := self._told.get(target)) is not None:
            referer = told
        else:
            referer = self._told[target] = self._tell(target, self._page_policy)
        if referer:
            if found._headers is None:
                found._headers = Headers.received([("Referer", referer)])
            elif "Referer" not in found._headers:
                found._headers.raw.append(("Referer", referer))
        return found

    def _turn_to(self, response: Response) -> None:
        """Read once what a page says about itself."""
        url = parse(response.url)
        url.hash = url.username = url.password = ""
        self._page, self._told = response, {}
        self._site = origin(url) + "/" if url.protocol in ("http:", "https:") else ""
        self._url = url.href if len(url.href) <= _LONGEST else self._site
        self._page_policy = _named(",".join(response.headers.getlist("Referrer-Policy")))

    def _tell(self, target: str, policy: str) -> str:
        """What the page tells an origin; empty: nothing."""
        if not self._site or (self._site.startswith("https:") and not target.startswith("https:")):
            return ""
        return POLICIES[_named(policy) or self.policy](self._url, self._site, self._site[:-1] == target)


def _named(written: str) -> str:
    """The last policy of a list that is known; empty if none is."""
    names = [name.strip().lower() for name in written.split(",")]
    return next((name for name in reversed(names) if name in POLICIES), "")
