"""What an engine gives back: the head of an answer, and a body that is still to be read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any

from openoctopus.http import Headers


class LateHeaders(Headers, ABC):
    """Header fields that stay with the engine until somebody asks for all of them: most pages need two."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Any) -> None:
        self._fields = fields

    @abstractmethod
    def all_of(self, fields: Any) -> list[tuple[str, str]]:
        """All pairs, their characters the bytes that came."""

    @abstractmethod
    def values_of(self, fields: Any, name: str) -> list[str]:
        """The values of one field."""

    def __getattr__(self, name: str) -> list[tuple[str, str]]:
        if name != "raw" or self._fields is None:
            raise AttributeError(name)
        self.raw, self._fields = self.all_of(self._fields), None
        return self.raw

    def getlist(self, name: str) -> list[str]:
        return super().getlist(name) if self._fields is None else self.values_of(self._fields, name)

    def get(self, name: str, default: Any = None) -> Any:
        if self._fields is None:
            return super().get(name, default)
        values = self.values_of(self._fields, name)
        return values[0] if values else default


class Answer(ABC):
    """The head of an answer, and its body as it comes from the wire, still packed."""

    status: int
    headers: Headers
    #: Content-Encoding, empty if there is none.
    coding: str
    #: The announced size of the body in bytes, ``None`` if it is not known.
    length: int | None
    ip_address: str
    protocol: str
    #: The body has been read to its end.
    done = False
    truncated = False

    @abstractmethod
    async def read(self) -> bytes:
        """The whole body."""

    @abstractmethod
    def chunks(self) -> AsyncIterator[bytes]:
        """The body in pieces."""

    @abstractmethod
    async def abandon(self) -> None:
        """Give up the rest of the body and its connection."""
