"""CSS selectors on the browser's tree, with ``::text`` and ``::attr(name)``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple, cast

from cssselect import SelectorError
from parsel.csstranslator import HTMLTranslator
from turbohtml import Document, Element, SelectorSyntaxError, XPath, parse

from openoctopus.selector.xpath import Expression

_TOKENS = re.compile(
    r"""
    (?P<open>[\[(]) | (?P<close>[\])]) | (?P<comma>,)
    | (?P<pseudo>::[-\w]+(?:\([^()]*\))?)
    | (?P<combinator>\s*[>+~]\s*|\s+)
    | (?P<text>\\.|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|/\*.*?(?:\*/|\Z)|[^\[\](),:\\"'\s>+~/]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ATTR = re.compile(r"""::attr\(\s*(?P<quote>["']?)(?P<name>[-\w]+(?::[-\w]+)?)(?P=quote)\s*\)""", re.IGNORECASE)
#: Names that XPath and CSS find alike: none so short is written with capitals in SVG. Or no name at all.
_TAG = re.compile("[a-z]{1,5}[1-6]?|")
_SAFE_NAME = re.compile(r"[A-Za-z_][-.\w]*")
#: A condition for the first compound of a selector: like parsel, it is looked for at or below the node asked.
_INSIDE = ":is(:scope, :scope *)"
_EMPTY = parse("")


class _Part(NamedTuple):
    """One selector of a comma group: its first compound, what follows, and what is taken of the elements found."""

    first: str
    rest: str
    take: str


class Finder:
    """One CSS query, compiled for turbohtml's own engine."""

    __slots__ = ("_direct", "_inside", "_own", "_query", "_take", "_whole")

    def __init__(self, query: str, parts: list[_Part]) -> None:
        self._query = query
        self._whole = ", ".join(first + rest for first, rest, _ in parts)
        self._own = ", ".join(first for first, rest, _ in parts if not rest)
        self._inside = ", ".join(first + _INSIDE + rest if rest else first for first, rest, _ in parts)
        if any(rest.strip()[:1] in ("+", "~") for _, rest, _ in parts):
            self._inside = ""
        take = parts[0].take
        self._take = XPath(f"$found/{take}") if take else None
        self._direct = _in_one_step(self._whole, take)
        if self._direct is None:
            _EMPTY.select(self._whole)

    def find(self, node: Element) -> list[Any]:
        """What the query finds at or below the node, in document order."""
        if self._direct is not None:
            return cast("list[str]", self._direct(node))
        above = node.parent
        if type(above) is Document:
            found = above.select(self._whole)
        elif self._inside:
            found = node.select(self._inside)
            if self._own and node.matches(self._own):
                found.insert(0, node)
        else:
            # A sibling of the node itself may be meant, which is not below it.
            return translated(self._query).find(node)
        return found if self._take is None else cast("list[str]", self._take(node, found=found))


def _in_one_step(selector: str, take: str) -> XPath | None:
    """XPath for the texts or values of everything, or of elements of one name, where it is the shorter way."""
    if not take or not _TAG.fullmatch(selector):
        return None
    return XPath(f"descendant-or-self::{selector}/{take}" if selector else take)


class Translated:
    """One CSS query as XPath: what only parsel's dialect has (``:contains()``, ``[a!=b]``), and mixed pseudo-elements."""

    __slots__ = ("_expression",)

    def __init__(self, query: str) -> None:
        try:
            self._expression = Expression(HTMLTranslator().css_to_xpath(query))
        except SelectorError as error:
            raise ValueError(f"CSS error: {error} in {query}") from error

    def find(self, node: Element) -> list[Any]:
        return self._expression.evaluate(node, {}, {})


@lru_cache(maxsize=1024)
def compiled(query: str) -> Finder | Translated:
    """Compile a CSS query. Raises ``ValueError`` with the query named if it is wrong."""
    parts = [_part(tokens) for tokens in _groups(query)]
    takes = {part.take for part in parts}
    known = len(takes) == 1 and not takes.pop().startswith("::")
    if known and (len(parts) == 1 or all(part.first for part in parts)):
        try:
            return Finder(query, parts)
        except SelectorSyntaxError:
            pass  # either parsel's dialect, or wrong in both
    return translated(query)


@lru_cache(maxsize=256)
def translated(query: str) -> Translated:
    """The query as XPath. Raises ``ValueError`` with the query named if it is wrong."""
    return Translated(query)


def _groups(query: str) -> list[list[tuple[str, str]]]:
    """The tokens of each selector of a comma group, as (kind, text); what stands in brackets is text."""
    groups: list[list[tuple[str, str]]] = [[]]
    depth = 0
    for token in _TOKENS.finditer(query):
        kind, text = str(token.lastgroup), token[0]
        depth += (kind == "open") - (kind == "close")
        if depth or kind in ("open", "close"):
            kind = "text"
        if kind == "comma":
            groups.append([])
        elif groups[-1] or not text.isspace():
            groups[-1].append((kind, text))
    return groups


def _part(tokens: list[tuple[str, str]]) -> _Part:
    if tokens and tokens[-1][1].isspace():
        tokens.pop()
    pseudo = tokens.pop()[1] if tokens and tokens[-1][0] == "pseudo" else ""
    # "p *::text" is "p ::text": the texts of p itself too, as parsel has it.
    if pseudo and len(tokens) > 1 and tokens[-2][1].isspace() and tokens[-1][1] in ("*", "*|*"):
        tokens.pop()
    split = next((at for at, (kind, _) in enumerate(tokens) if kind == "combinator"), len(tokens))
    first = "".join(text for _, text in tokens[:split])
    rest = "".join(text for _, text in tokens[split:])
    if not pseudo:
        return _Part(first, rest, "")
    # "p ::text" takes all texts in p and "p > ::text" those of its children, as parsel has it.
    rest = rest.rstrip() + "*" if rest.rstrip().endswith((">", "+", "~")) else rest
    return _Part(first, rest.rstrip(), _take(pseudo, anywhere=not first or rest[-1:].isspace()))


def _take(pseudo: str, *, anywhere: bool) -> str:
    """The XPath step from an element to what a pseudo-element names; an unknown one is left for parsel to refuse."""
    if pseudo.lower() == "::text":
        return "descendant::text()" if anywhere else "text()"
    attr = _ATTR.fullmatch(pseudo)
    if attr is None:
        return pseudo
    name = attr["name"]
    step = f"@{name}" if _SAFE_NAME.fullmatch(name) else f'@*[name() = "{name}"]'
    return f"descendant-or-self::*/{step}" if anywhere else step
