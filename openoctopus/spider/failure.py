"""What an errback is told."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

from openoctopus.http import Request, Response


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request brought no page: the exception, and the request it happened to."""

    value: BaseException
    request: Request

    @property
    def type(self) -> builtins.type[BaseException]:
        return type(self.value)

    @property
    def response(self) -> Response | None:
        """The answer, where the status was the trouble."""
        return getattr(self.value, "response", None)

    @property
    def cb_kwargs(self) -> dict[str, Any]:
        return self.request.cb_kwargs

    def check(self, *kinds: builtins.type[BaseException]) -> builtins.type[BaseException] | None:
        """The first of these kinds that the exception is, or ``None``."""
        return next((kind for kind in kinds if isinstance(self.value, kind)), None)

    def __str__(self) -> str:
        return f"{self.request}: {self.type.__name__}: {self.value}"
