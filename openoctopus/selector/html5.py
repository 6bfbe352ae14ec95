"""The tree that browsers build, by turbohtml."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from parsel.selector import CannotDropElementWithoutParent
from turbohtml import Document, Element, Node, Text, XPath, parse

from openoctopus.selector import css, xpath

logger = logging.getLogger(__name__)

#: Whether elements stand where the parser stops to nest: what belongs into them is moved behind them.
_CUT = XPath(f"boolean({'/*' * 30}) and boolean({'/*' * 513})")
_ROW_OF_TABLE = re.compile(r"(?<![^\s>/,+~(:])table\b(?:\[[^\]]*\]|[^\s/>,\[])*\s*[>/]\s*tr\b")
_hinted: set[str] = set()


class Html5Tree:
    """HTML read as the WHATWG standard says, and queried by turbohtml's own engines."""

    __slots__ = ()

    def parse(self, text: str, base_url: str) -> Element:
        root = parse(text).root
        assert root is not None, "the parser gives every document its html element"
        return root

    def is_cut(self, root: Element) -> bool:
        """Whether the document reaches the depth where the parser stops to nest."""
        return bool(_CUT(root))

    def css(self, node: Any, query: str, namespaces: Mapping[str, str]) -> list[Any]:
        finder = css.compiled(query)
        found = finder.find(node) if type(node) is Element else []
        if not found:
            _hint_at_tbody(query)
        return found

    def xpath(self, node: Any, query: str, namespaces: Mapping[str, str], variables: Mapping[str, Any]) -> list[Any]:
        if not isinstance(node, Node):
            return [node] if isinstance(node, str) and query.strip() == "." else []
        found = xpath.compiled(query).evaluate(node, namespaces, variables)
        if not found:
            _hint_at_tbody(query)
        return found

    def markup(self, node: Any) -> str:
        if isinstance(node, Node):
            return node.html
        return str(int(node)) if isinstance(node, bool) else str(node)

    def own_text(self, node: Any) -> str | None:
        """The text before the first child element; the content of a comment."""
        if not isinstance(node, Element):
            return getattr(node, "data", None)
        first = next(iter(node), None)
        return first.data if isinstance(first, Text) else None

    def attributes(self, node: Any) -> dict[str, str]:
        if not isinstance(node, Element):
            return {}
        return {name: node.attr(name) or "" for name in node.attrs}

    def drop(self, node: Node) -> None:
        parent, before, after = node.parent, node.previous_sibling, node.next_sibling
        if parent is None or isinstance(parent, Document):
            raise CannotDropElementWithoutParent("a root element cannot be dropped")
        node.extract()
        if isinstance(before, Text) and isinstance(after, Text):
            # One text again, as if the node had never been there.
            before.data += after.data
            after.extract()

    def remove_namespaces(self, node: Any) -> None:
        """Nothing to do: queries on HTML need no prefixes."""


def _hint_at_tbody(query: str) -> None:
    """Say once that the browser's tree has a tbody where the query steps from table to tr."""
    if not _hinted and _ROW_OF_TABLE.search(query):
        _hinted.add(query)
        logger.info(
            "%r found nothing: in the tree of browsers a tbody stands between table and tr. "
            'Leave out the step ("table tr", "//table//tr"), or set SELECTOR_TREE = "lxml".',
            query,
        )
