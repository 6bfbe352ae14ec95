"""How the log is written: to the terminal or a file, as lines or as JSON, one line for each record whatever it holds."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from logging.handlers import RotatingFileHandler, WatchedFileHandler
from typing import Any, Protocol
from urllib.parse import unquote

from openoctopus.exceptions import SettingsError
from openoctopus.folders import make_folder_of
from openoctopus.settings import Settings, masked

#: A line with more characters is cut.
LONGEST = 4096
#: A traceback with more lines loses those in its middle.
LONGEST_TRACE = 80
#: Shorter passwords are not looked for in what is logged: they would be found in innocent words.
SHORTEST_SECRET = 6

#: Characters that start a new line, drive a terminal, reorder what is read (Unicode UAX #9) or cannot be encoded.
_UNSAFE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_USERINFO = re.compile(r"(?<=://)[^/?#\s'\"<>]*@")
_PASSWORD = re.compile(r"://[^/?#\s:@]*:([^/?#\s]*)@")
_SECRET_ARGUMENT = re.compile(r"([?&;][\w.-]*(?:passw|secret|token|api_?key|signature)[\w.-]*=)[^&;#\s'\"<>]*", re.IGNORECASE)
#: A part of a date's layout: flags and a width (GNU), a modifier, the letter.
_DATE_PART = re.compile("%[-_0^#]*[0-9]*[EO]?.?", re.DOTALL)
#: By level; the rest is plain.
_COLORS = {"DEBUG": "\x1b[2m", "WARNING": "\x1b[33m", "ERROR": "\x1b[31m", "CRITICAL": "\x1b[1;31m"}

#: Takes the secrets of one crawl out of a text.
Hide = Callable[[str], str]


class Terminal(Protocol):
    """Standard error, or what stands for it."""

    def write(self, text: str, /) -> int: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...


def safe(text: str, hide: Hide = str) -> str:
    """The text on one line: control characters escaped, secrets in URLs masked, at most ``LONGEST`` characters."""
    shown = _UNSAFE.sub(_escaped, _masked(text, hide))
    return shown if len(shown) <= LONGEST and len(text) <= LONGEST else f"{shown[:LONGEST]}... ({len(text):,} characters)"


def moment(seconds: float) -> str:
    """A time for people, given in seconds since the epoch; 0 is none."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)) if seconds else "-"


def _masked(text: str, hide: Hide) -> str:
    # Masks make a text shorter, so a little more is looked at than is shown; but never all of a very long one.
    text = hide(text[: 2 * LONGEST])
    if "://" in text:
        text = _USERINFO.sub("***@", text)
    return _SECRET_ARGUMENT.sub(r"\1***", text) if "=" in text else text


def _escaped(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]


def hiding(settings: Settings) -> Hide:
    """Takes the passwords and tokens of these settings out of a text, wherever they turn up in it."""
    found = {secret for name in settings.names() for secret in _secrets(name, settings[name])}
    found |= {unquote(secret) for secret in found}
    long_ones = sorted((secret for secret in found if len(secret) >= SHORTEST_SECRET), key=len, reverse=True)
    if not long_ones:
        return str
    pattern = re.compile("|".join(map(re.escape, long_ones)))
    return lambda text: pattern.sub("***", text)


def _secrets(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _secrets(str(key), part)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _secrets(name, part)
    elif isinstance(value, str):
        yield from _PASSWORD.findall(value)
        if masked(name, "shown") != "'shown'":
            yield value


class Lines(logging.LogRecord):
    """What another process made lines of already."""

    def __init__(self, text: str) -> None:
        super().__init__("openoctopus", logging.INFO, "", 0, text, None, None)


def pass_on(text: str) -> None:
    """Write lines of the log that another process of this crawl has formatted."""
    logging.getLogger().handle(Lines(text))


class LineFormatter(logging.Formatter):
    """The known format of ``logging``, each record on one line.

    A traceback follows on lines of its own, indented, so that nothing in it can look like a record.
    """

    def __init__(self, layout: str, date: str, hide: Hide = str, *, colored: bool = False) -> None:
        super().__init__(layout, date)
        self._hide = hide
        self._colored = colored

    def format(self, record: logging.LogRecord) -> str:
        if isinstance(record, Lines):
            return str(record.msg)
        record.message = record.getMessage()
        if self.usesTime():
            record.asctime = self.formatTime(record, self.datefmt)
        line = safe(self.formatMessage(record), self._hide)
        text = "\n    ".join([line, *(safe(one, self._hide) for one in _trace(self, record))])
        color = _COLORS.get(record.levelname) if self._colored else None
        return f"{color}{text}\x1b[0m" if color else text


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    """The lines of a record's traceback and stack. Never those that another handler keeps with the record."""
    text = formatter.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else ""
    lines = text.split("\n") if text else []
    if record.stack_info:
        lines += record.stack_info.split("\n")
    if len(lines) <= LONGEST_TRACE:
        return lines
    cut = len(lines) - LONGEST_TRACE
    return [*lines[: LONGEST_TRACE // 4], f"... {cut:,} lines ...", *lines[-LONGEST_TRACE * 3 // 4 :]]


class JsonFormatter(logging.Formatter):
    """A JSON object for each record: ``time``, ``level``, ``logger``, ``message``, where there is one ``exception``, and
    what was given as ``extra``.
    """

    #: What every record has; the rest was given by ``extra``.
    usual = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})

    def __init__(self, hide: Hide = str) -> None:
        super().__init__()
        self._hide = hide

    def format(self, record: logging.LogRecord) -> str:
        if isinstance(record, Lines):
            return str(record.msg)
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": self._text(record.name),
            "message": self._text(record.getMessage()),
        }
        if trace := _trace(self, record):
            line["exception"] = "\n".join(map(self._text, trace))
        given = {name: self._plain(value) for name, value in vars(record).items() if name not in self.usual}
        # Escaped, so that nobody who reads lines takes U+2028 or U+0085 for the end of one.
        return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(given | line, ensure_ascii=False))

    def _text(self, text: str) -> str:
        return _masked(_SURROGATE.sub("\ufffd", text[: 2 * LONGEST]), self._hide)[:LONGEST]

    def _plain(self, value: Any, depth: int = 3) -> Any:
        if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        if isinstance(value, Mapping) and depth:
            return {self._text(str(key)): self._plain(part, depth - 1) for key, part in value.items()}
        if isinstance(value, list | tuple) and depth:
            return [self._plain(part, depth - 1) for part in value]
        return self._text(str(value))


