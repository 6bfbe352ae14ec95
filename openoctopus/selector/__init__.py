"""Find things in a page: by CSS, XPath, regular expressions and JMESPath, as parsel does."""

from __future__ import annotations

from openoctopus.selector import document
from openoctopus.selector.selector import Selector, SelectorList

__all__ = ["Selector", "SelectorList", "document"]
