"""parsel's own tree, for XML and for spiders that were written for it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Literal

from cssselect import SelectorError
from lxml import etree
from parsel import Selector as Parsel

logger = logging.getLogger(__name__)

#: libxml2 reads no deeper: what follows is lost.
_DEEPEST = etree.XPath("/*" * 2048)


class LxmlTree:
    """HTML or XML read by lxml and queried by parsel: no entity is resolved, no DTD loaded, nothing fetched."""

    __slots__ = ("_kind",)

    def __init__(self, kind: Literal["html", "xml"]) -> None:
        self._kind = kind

    def parse(self, text: str, base_url: str) -> Any:
        text = _encodable(text)
        return _read_xml(text, base_url) if self._kind == "xml" else Parsel(text, "html", base_url=base_url or None).root

    def is_cut(self, root: Any) -> bool:
        """Whether the document reaches the depth where the parser stops."""
        return bool(_DEEPEST(root))

    def css(self, node: Any, query: str, namespaces: Mapping[str, str]) -> list[Any]:
        try:
            return [found.root for found in self._parsel(node, namespaces).css(query)]
        except SelectorError as error:
            raise ValueError(f"CSS error: {error} in {query}") from error

    def xpath(self, node: Any, query: str, namespaces: Mapping[str, str], variables: Mapping[str, Any]) -> list[Any]:
        return [found.root for found in self._parsel(node, namespaces).xpath(query, **variables)]

    def markup(self, node: Any) -> str:
        return str(self._parsel(node).get())

    def own_text(self, node: Any) -> str | None:
        return getattr(node, "text", None)

    def attributes(self, node: Any) -> dict[str, str]:
        return self._parsel(node).attrib if isinstance(node, etree._Element) else {}

    def drop(self, node: Any) -> None:
        self._parsel(node).drop()

    def remove_namespaces(self, node: Any) -> None:
        if isinstance(node, etree._Element):
            self._parsel(node).remove_namespaces()

    def _parsel(self, node: Any, namespaces: Mapping[str, str] | None = None) -> Parsel:
        return Parsel(root=node, type=self._kind, namespaces=namespaces)


def _read_xml(text: str, base_url: str) -> Any:
    """The root element; an empty ``html`` as parsel has it if there is none. libxml2's limits keep XML bombs small."""
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, huge_tree=False, encoding="utf-8")
    body = text.strip().replace("\x00", "").encode() or b"<html/>"
    try:
        root = etree.fromstring(body, parser, base_url=base_url or None)
    except etree.XMLSyntaxError:
        root = None
    for error in parser.error_log:
        if error.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT:
            logger.warning("the XML of %s is read in part: %s", base_url or "a selector", error.message.strip())
    return etree.Element("html") if root is None else root


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced, which lxml cannot read."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
