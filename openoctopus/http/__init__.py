from __future__ import annotations

from openoctopus.http.form import FormRequest, JsonRequest
from openoctopus.http.headers import Headers
from openoctopus.http.request import Request
from openoctopus.http.response import Response

__all__ = ["FormRequest", "Headers", "JsonRequest", "Request", "Response"]
