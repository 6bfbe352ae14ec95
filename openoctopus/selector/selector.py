"""What was found in a page, and how to find more in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from itertools import chain
from re import Pattern
from typing import Any, NoReturn, SupportsIndex, overload

import jmespath
from parsel.selector import CannotRemoveElementWithoutRoot
from parsel.utils import extract_regex, shorten

from openoctopus.selector.source import Kind, Source, TreeName, json_or_none

Regex = str | Pattern[str]


class Selector:
    """A document, or a node found in it: an element, a text, an attribute value, a number, a JSON value.

    ``type`` says how ``text`` is read; it is parsed at the first query, once. HTML gets the tree of browsers
    (``tree="html5"``) or parsel's (``"lxml"``); XML is always read by lxml, its entities and the network off.
    ``namespaces`` are prefixes for XPath. ``base_url`` is the URL of the page.
    """

    __slots__ = ("__weakref__", "_query", "_source", "root")

    #: The node: of the parser's own type, a ``str`` for texts and attribute values, a JSON value for JSON.
    root: Any

    def __init__(
        self,
        text: str | None = None,
        type: Kind = "html",  # noqa: A002 - parsel's name
        base_url: str = "",
        tree: TreeName = "html5",
        namespaces: Mapping[str, str] | None = None,
    ) -> None:
        if type not in ("html", "xml", "json", "text"):
            raise ValueError(f"Invalid type: {type}")
        if tree not in ("html5", "lxml"):
            raise ValueError(f"Invalid tree: {tree}")
        if not isinstance(text, str):
            raise TypeError(f"text argument should be of type str, got {text.__class__}")
        self._source = Source(type, tree, namespaces or {}, text, base_url)
        self._query: str | None = None

    def __getattr__(self, name: str) -> Any:
        if name != "root":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.root = root = self._source.read()
        return root

    @property
    def type(self) -> Kind:
        """``html``, ``xml``, ``json`` or ``text``."""
        return self._source.kind

    @property
    def tree(self) -> TreeName:
        """``html5`` or ``lxml``: how HTML is read."""
        return self._source.tree_name

    @property
    def base_url(self) -> str:
        """The URL of the page, as it was given."""
        return self._source.base_url

    @property
    def namespaces(self) -> Mapping[str, str]:
        """The prefixes that XPath queries may use."""
        return self._source.namespaces

    def css(self, query: str) -> SelectorList:
        """What a CSS selector finds at or below this node; ``::text`` and ``::attr(name)`` take texts and values.

        Raises ``ValueError`` for a wrong query.
        """
        source = self._source
        root = self.root
        if source.tree is None:
            return self._as_html("css").css(query)
        return _bare(source.tree.css(root, query, source.namespaces), query, source)

    def xpath(self, query: str, namespaces: Mapping[str, str] | None = None, **variables: Any) -> SelectorList:
        """What an XPath 1.0 expression finds from this node; keywords are its variables.

        Raises ``ValueError`` for a wrong query.
        """
        source = self._source
        root = self.root
        if source.tree is None:
            return self._as_html("xpath").xpath(query, namespaces, **variables)
        prefixes = {**source.namespaces, **namespaces} if namespaces else source.namespaces
        return _bare(source.tree.xpath(root, query, prefixes, variables), query, source)

    def _as_html(self, method: str) -> Selector:
        if self.type == "json":
            raise ValueError(f"Cannot use {method} on a Selector of type 'json'")
        return Selector(self.root, tree=self.tree, base_url=self.base_url, namespaces=self.namespaces)

    def jmespath(self, query: str, **options: Any) -> SelectorList:
        """What a JMESPath query finds in this JSON value, or in the JSON text of this node.

        ``options`` are those of ``jmespath.search``.
        """
        found = jmespath.search(query, self._data(), **options)
        values = found if isinstance(found, list) else [] if found is None else [found]
        as_text = Source("text", self.tree, self.namespaces)
        as_json = Source("json", self.tree, self.namespaces)
        return SelectorList(_selector(value, query, as_text if isinstance(value, str) else as_json) for value in values)

    def _data(self) -> Any:
        root, tree = self.root, self._source.tree
        if isinstance(root, str):
            return json_or_none(root)
        return root if tree is None else json_or_none(tree.own_text(root))

    def re(self, regex: Regex, replace_entities: bool = True) -> list[str]:
        """All matches in the markup or text: the group ``extract``, else all groups, else the whole match.

        Character references are replaced, but for ``&amp;`` and ``&lt;``.
        """
        return _matches(regex, self.get(), replace_entities)

    def re_first(self, regex: Regex, default: str | None = None, replace_entities: bool = True) -> str | None:
        """The first match, else ``default``."""
        return next(iter(self.re(regex, replace_entities)), default)

    def get(self) -> Any:
        """The markup of an element, a text, an attribute value, a number as text; a JSON value as it is."""
        root = self.root
        return root if type(root) is str else self._source.get(root)

    extract = get

    def getall(self) -> list[Any]:
        """``get()`` in a list of one."""
        return [self.get()]

    @property
    def attrib(self) -> dict[str, str]:
        """The attributes of the element; empty for what is none."""
        return self._source.attributes(self.root)

    def drop(self) -> None:
        """Take the node out of its document. Raises parsel's errors for what is no node, and for a root."""
        tree = self._source.tree
        if tree is None or isinstance(self.root, str | float):
            raise CannotRemoveElementWithoutRoot(
                "a text, an attribute value or a number cannot be dropped: select its element ('li', not 'li::text')"
            )
        tree.drop(self.root)

    def remove_namespaces(self) -> None:
        """Strip the namespaces of all elements, so that XPath needs no prefixes."""
        tree = self._source.tree
        if tree is not None:
            tree.remove_namespaces(self.root)

    def register_namespace(self, prefix: str, uri: str) -> None:
        """Let XPath queries from this selector, and from what they find, use ``prefix``."""
        root, source = self.root, self._source
        self._source = Source(source.kind, source.tree_name, {**source.namespaces, prefix: uri}, "", source.base_url)
        self._source.tree = source.tree
        self.root = root

    def __bool__(self) -> bool:
        """Whether there is any content."""
        root = self.root
        return bool(root) if isinstance(root, str) or self._source.tree is None else True

    def __getstate__(self) -> NoReturn:
        raise TypeError("can't pickle Selector objects")

    def __str__(self) -> str:
        return str(self.get())

    def __repr__(self) -> str:
        return f"<Selector query={self._query!r} data={shorten(str(self.get()), width=40)!r}>"


