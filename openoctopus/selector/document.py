"""What a page says as a whole: its links, forms, tables, structured data, and the article in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import can_ada
from turbohtml import Document, Element, parse
from turbohtml.extract import DateExtraction, dates

from openoctopus.selector.selector import Selector

#: Makes a link of the page absolute; raises ``ValueError`` for what is no link.
Join = Callable[[str], str]

_BUTTONS = frozenset({"submit", "button", "reset", "image", "file"})
_SPANNING = "[rowspan], [colspan]"
_NUMBER = re.compile(r"\s*([0-9]{1,6})")
#: A small page could otherwise ask for gigabytes.
_MOST_PLACES = 1_000_000
_TABLE_PARTS = frozenset({"table", "tbody", "thead", "tfoot", "tr"})


@dataclass(frozen=True, slots=True)
class Link:
    """One ``a`` or ``area``: its absolute URL, its text with spaces collapsed, its ``rel`` in lower case."""

    url: str
    text: str
    rel: tuple[str, ...] = ()

    @property
    def nofollow(self) -> bool:
        """Whether the page asks crawlers not to follow it."""
        return "nofollow" in self.rel


@dataclass(frozen=True, slots=True)
class Form:
    """One form: where and how it is sent, and the fields that a browser would send with no button pressed."""

    id: str | None
    name: str | None
    action: str
    method: str
    enctype: str
    fields: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Article:
    """The main content of a page and what the page says about it."""

    title: str | None
    text: str
    author: str | None
    date: str | None
    description: str | None
    language: str | None
    url: str | None
    site_name: str | None
    image: str | None
    tags: list[str]


def base_url(selector: Selector, fallback: str = "") -> str:
    """What links are relative to: the first ``<base href>``, resolved against ``fallback`` (the page's URL)."""
    return _document(selector).base_url(fallback or selector.base_url)


def meta_refresh(selector: Selector, fallback: str = "") -> tuple[float, str] | None:
    """Delay in seconds and URL of the first meta refresh outside noscript; None if there is none that can be followed."""
    page = fallback or selector.base_url
    try:
        found = _document(selector).meta_refresh()
    except ValueError:
        found = None
    if found is None:
        return None
    delay, written = found
    url = _joined(_joiner(base_url(selector, page)), written) if written else page
    return (delay, url) if url else None


def links(selector: Selector, join: Join | None = None) -> list[Link]:
    """The http(s) links of ``a`` and ``area`` in the order of the page; what is no URL is left out."""
    join = join or _joiner(base_url(selector))
    found = []
    for element in _select(selector, "a[href], area[href]"):
        url = _joined(join, element.attr("href") or "")
        if url.startswith(("http:", "https:")):
            rel = (element.attr("rel") or "").lower().split()
            found.append(Link(url, " ".join(element.text.split()), tuple(rel)))
    return found


def forms(selector: Selector, join: Join | None = None) -> list[Form]:
    """The forms of the page in its order, with their fields (WHATWG HTML, 4.10.21.4)."""
    join = join or _joiner(base_url(selector))
    found = {form: _form(form, join, selector.base_url) for form in _select(selector, "form")}
    for control, owner in _controls(_document(selector)):
        if owner in found:
            found[owner].fields.extend(_pairs(control))
    return list(found.values())


def tables(selector: Selector) -> list[list[list[str]]]:
    """The tables of the page as rows of cell texts; a cell that spans is repeated in each place it fills.

    Where the spans of a table claim more than a million places, they are left out of account.
    """
    found = []
    for table in _select(selector, "table"):
        row_count = len(table.select("tr"))
        claimed = sum(_span(cell, "rowspan", row_count) * _span(cell, "colspan", 1000) for cell in table.select(_SPANNING))
        if claimed > _MOST_PLACES:
            found.append([[cell.text.strip() for cell in row.select("td, th")] for row in table.select("tr")])
        else:
            found.append(table.rows())
    return found


def structured_data(selector: Selector) -> dict[str, Any]:
    """JSON-LD, microdata, OpenGraph, RDFa and Dublin Core as plain data, by these names; URLs as they are written."""
    data = asdict(_document(selector).structured_data())
    return {name: data[name] for name in ("json_ld", "microdata", "opengraph", "rdfa", "dublin_core")}


def article(selector: Selector) -> Article:
    """The main content; ``text`` is empty if nothing reads like an article."""
    root = _root(selector)
    found = root.article()
    return Article(
        title=found.title,
        text=found.text,
        author=found.byline,
        date=found.date or _published(root),
        description=found.description,
        language=found.lang,
        url=found.canonical,
        site_name=found.site_name,
        image=found.image,
        tags=list(found.tags),
    )


def _published(root: Element) -> str | None:
    """The date in JSON-LD, ``time`` elements or the canonical URL, as YYYY-MM-DD."""
    found = dates(root.html, DateExtraction(original=True, extensive_search=False))
    return found.date if found else None


def markdown(selector: Selector) -> str:
    """What is in the node, as Markdown."""
    return _root(selector).to_markdown()


def _root(selector: Selector) -> Element:
    """The element in the browser's tree; what is none of it is read anew."""
    root = selector.root
    if isinstance(root, Element):
        return root
    read = parse(str(selector.get())).root
    assert read is not None, "the parser gives every document its html element"
    return read


def _select(selector: Selector, css: str) -> list[Element]:
    """What matches at or below the node."""
    root = _root(selector)
    return [root, *root.select(css)] if root.matches(css) else root.select(css)


def _span(cell: Element, name: str, most: int) -> int:
    number = _NUMBER.match(cell.attr(name) or "1")
    return min(int(number[1]), most) if number else 1


def _document(selector: Selector) -> Document:
    node: Any = _root(selector)
    while not isinstance(node, Document) and node.parent is not None:
        node = node.parent
    return node if isinstance(node, Document) else parse(node.html)


def _joiner(base_url: str) -> Join:
    if not base_url:
        return lambda reference: str(can_ada.parse(reference.strip()).href)
    base = can_ada.parse(base_url)
    return lambda reference: str((base + reference).href)


def _joined(join: Join, reference: str) -> str:
    try:
        return join(reference)
    except ValueError:
        return ""


def _form(form: Element, join: Join, page: str) -> Form:
    action = (form.attr("action") or "").strip()
    method = (form.attr("method") or "").strip().upper()
    enctype = (form.attr("enctype") or "").strip().lower()
    return Form(
        id=form.attr("id"),
        name=form.attr("name"),
        action=_joined(join, action) if action else page,
        method=method if method in ("POST", "DIALOG") else "GET",
        enctype=enctype if enctype in ("multipart/form-data", "text/plain") else "application/x-www-form-urlencoded",
    )


def _controls(document: Document) -> list[tuple[Element, Element]]:
    """Each control that may be sent, with its form: that of its ``form`` attribute, else the one around it.

    A form written between the rows of a table is empty in the tree, but still owns what follows in that table.
    """
    owned = []
    by_id = {form.attr("id"): form for form in reversed(document.select("form[id]"))}
    in_table: Element | None = None
    for element in document.select("form, input:enabled, select:enabled, textarea:enabled"):
        if element.tag == "form":
            is_between_rows = isinstance(element.parent, Element) and element.parent.tag in _TABLE_PARTS
            in_table = element if is_between_rows and not len(element) else None
            continue
        named = element.attr("form")
        owner = by_id.get(named) if named is not None else element.closest("form")
        if owner is None and named is None and in_table is not None and _in_same_table(element, in_table):
            owner = in_table
        if owner is not None:
            owned.append((element, owner))
    return owned


def _in_same_table(element: Element, form: Element) -> bool:
    table = form.closest("table")
    return any(above == table for above in element.ancestors)


def _pairs(control: Element) -> list[tuple[str, str]]:
    """The names and values that a control sends."""
    name = control.attr("name")
    if not name:
        return []
    if control.tag == "input":
        kind = (control.attr("type") or "").lower()
        if kind in _BUTTONS or (kind in ("checkbox", "radio") and not control.checked):
            return []
    if control.tag == "select" and control.attr("multiple") is not None:
        options = control.select("option[selected]:enabled")
        return [(name, str(option.attr("value") or option.text)) for option in options]
    value = control.field_value
    return [(name, value)] if isinstance(value, str) else []