class _LogFile(logging.FileHandler):
    """What both kinds of log file share: opened anew when asked, and trouble with the disk is told once."""

    is_stale = False
    _has_told = False

    def emit(self, record: logging.LogRecord) -> None:
        if self.is_stale:
            self.is_stale = False
            self.close()  # what follows opens it again
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # the name is logging's
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self._has_told:
            self._has_told = True
            print(f"octopus: the log cannot be written to {self.baseFilename}: {error.strerror}", file=sys.stderr)

    def close(self) -> None:
        try:
            super().close()
        except OSError:  # what the disk had no room for is lost, and was told
            pass


class _WatchedLogFile(_LogFile, WatchedFileHandler):
    """Opened anew when another program moved it away."""


class _RotatingLogFile(_LogFile, RotatingFileHandler):
    """Moved away by itself when it has its size."""


@contextmanager
def writing(settings: Settings, terminal: Terminal | None = None) -> Iterator[None]:
    """Write the log of this process as the settings say for as long as the block lasts.

    ``terminal`` stands for standard error. Raises ``SettingsError`` for a file that cannot be written and a format that
    does not fit.
    """
    root, handler = logging.getLogger(), _handler(settings, terminal or sys.stderr)
    loggers = [root, *map(logging.getLogger, ("asyncio", "aiohttp.access"))]
    before = [logger.level for logger in loggers]
    root.addHandler(handler)
    root.setLevel(settings.LOG_LEVEL)
    for noisy in loggers[1:]:
        noisy.setLevel(max(root.level, logging.WARNING))
    try:
        with _reopened_at_sighup(handler):
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
        root.removeHandler(handler)
        handler.close()


def _handler(settings: Settings, terminal: Terminal) -> logging.Handler:
    handler = _file(settings) if settings.LOG_FILE else logging.StreamHandler(terminal)
    handler.setFormatter(_formatter(settings, colored=not settings.LOG_FILE and is_colored(terminal)))
    return handler


def _formatter(settings: Settings, *, colored: bool) -> logging.Formatter:
    hide = hiding(settings)
    if settings.LOG_JSON:
        return JsonFormatter(hide)
    _check_date(settings.LOG_DATEFORMAT)
    try:
        formatter = LineFormatter(settings.LOG_FORMAT, settings.LOG_DATEFORMAT, hide, colored=colored)
        formatter.format(logging.makeLogRecord({"name": "octopus", "levelname": "INFO"}))
    except (ValueError, TypeError, KeyError) as error:
        raise SettingsError(f"LOG_FORMAT = {settings.LOG_FORMAT!r} fits no record: {error}") from error
    return formatter


def _check_date(layout: str) -> None:
    """Raises ``SettingsError`` for what ``time.strftime`` leaves as it is, or takes the percent sign from."""
    for part in _DATE_PART.findall(layout):
        if part != "%%" and time.strftime(part) in (part, part[1:]):
            hint = "; LOG_FORMAT has %(msecs)03d" if part == "%f" else ""
            raise SettingsError(f"LOG_DATEFORMAT = {layout!r}: {part} is nothing that time.strftime knows{hint}")


def _file(settings: Settings) -> logging.Handler:
    path = settings.LOG_FILE
    try:
        make_folder_of(path)
        if settings.LOG_MAX_MB:
            size = int(settings.LOG_MAX_MB * 1e6)
            return _RotatingLogFile(path, maxBytes=size, backupCount=settings.LOG_BACKUPS, encoding="utf-8")
        return _WatchedLogFile(path, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"cannot write the log to {path}: {error.strerror}") from error


def is_colored(stream: Terminal) -> bool:
    """Whether colours are welcome there: on a terminal, unless ``NO_COLOR`` is set (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def _reopened_at_sighup(handler: logging.Handler) -> Iterator[None]:
    """Have a log file opened anew at SIGHUP, as logrotate asks for it; where SIGHUP is ignored (nohup) it stays so."""
    is_main = threading.current_thread() is threading.main_thread()
    if not isinstance(handler, _LogFile) or not is_main or not hasattr(signal, "SIGHUP"):
        yield
        return
    before = signal.getsignal(signal.SIGHUP)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: setattr(handler, "is_stale", True))
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before or signal.SIG_DFL)
