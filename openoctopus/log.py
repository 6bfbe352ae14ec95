"""How the log is written: to the terminal or a file, as lines or as JSON, one line for each record whatever it holds."""

from __future__ import annotations

import json
import logging
import re
import signal
import sys
import threading
from logging.handlers import RotatingFileHandler, WatchedFileHandler
from typing import Any, TextIO

from openoctopus.settings import Settings

#: A line longer than this is cut (tracebacks are lines of their own).
LONGEST = 4096
#: Characters that would start a new line, drive a terminal or reorder what is read (Unicode UAX #9).
_UNSAFE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s'\"]*@")


def safe(text: str) -> str:
    """The text on one line, its control characters escaped and credentials in URLs masked."""
    text = _CREDENTIALS.sub("***@", text)
    text = _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


class LineFormatter(logging.Formatter):
    """The known format of ``logging``; the message stays on its line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # the name is logging's
        record.message = safe(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return "\n".join(safe(line) for line in super().formatException(ei).split("\n"))


class JsonFormatter(logging.Formatter):
    """A JSON object for each record: ``time``, ``level``, ``logger``, ``message``, and ``exception`` where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname,
            "logger": record.name,
            "message": _CREDENTIALS.sub("***@", record.getMessage())[:LONGEST],
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False).encode("utf-8", "replace").decode()


def set_up(settings: Settings, stream: TextIO | None = None) -> logging.Handler:
    """Write the log as the settings say; returns the handler, for ``take_down``.

    A file is opened anew when another program moved it away, and at SIGHUP.
    """
    handler = _handler(settings, stream)
    handler.setFormatter(
        JsonFormatter() if settings.LOG_JSON else LineFormatter(settings.LOG_FORMAT, settings.LOG_DATEFORMAT)
    )
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(settings.LOG_LEVEL)
    for noisy in ("asyncio", "aiohttp.access"):
        logging.getLogger(noisy).setLevel(max(logging.getLevelName(settings.LOG_LEVEL), logging.WARNING))
    if settings.LOG_FILE and hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGHUP, lambda *_: handler.close())
    return handler


def _handler(settings: Settings, stream: TextIO | None) -> logging.Handler:
    if not settings.LOG_FILE:
        return logging.StreamHandler(stream or sys.stderr)
    if settings.LOG_MAX_MB:
        size = int(settings.LOG_MAX_MB * 1e6)
        return RotatingFileHandler(settings.LOG_FILE, maxBytes=size, backupCount=settings.LOG_BACKUPS, encoding="utf-8", delay=True)
    return WatchedFileHandler(settings.LOG_FILE, encoding="utf-8", delay=True)


def take_down(handler: logging.Handler) -> None:
    """Undo ``set_up``."""
    logging.getLogger().removeHandler(handler)
    handler.close()
