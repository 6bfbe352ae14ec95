"""
What may be raised, and what each one asks for:

* OctopusError
  x Steering             raised by a plug-in or a spider, obeyed by the engine
    + Later              put this request back, after a delay; no attempt is spent
      - Retry            the same, and the attempt counts
    + IgnoreRequest      let this request go
    + DropItem           let this item go
    + CloseSpider        finish the crawl
  x FetchError           the page could not be had as asked; the errback is told
    + DownloadError      no whole answer arrived; worth another try
      - ConnectionFailed     no connection, or it broke
        . NotConnected       none was made: enough of these in a row, and the host counts as dead
          , NameNotResolved  the host has no address
          , ConnectTimeout   none in time; a DownloadTimeout too
        . ProxyFailed        the proxy refused or broke
      - DownloadTimeout      a time limit passed
      - IncompleteResponse   the body ended early
      - BadResponse          the answer is not HTTP
      - DecodingFailed       the body is not in the coding it says
      - RobotsUnreachable    robots.txt could not be had; after the retries an IgnoreRequest
    + RefusedRequest     our own rules forbid it; trying again does not help
      - BlockedAddress       a private address, a bad port
      - CertificateInvalid   TLS verification failed
      - ResponseTooLarge     over DOWNLOAD_MAXSIZE
      - TooManyRedirects     over REDIRECT_MAX_TIMES
    + HttpStatusError    the status is not 2xx and nobody asked for it
  x RefusedItem          a pipeline cannot have this item; trying again does not help
  x InvalidRequest       a request that cannot be made, or cannot be kept
  x SettingsError        an option is unknown, or its value is not of its type
  x MissingExtra         an optional library is not installed
  x ProjectError         a project or a spider cannot be found or loaded
  x JobFinished          the job has nothing left to do
  x JobLost              what the job did cannot be written down any more
"""

from __future__ import annotations

import asyncio
from typing import Any


def is_fault(error: BaseException) -> bool:
    """Whether a spider or a plug-in raised it, and not somebody who ends the task that calls them.

    ``SystemExit``, a panic of a library in Rust and ``CancelledError`` of a task that nobody cancelled are faults as well.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or not task.cancelling()
    return not isinstance(error, KeyboardInterrupt | GeneratorExit)


class OctopusError(Exception):
    """Base of every error of OpenOctopus. The docstring of a class is its default message."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (self.__doc__ or type(self).__name__).strip().splitlines()[0])


class Steering(OctopusError):
    """Base of the errors that steer one request, one item or the crawl."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = str(self)


class Later(Steering):
    """The request's turn has not come yet: it goes back to the queue and no attempt is spent."""

    def __init__(self, reason: str = "", *, delay: float = 0.0) -> None:
        super().__init__(reason)
        #: Seconds before the request may be claimed again.
        self.delay = delay


class Retry(Later):
    """The request is tried again after ``delay`` seconds, and the attempt counts. A store raises it for "not now"."""


class IgnoreRequest(Steering):
    """The request is let go: counted, its errback told, never a failed entry."""


class DropItem(Steering):
    """The item is let go and counted as dropped."""


class CloseSpider(Steering):
    """The crawl finishes; requests under way are still completed."""


class FetchError(OctopusError):
    """The page could not be had. ``reason`` is the short name that failed entries are grouped by."""

    reason = "fetch_failed"
    #: What was being fetched: after redirects another URL than the one asked for. Empty before the downloader was reached.
    url = ""


class DownloadError(FetchError):
    """No whole answer arrived."""

    reason = "download_failed"


class ConnectionFailed(DownloadError):
    """No connection could be made, or it broke before the answer was complete."""

    reason = "connection"


class NotConnected(ConnectionFailed):
    """No connection to the host could be made; of a host that fails so again and again nothing more is expected."""


class NameNotResolved(NotConnected):
    """The host name has no address."""

    reason = "dns"


class ProxyFailed(ConnectionFailed):
    """The proxy refused the connection, or it broke."""

    reason = "proxy"


class DownloadTimeout(DownloadError):
    """A time limit passed before the answer was complete."""

    reason = "timeout"


class ConnectTimeout(NotConnected, DownloadTimeout):
    """No connection was made within CONNECT_TIMEOUT."""

    reason = "connect_timeout"


class IncompleteResponse(DownloadError):
    """The body ended before its announced end."""

    reason = "incomplete"


class BadResponse(DownloadError):
    """The answer is not HTTP that can be read."""

    reason = "bad_response"


class DecodingFailed(DownloadError):
    """The body is not in the content coding that it claims."""

    reason = "decoding"


class RobotsUnreachable(DownloadError):
    """The origin's robots.txt could not be had."""

    reason = "robots_unreachable"


class RefusedRequest(FetchError):
    """One of our own rules forbids the request or its answer; another try would not help."""

    reason = "refused"


class BlockedAddress(RefusedRequest):
    """The address is private or the port is one that browsers refuse."""

    reason = "blocked_address"


class CertificateInvalid(RefusedRequest):
    """The server's TLS certificate could not be verified."""

    reason = "certificate"


class ResponseTooLarge(RefusedRequest):
    """The body is larger than DOWNLOAD_MAXSIZE, before or after decompression."""

    reason = "too_large"


class TooManyRedirects(RefusedRequest):
    """More redirects than REDIRECT_MAX_TIMES."""

    reason = "too_many_redirects"


class HttpStatusError(FetchError):
    """The status is not 2xx and nobody asked for it; ``response`` is there to be read."""

    def __init__(self, response: Any) -> None:
        super().__init__(f"status {response.status}")
        self.response = response
        self.reason = f"http_{response.status}"


class RefusedItem(OctopusError):
    """The item cannot be stored as it is, and another try would not help."""


class InvalidRequest(OctopusError, ValueError):
    """A request that cannot be made, or that cannot be kept in a queue."""


class SettingsError(OctopusError):
    """An option is unknown, or its value is not of its type."""


class MissingExtra(OctopusError):
    """An optional library is not installed."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(f"{module} is not installed: pip install 'openoctopus[{extra}]'")


class ProjectError(OctopusError):
    """A project or a spider cannot be found or loaded."""


class JobFinished(OctopusError):
    """The job has nothing left to do."""


class JobLost(OctopusError):
    """What the job did cannot be written down any more."""
