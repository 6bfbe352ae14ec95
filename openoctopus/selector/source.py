"""Where selectors come from: a text, the tree it is read into, and what all its nodes have in common."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from openoctopus.selector.html5 import Html5Tree
from openoctopus.selector.lxml import LxmlTree

Kind = Literal["html", "xml", "json", "text"]
TreeName = Literal["html5", "lxml"]


class Tree(Protocol):
    """A parser, and how its nodes are read. A node is what the parser gives; texts and attribute values are ``str``."""

    def parse(self, text: str, base_url: str) -> Any: ...

    def css(self, node: Any, query: str, namespaces: Mapping[str, str]) -> list[Any]: ...

    def xpath(self, node: Any, query: str, namespaces: Mapping[str, str], variables: Mapping[str, Any]) -> list[Any]: ...

    def markup(self, node: Any) -> str: ...

    def own_text(self, node: Any) -> str | None: ...

    def attributes(self, node: Any) -> dict[str, str]: ...

    def drop(self, node: Any) -> None: ...

    def remove_namespaces(self, node: Any) -> None: ...


_HTML5, _LXML_HTML, _LXML_XML = Html5Tree(), LxmlTree("html"), LxmlTree("xml")


class Source:
    """What the selectors of one document have in common."""

    __slots__ = ("base_url", "kind", "namespaces", "text", "tree", "tree_name")

    def __init__(
        self, kind: Kind, tree_name: TreeName, namespaces: Mapping[str, str], text: str = "", base_url: str = ""
    ) -> None:
        self.kind = kind
        self.tree_name = tree_name
        self.namespaces = namespaces
        self.text = text
        self.base_url = base_url
        #: None where there is no markup: JSON and text.
        self.tree: Tree | None = None
        if kind == "html":
            self.tree = _HTML5 if tree_name == "html5" else _LXML_HTML
        elif kind == "xml":
            self.tree = _LXML_XML

    def read(self) -> Any:
        """Parse the text."""
        if self.tree is None:
            return json_or_none(self.text) if self.kind == "json" else self.text
        root = self.tree.parse(self.text, self.base_url)
        if self.tree is _HTML5 and _HTML5.is_cut(root):
            # The browser's tree ends at 512 levels and moves what lies deeper; libxml2 keeps 2,046 as they are.
            deeper = _LXML_HTML.parse(self.text, self.base_url)
            if not _LXML_HTML.is_cut(deeper):
                self.tree, root = _LXML_HTML, deeper
        return root

    def get(self, node: Any) -> Any:
        """The markup of an element, a text, an attribute value, a number as text; a JSON value as it is."""
        return node if type(node) is str or self.tree is None else self.tree.markup(node)

    def attributes(self, node: Any) -> dict[str, str]:
        return {} if self.tree is None else self.tree.attributes(node)


def json_or_none(text: str | None) -> Any:
    """The JSON value; None for what is no JSON, or nests deeper than Python can follow."""
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError):
        return None
