"""XPath 1.0 on the browser's tree, with the functions that parsel offers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, TypeAlias

from turbohtml import Document, Element, Node, XPath

_Value: TypeAlias = str | float | bool | Element | Iterable[Element]

_STRING = r""" "[^"]*" | '[^']*' """
#: ``has-class("a", 'b')`` with nothing but strings in it; strings of the query itself are stepped over.
_HAS_CLASS = re.compile(rf"{_STRING} | has-class\(\s* ( (?:{_STRING}) (?:\s*,\s* (?:{_STRING}))* ) \s*\)", re.VERBOSE)
_REGEX_CALL = re.compile(rf"{_STRING} | \bre:(test|replace)(?=\s*\()", re.VERBOSE)
_LITERAL = re.compile(_STRING, re.VERBOSE)
_SPACES = re.compile("[ \t\n\r\f]+")


class Expression:
    """One XPath query, compiled. ``evaluate`` may be called from any node."""

    __slots__ = ("_compiled", "_extensions", "_query", "_text")

    def __init__(self, query: str) -> None:
        self._query = query
        self._text = _HAS_CLASS.sub(_tests_of_classes, query)
        self._extensions = _FUNCTIONS if "has-class" in self._text or "re:match" in self._text else None
        try:
            self._compiled = XPath(self._text, extensions=self._extensions)
        except ValueError as error:
            raise self._wrong(error) from None

    def evaluate(self, node: Node, namespaces: Mapping[str, str], variables: Mapping[str, Any]) -> list[Any]:
        """Nodes and strings in document order; a number, a string or a boolean alone."""
        try:
            if namespaces:
                found = node.xpath(self._text, namespaces=dict(namespaces), extensions=self._extensions, **_known(variables))
            elif variables:
                found = self._compiled(node, **_known(variables))
            else:
                found = self._compiled(node)
        except (ValueError, TypeError, re.error) as error:
            if "unsupported regular expression syntax" in str(error):
                return self._with_backtracking().evaluate(node, namespaces, variables)
            raise self._wrong(error) from error
        if type(found) is not list:
            return [found]
        if found and type(found[0]) is Document:
            # lxml has no node above the root element.
            del found[0]
        return found

    def _with_backtracking(self) -> Expression:
        """The same with Python's regular expressions, for look-around and back-references."""
        text = _REGEX_CALL.sub(lambda call: f"re-{call[1]}" if call[1] else call[0], self._text)
        expression = Expression(text)
        expression._query, expression._extensions = self._query, _FUNCTIONS
        expression._compiled = XPath(text, extensions=_FUNCTIONS)
        return expression

    def _wrong(self, error: Exception) -> ValueError:
        return ValueError(f"XPath error: {error} in {self._query}")


@lru_cache(maxsize=1024)
def compiled(query: str) -> Expression:
    """Compile an XPath query. Raises ``ValueError`` with the query named if it is wrong."""
    return Expression(query)


def _known(variables: Mapping[str, Any]) -> dict[str, Any]:
    # lxml takes None for an empty node-set.
    return {name: () if value is None else value for name, value in variables.items()}


def _tests_of_classes(call: re.Match[str]) -> str:
    """``has-class`` as plain XPath, so that no Python runs for every node."""
    if call[1] is None:
        return call[0]
    tests = (f"contains({_CLASSES}, concat(' ', {literal}, ' '))" for literal in _LITERAL.findall(call[1]))
    return f"({' and '.join(tests)})"


_CLASSES = "concat(' ', normalize-space(@class), ' ')"


def _has_class(context: SimpleNamespace, *classes: object) -> bool:
    """Whether the node has all the classes."""
    if not classes:
        raise ValueError("has-class must have at least 1 argument")
    if not all(isinstance(name, str) for name in classes):
        raise ValueError("has-class arguments must be strings")
    node = context.context_node
    own = node.attr("class") if isinstance(node, Element) else None
    return own is not None and all(f" {name} " in _SPACES.sub(" ", f" {own} ") for name in classes)


def _match(context: SimpleNamespace, text: object, pattern: object, flags: object = "") -> str:
    """The first match, or nothing: EXSLT gives elements, which the tree cannot hold."""
    match = _regex(pattern, flags).search(_string(text))
    return match[0] if match else ""


def _test(context: SimpleNamespace, text: object, pattern: object, flags: object = "") -> bool:
    return _regex(pattern, flags).search(_string(text)) is not None


def _replace(context: SimpleNamespace, text: object, pattern: object, flags: object, replacement: object) -> str:
    count = 0 if "g" in _string(flags) else 1
    return _regex(pattern, flags).sub(_string(replacement), _string(text), count=count)


def _regex(pattern: object, flags: object) -> re.Pattern[str]:
    return re.compile(_string(pattern), re.IGNORECASE if "i" in _string(flags) else 0)


def _string(value: object) -> str:
    """The string value of an argument (XPath 1.0, 4.2); of a node-set, that of its first node."""
    if isinstance(value, list):
        value = value[0] if value else ""
    return value.text if isinstance(value, Node) else str(value)


_FUNCTIONS: dict[tuple[str | None, str], Callable[..., _Value]] = {
    (None, "has-class"): _has_class,
    (None, "re:match"): _match,
    (None, "re-test"): _test,
    (None, "re-replace"): _replace,
}