class SelectorList(list[Selector]):
    """What a query found: a list of selectors with their methods.

    The nodes stand bare in it until someone looks at one, since most are only asked for their text.
    """

    __slots__ = ("_query", "_source")

    _query: str
    #: Of bare nodes; None once there are selectors.
    _source: Source | None

    def __init__(self, selectors: Iterable[Selector] = ()) -> None:
        super().__init__(selectors)
        self._source = None

    def _nodes(self) -> Iterator[Any]:
        return list.__iter__(self)

    def _gets(self) -> Iterator[Any]:
        source = self._source
        return (node.get() if source is None else source.get(node) for node in self._nodes())

    def _fill(self) -> None:
        source = self._source
        if source is not None:
            self._source = None
            list.__setitem__(self, slice(None), [_selector(node, self._query, source) for node in self._nodes()])

    @overload
    def __getitem__(self, index: SupportsIndex) -> Selector: ...
    @overload
    def __getitem__(self, index: slice) -> SelectorList: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Selector | SelectorList:
        self._fill()
        found = super().__getitem__(index)
        return SelectorList(found) if isinstance(found, list) else found

    def __radd__(self, other: list[Any]) -> list[Any]:
        return [*other, *self]

    def css(self, query: str) -> SelectorList:
        """``css`` of each, in one list."""
        source = self._source
        if source is None or source.tree is None:
            return SelectorList(chain.from_iterable(selector.css(query) for selector in self))
        find, prefixes = source.tree.css, source.namespaces
        return _bare([found for node in self._nodes() for found in find(node, query, prefixes)], query, source)

    def xpath(self, query: str, namespaces: Mapping[str, str] | None = None, **variables: Any) -> SelectorList:
        """``xpath`` of each, in one list."""
        source = self._source
        if source is None or source.tree is None:
            return SelectorList(chain.from_iterable(each.xpath(query, namespaces, **variables) for each in self))
        find, prefixes = source.tree.xpath, {**source.namespaces, **(namespaces or {})}
        nodes = [found for node in self._nodes() for found in find(node, query, prefixes, variables)]
        return _bare(nodes, query, source)

    def jmespath(self, query: str, **options: Any) -> SelectorList:
        """``jmespath`` of each, in one list."""
        return SelectorList(chain.from_iterable(selector.jmespath(query, **options) for selector in self))

    def re(self, regex: Regex, replace_entities: bool = True) -> list[str]:
        """The matches of all, in one list."""
        return [match for text in self.getall() for match in _matches(regex, text, replace_entities)]

    def re_first(self, regex: Regex, default: str | None = None, replace_entities: bool = True) -> str | None:
        """The first match in any of them, else ``default``."""
        return next((match for text in self._gets() for match in _matches(regex, text, replace_entities)), default)

    def get(self, default: Any = None) -> Any:
        """``get()`` of the first, or ``default`` if nothing was found."""
        for node in self._nodes():
            source = self._source
            return node.get() if source is None else source.get(node)
        return default

    extract_first = get

    def getall(self) -> list[Any]:
        """``get()`` of all."""
        source = self._source
        if source is None:
            return list(self._gets())
        return [node if type(node) is str else source.get(node) for node in self._nodes()]

    extract = getall

    @property
    def attrib(self) -> dict[str, str]:
        """The attributes of the first; empty if nothing was found."""
        for node in self._nodes():
            source = self._source
            return node.attrib if source is None else source.attributes(node)
        return {}

    def drop(self) -> None:
        """Take all of them out of their document."""
        for selector in self:
            selector.drop()

    def __getstate__(self) -> NoReturn:
        raise TypeError("can't pickle SelectorList objects")


def _filled_first(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: SelectorList, *arguments: Any, **options: Any) -> Any:
        for each in (self, *arguments):
            if isinstance(each, SelectorList):
                each._fill()
        return method(self, *arguments, **options)

    return wraps(method)(call)


#: What looks at the items of a list, or puts others in.
for _name in (
    *("__add__", "__contains__", "__delitem__", "__eq__", "__ge__", "__gt__", "__iadd__", "__imul__", "__iter__", "__le__"),
    *("__lt__", "__mul__", "__ne__", "__repr__", "__reversed__", "__rmul__", "__setitem__", "append", "copy", "count"),
    *("extend", "index", "insert", "pop", "remove", "reverse", "sort"),
):
    setattr(SelectorList, _name, _filled_first(getattr(list, _name)))


def _bare(nodes: list[Any], query: str, source: Source) -> SelectorList:
    found = SelectorList.__new__(SelectorList)
    list.extend(found, nodes)
    found._query = query
    found._source = source
    return found


def _selector(node: Any, query: str, source: Source) -> Selector:
    selector = Selector.__new__(Selector)
    selector.root = node
    selector._query = query
    selector._source = source
    return selector


def _matches(regex: Regex, text: Any, replace_entities: bool) -> list[str]:
    return extract_regex(regex, text, replace_entities and "&" in text)
