"""How a request goes on to another address: what is carried there and what never is."""

from __future__ import annotations

from typing import Any

import can_ada

from openoctopus.exceptions import RefusedRequest, TooManyRedirects
from openoctopus.http.request import Request
from openoctopus.http.url import origin, parse, without_credentials

#: Headers that are for one origin only.
_SECRETS = frozenset({"authorization", "cookie", "host"})
#: What ``meta`` holds for one origin only.
_SECRET_META = ("http_user", "http_pass", "http_auth_domain")


def moved(request: Request, url: str, reason: Any, *, limit: int, as_get: bool, delay: float = 0.0) -> Request:
    """The request for the same page at ``url``; ``as_get`` drops the body (https://fetch.spec.whatwg.org/#http-redirect-fetch).

    Where the origin changes, credentials and the cookies given with the request stay behind. Raises ``TooManyRedirects``
    over ``limit``, and ``RefusedRequest`` rather than carry a body to another origin.
    """
    meta = request.meta
    times = meta.get("redirect_times", 0) + 1
    if times > limit:
        raise TooManyRedirects(f"more than {limit} redirects, the last one to {without_credentials(url)}")
    target = _without_own_credentials(parse(url), request.parsed)
    crosses = origin(target) != origin(request.parsed)
    if crosses and request.body and not as_get and not meta.get("allow_cross_origin_body"):
        raise RefusedRequest(
            f"a redirect would carry the body to another origin, {without_credentials(url)}; "
            "meta['allow_cross_origin_body'] = True allows it"
        )
    changes: dict[str, Any] = {"method": "GET", "body": b""} if as_get else {}
    return request.replace(
        cls=Request,
        url=target.href,
        headers=_headers(request, target.href, crosses, as_get),
        cookies=request.cookies if meta.get("dont_merge_cookies") and not crosses else None,
        meta={
            **{name: value for name, value in meta.items() if not (crosses and name in _SECRET_META)},
            "redirect_times": times,
            "redirect_urls": [*meta.get("redirect_urls", ()), request.url],
            "redirect_reasons": [*meta.get("redirect_reasons", ()), reason],
        },
        delay=delay,
        **changes,
    )


def _without_own_credentials(target: can_ada.URL, source: can_ada.URL) -> can_ada.URL:
    """A relative address inherits user and password of the one it stands on: the header carries them, where it may."""
    if (target.username, target.password) == (source.username, source.password):
        target.username = target.password = ""
    return target


def _headers(request: Request, url: str, crosses: bool, as_get: bool) -> list[tuple[str, str]]:
    headers = []
    for name, value in request.headers.raw:
        lower = name.lower()
        if (crosses and lower in _SECRETS) or lower == "proxy-authorization":
            continue
        if as_get and (lower.startswith("content-") or lower == "transfer-encoding"):
            continue
        if lower == "referer" and crosses:
            value = _referer(value, url)
            if not value:
                continue
        headers.append((name, value))
    return headers


def _referer(referer: str, url: str) -> str:
    """What another origin may know of the page on which the link was found: its origin, and nothing without TLS."""
    if referer.startswith("https:") and not url.startswith("https:"):
        return ""
    scheme, _, rest = referer.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/" if rest else ""
