"""Says through which proxy a request goes."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.request import getproxies

from openoctopus.downloadermiddlewares.base import DownloaderMiddleware
from openoctopus.exceptions import InvalidRequest, SettingsError
from openoctopus.http import Request, Response
from openoctopus.http.url import checked_proxy
from openoctopus.spider import Spider

#: For so many hosts it is remembered whether they are asked directly.
_REMEMBERED = 10_000
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.I)


class HttpProxyMiddleware(DownloaderMiddleware):
    """Sets ``meta["proxy"]`` for the fetch: ``http_proxy``, else what the environment names for the scheme.

    ``meta["proxy"]`` of the request wins, ``None`` means directly. ``no_proxy`` and loopback addresses are asked directly
    unless ``http_proxy`` or the request says otherwise. Proxy-Authorization never goes to a target: user and password
    belong into the proxy's URL.
    """

    def __init__(self, http_proxy: str = "") -> None:
        self.proxy = _chosen("HTTP_PROXY", http_proxy) if http_proxy else ""
        self._by_scheme: dict[str, str] = {}
        self._direct = NoProxy("")
        self._is_direct: dict[str, bool] = {}

    async def open(self) -> None:
        if self.proxy:
            self._by_scheme = dict.fromkeys(("http:", "https:"), self.proxy)
            return
        found = getproxies()
        self._direct = NoProxy(found.get("no", ""))
        for scheme in ("http", "https"):
            name = scheme if found.get(scheme) else "all"
            if proxy := found.get(name):
                self._by_scheme[f"{scheme}:"] = _chosen(f"{name}_proxy of the environment", proxy)

    def process_request(self, request: Request, spider: Spider) -> None:
        if headers := request._headers:
            for name, _ in headers.raw:
                if len(name) == 19 and name.lower() == "proxy-authorization":
                    del headers[name]
                    break
        meta = request._meta
        if meta is not None and "proxy" in meta:
            if meta["proxy"]:
                meta["proxy"] = proxy_url(meta["proxy"])
        elif self._by_scheme and (proxy := self._proxy(request)):
            request.meta["proxy"] = proxy

    # What was set here is taken back, so that a redirect is judged anew: its scheme may have another proxy.

    def process_response(self, request: Request, response: Response, spider: Spider) -> Response:
        if self._by_scheme:
            self._take_back(request)
        return response

    def process_exception(self, request: Request, exception: Exception, spider: Spider) -> None:
        if self._by_scheme:
            self._take_back(request)

    def _take_back(self, request: Request) -> None:
        if request.meta.get("proxy") is self._by_scheme.get(request.parsed.protocol, self):
            del request.meta["proxy"]

    def _proxy(self, request: Request) -> str:
        proxy = self._by_scheme.get(request.parsed.protocol, "")
        if not proxy or self.proxy:
            return proxy
        host = request.host
        direct = self._is_direct.get(host)
        if direct is None:
            if len(self._is_direct) >= _REMEMBERED:
                self._is_direct.clear()
            direct = self._is_direct[host] = self._direct.covers(host)
        return "" if direct else proxy


def proxy_url(proxy: str) -> str:
    """A proxy as a URL; without a scheme it is an HTTP proxy."""
    return proxy if _SCHEME.match(proxy) else f"http://{proxy.lstrip('/')}"


def _chosen(option: str, proxy: str) -> str:
    """A proxy that is for all requests. Raises ``SettingsError`` for what is none."""
    try:
        return checked_proxy(proxy_url(proxy))
    except InvalidRequest as error:
        raise SettingsError(f"{option}: {error}") from None


class NoProxy:
    """The hosts of ``NO_PROXY``: names with all below them, addresses, networks, ``*``; as curl reads them.

    Loopback addresses and localhost are always among them.
    """

    def __init__(self, written: str) -> None:
        words = [word.strip("[]").lower() for word in re.split(r"[,\s]+", written) if word]
        self.everything = "*" in words
        self.names = tuple(word.strip(".") for word in words if word.strip("."))
        self.networks = [network for word in words if (network := _network(word))]

    def covers(self, host: str) -> bool:
        """Whether a host is asked directly."""
        name = host.strip("[]").rstrip(".")
        if self.everything or name == "localhost" or name.endswith(".localhost"):
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return any(name == one or name.endswith("." + one) for one in self.names)
        return address.is_loopback or any(address in network for network in self.networks)


def _network(word: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(word, strict=False)
    except ValueError:
        return None
