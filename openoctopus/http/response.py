"""One page that was had."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal, Self

import can_ada

from openoctopus.exceptions import InvalidRequest
from openoctopus.http import url as urls
from openoctopus.http.encoding import codec_of, decode, find_encoding
from openoctopus.http.headers import Headers, HeaderValues
from openoctopus.http.lazy import lazy
from openoctopus.http.request import Callback, Request
from openoctopus.selector import Selector, SelectorList, document

Kind = Literal["html", "xml", "json", "text"]
_XML_ROOTS = (b"<?xml", b"<rss", b"<feed", b"<urlset", b"<sitemapindex")


class Response:
    """One page that was had, and the request that asked for it.

    ``body`` is decompressed. ``text`` is decoded in ``encoding``, which is found as browsers find it unless given.
    ``protocol`` is such as ``HTTP/1.1``; ``ip_address`` is the address that answered, both empty if unknown.
    """

    def __init__(
        self,
        url: str,
        status: int = 200,
        headers: HeaderValues | None = None,
        body: bytes = b"",
        request: Request | None = None,
        encoding: str | None = None,
        ip_address: str = "",
        protocol: str = "",
    ) -> None:
        self.url = url
        self.status = status
        self.headers = headers if isinstance(headers, Headers) else Headers(headers)
        self.body = body
        self._request = request
        self._encoding = codec_of(encoding) or encoding
        self.ip_address = ip_address
        self.protocol = protocol
        #: The body ended early and was delivered all the same (DOWNLOAD_FAIL_ON_DATALOSS).
        self.truncated = False
        #: ``html5`` (the tree of browsers) or ``lxml`` (parsel's); set before the first query.
        self.selector_tree: Literal["html5", "lxml"] = "html5"

    @property
    def request(self) -> Request:
        """The request that this page answers."""
        if self._request is None:
            self._request = Request(self.url)
        return self._request

    @request.setter
    def request(self, request: Request) -> None:
        self._request = request

    @property
    def meta(self) -> dict[str, Any]:
        return self.request.meta

    @property
    def cb_kwargs(self) -> dict[str, Any]:
        return self.request.cb_kwargs

    @lazy
    def encoding(self) -> str:
        """The name of the Python codec that ``text`` is decoded with."""
        if self._encoding:
            return self._encoding
        return find_encoding(self.body, self.headers.get("Content-Type"))

    @lazy
    def text(self) -> str:
        """The body decoded; bytes that are wrong in its encoding become U+FFFD."""
        return decode(self.body, self.encoding)

    @lazy
    def kind(self) -> Kind:
        """What the body is, by its content type, else by its first bytes."""
        told = _kind_of(self.headers.get("Content-Type", ""))
        if told is not None:
            return told
        start = self.body[:200].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        if start.startswith(_XML_ROOTS) and b"<html" not in start and b"<!doctype html" not in start:
            return "xml"
        return "json" if start[:1] in (b"{", b"[") else "html"

    @lazy
    def selector(self) -> Selector:
        kind = self.kind
        return Selector(self.text, type=kind, base_url=self.url, tree=self.selector_tree)

    def css(self, query: str) -> SelectorList:
        """Elements, ``::text`` or ``::attr(name)`` by a CSS selector."""
        return self.selector.css(query)

    def xpath(self, query: str, **options: Any) -> SelectorList:
        """Nodes by XPath 1.0; ``namespaces=`` and variables as keywords."""
        return self.selector.xpath(query, **options)

    def re(self, regex: Any, replace_entities: bool = True) -> list[str]:
        """All matches of a regular expression in the text."""
        return self.selector.re(regex, replace_entities)

    def jmespath(self, query: str, **options: Any) -> SelectorList:
        """Values of a JSON body by JMESPath."""
        return self.selector.jmespath(query, **options)

    def json(self) -> Any:
        """The body read as JSON, whatever its content type: in UTF-8, -16 or -32, else in ``encoding``.

        Raises ``ValueError`` if it is none.
        """
        try:
            try:
                return json.loads(self.text if self._encoding else self.body)
            except UnicodeDecodeError:
                return json.loads(self.text)
        except RecursionError:
            raise ValueError(f"the JSON of {self.url} nests too deep") from None

    @lazy
    def base(self) -> can_ada.URL:
        """What links on this page are relative to: its URL, or its first ``<base href>``."""
        own = self._request.parsed if self._request and self._request.url == self.url else urls.parse(self.url)
        href = self.css("base[href]").attrib.get("href") if self.kind == "html" else None
        try:
            base = urls.parse(urls.join(own, href, self.encoding)) if href else own
        except InvalidRequest:
            return own
        return base if base.protocol in ("http:", "https:") else own

    def urljoin(self, reference: str) -> str:
        """The absolute URL of a link on this page. Raises ``InvalidRequest`` if it is none."""
        return urls.join(self.base, reference, self.encoding)

    def follow(self, link: str | Selector, callback: Callback | None = None, **options: Any) -> Request:
        """A request for a link on this page: a URL, relative or not, or a selector of a link element or its ``href``.

        Options are those of ``Request``. A link that is not http(s) (``javascript:``, ``mailto:``, ``tel:``, ``data:``) makes a
        request too, which the crawl drops and counts. Raises ``InvalidRequest`` for what is no link.
        """
        options.setdefault("encoding", self.encoding)
        return Request(self.urljoin(_href(link)), callback, **options)

    def follow_all(
        self,
        links: Iterable[str | Selector] | None = None,
        callback: Callback | None = None,
        *,
        css: str | None = None,
        xpath: str | None = None,
        **options: Any,
    ) -> Iterator[Request]:
        """Requests for many links, each once; what is no http(s) link is passed over.

        Give ``links``, or the links' ``css`` or ``xpath``.
        """
        if (links is None) + (css is None) + (xpath is None) != 2:
            raise ValueError("give one of links, css and xpath")
        if isinstance(links, str):
            raise TypeError("follow_all takes many links; for one there is follow")
        found = links if links is not None else self.css(css) if css is not None else self.xpath(str(xpath))
        seen: set[str] = set()
        for link in found:
            try:
                url = self.urljoin(_href(link))
            except InvalidRequest:
                continue
            if url not in seen and url.startswith(("http:", "https:")):
                seen.add(url)
                yield Request(url, callback, **{"encoding": self.encoding, **options})

    # What the HTML library knows about a page; plain data.

    def links(self) -> list[document.Link]:
        """The http(s) links of the page in order: absolute URL, text, ``rel``."""
        return document.links(self.selector, self.urljoin)

    def forms(self) -> list[document.Form]:
        """The forms of the page with the fields that a browser would send."""
        return document.forms(self.selector, self.urljoin)

    def tables(self) -> list[list[list[str]]]:
        """The tables of the page as rows of cell texts."""
        return document.tables(self.selector)

    def structured_data(self) -> dict[str, Any]:
        """JSON-LD, microdata, OpenGraph, RDFa and Dublin Core, by these names in lower case."""
        return document.structured_data(self.selector)

    def article(self) -> document.Article:
        """The main content: title, text, author, date..."""
        return document.article(self.selector)

    def markdown(self) -> str:
        """The page as Markdown."""
        return document.markdown(self.selector)

    def replace(self, **changes: Any) -> Self:
        """The same response with some of the constructor's arguments changed."""
        names = ("url", "status", "headers", "body", "request", "ip_address", "protocol")
        values = {name: getattr(self, name) for name in names if name not in changes}
        values.setdefault("encoding", self._encoding)
        made = type(self)(**{**values, **changes})
        made.truncated, made.selector_tree = self.truncated, self.selector_tree
        return made

    def __repr__(self) -> str:
        return f"<{self.status} {urls.without_credentials(self.url)}>"


def _href(link: str | Selector) -> str:
    """The link that a selector holds: an ``href`` or ``src`` of an element, or the value itself."""
    if isinstance(link, str):
        return link
    if not isinstance(link, Selector):
        raise InvalidRequest(f"no link: {link!r:.200}")
    attributes = link.attrib
    href = attributes.get("href", attributes.get("src")) if attributes else None
    if href is None and isinstance(link.root, str):
        href = link.get()
    if href is None:
        raise InvalidRequest(f"no link in {link!r}")
    return str(href)


@lru_cache(maxsize=256)
def _kind_of(content_type: str) -> Kind | None:
    essence = content_type.partition(";")[0].strip().lower()
    if essence in ("text/html", "application/xhtml+xml"):
        return "html"
    if essence.endswith(("/xml", "+xml")):
        return "xml"
    return "json" if essence.endswith(("/json", "+json")) else None
