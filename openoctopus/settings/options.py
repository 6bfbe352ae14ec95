"""Every option there is: its name, its type, its default, and one line of what it does."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from openoctopus.settings.kinds import (
    AboveZero,
    Codes,
    Count,
    Entries,
    FileName,
    JobName,
    Level,
    Names,
    NotNegative,
    OneOrMany,
    PathOrClass,
    Positive,
)


class Theme(BaseModel):
    """Options that belong together; the docstring is their heading in docs/settings.md."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, validate_default=False)


class Pace(Theme):
    """What is crawled, and how fast."""

    CONCURRENT_REQUESTS: Positive = 16
    """How many requests are carried at the same time, by each worker."""
    WORKERS: Count = 0
    """Crawl in so many processes, which are restarted if they die; 0: in the one that was called."""
    CONCURRENT_REQUESTS_PER_DOMAIN: Positive = 8
    """How many requests of all workers may be under way to one host."""
    DOWNLOAD_DELAY: NotNegative = 0.0
    """Seconds between two requests to one host."""
    RANDOMIZE_DOWNLOAD_DELAY: bool | Literal["wide"] = True
    """Multiply the delay by 1.0 to 1.5; "wide": by 0.5 to 1.5, outside the politeness promise."""
    DOWNLOAD_SLOTS: Entries = {}
    """Per host: {"example.com": {"concurrency": 1, "delay": 2.0}}."""
    AUTOTHROTTLE_ENABLED: bool = False
    """Adapt each host's delay to how fast it answers."""
    AUTOTHROTTLE_START_DELAY: NotNegative = 1.0
    """Seconds of delay before a host's first answer is known."""
    AUTOTHROTTLE_MAX_DELAY: NotNegative = 60.0
    """The longest delay that throttling sets, in seconds."""
    AUTOTHROTTLE_TARGET_CONCURRENCY: AboveZero = 1.0
    """How many requests should be under way at one host on average."""
    RETRY_AFTER_MAX: NotNegative = 300.0
    """The longest pause that a server's Retry-After is obeyed for, in seconds."""
    DEPTH_LIMIT: Count = 0
    """Links followed from the start at most; 0: no limit."""
    DEPTH_PRIORITY: int = 0
    """Taken from the priority for each level of depth; positive: breadth first."""
    URLLENGTH_LIMIT: Count = 2083
    """Longer URLs are dropped; 0: no limit."""
    REPEATED_SEGMENTS_LIMIT: Count = 5
    """A path that repeats a segment more often is a trap and dropped; 0: no limit."""


class Fetching(Theme):
    """Asking and answering."""

    DOWNLOADER: str = "http"
    """Who fetches by default: "http" (wreq), "aiohttp", or a dotted path."""
    DOWNLOADERS: Entries = {}
    """More downloaders by the name that ``Request(downloader=...)`` asks for."""
    IMPERSONATE: str = ""
    """Speak TLS and HTTP/2 as this browser does: "chrome", "firefox", "safari", "edge", or one version such as "chrome137"."""
    DOWNLOAD_TIMEOUT: AboveZero = 30.0
    """Seconds for one whole download."""
    CONNECT_TIMEOUT: AboveZero = 10.0
    """Seconds for a connection to be made."""
    READ_TIMEOUT: NotNegative = 0.0
    """Seconds without a byte after which a download fails; 0: only the whole time counts."""
    DOWNLOAD_MAXSIZE: Count = 32 * 1024 * 1024
    """Bytes of a body at most, before and after decompression; 0: no limit."""
    DOWNLOAD_FAIL_ON_DATALOSS: bool = True
    """A body that ends early is an error and tried again; False: it is delivered as it is."""
    VERIFY_TLS: bool = True
    """Verify certificates; a host can be excepted by ``VERIFY_TLS_EXCEPT``."""
    VERIFY_TLS_EXCEPT: Names = ()
    """Hosts whose certificates are not verified; said once in the log."""
    TLS_CA_FILE: str = ""
    """Authorities to trust besides the system's: a file of PEM certificates."""
    ALLOW_PRIVATE_ADDRESSES: bool = False
    """Crawl private and loopback addresses even where no start URL names them."""
    DNS_SERVERS: Names = ()
    """Name servers to ask instead of the system's (extra: dns)."""
    HOSTS: Entries = {}
    """Addresses by host name, as in /etc/hosts: {"example.com": "127.0.0.1"}."""
    USER_AGENT: str = ""
    """The User-Agent header; empty: OpenOctopus and its version."""
    USER_AGENTS: OneOrMany = ()
    """A list to choose from, kept per host or session; "desktop", "mobile": current browsers with matching client hints."""
    DEFAULT_REQUEST_HEADERS: Entries = {
        "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8",
    }
    """Headers of every request that does not set them."""
    COOKIES_ENABLED: bool = True
    """Keep cookies as browsers do, one jar per session."""
    COOKIES_FILE: FileName = ""
    """Cookies to start with: Netscape cookies.txt or a browser's JSON export."""
    COOKIES_DEBUG: bool = False
    """Log the cookies that are sent and set."""
    REDIRECT_ENABLED: bool = True
    """Follow redirects."""
    REDIRECT_MAX_TIMES: Count = 20
    """Redirects of one page at most."""
    METAREFRESH_ENABLED: bool = True
    """Follow <meta http-equiv=refresh>."""
    METAREFRESH_MAXDELAY: NotNegative = 100.0
    """A refresh later than this many seconds is not followed."""
    METAREFRESH_IGNORE_TAGS: Names = ("noscript",)
    """A refresh inside these elements is not followed."""
    RETRY_ENABLED: bool = True
    """Try again what may go better a second time."""
    RETRY_TIMES: Count = 2
    """How many more tries after the first."""
    RETRY_HTTP_CODES: Codes = frozenset({408, 429, 500, 502, 503, 504, 522, 524})
    """The statuses that are tried again."""
    RETRY_DELAY: NotNegative = 1.0
    """Seconds before the second try, doubled for each one after it, with jitter."""
    RETRY_DELAY_MAX: NotNegative = 60.0
    """The longest such pause, in seconds."""
    ROBOTSTXT_OBEY: bool = True
    """Obey robots.txt (RFC 9309), its Crawl-delay included."""
    ROBOTSTXT_USER_AGENT: str = ""
    """The name looked for in robots.txt; empty: that of the User-Agent."""
    HTTPPROXY_ENABLED: bool = True
    """Use HTTP_PROXY, HTTPS_PROXY, NO_PROXY of the environment and ``request.meta["proxy"]``."""
    HTTP_PROXY: str = ""
    """A proxy for every request: http://, https:// or socks5://, user and password included."""
    HTTPAUTH_USER: str = ""
    """User of HTTP Basic authentication, sent to ``HTTPAUTH_ORIGIN`` alone."""
    HTTPAUTH_PASS: str = ""
    """Its password."""
    HTTPAUTH_ORIGIN: str = ""
    """Where it is sent, such as https://example.com."""
    REFERER_ENABLED: bool = True
    """Send the page on which a link was found as Referer."""
    REFERRER_POLICY: str = "strict-origin-when-cross-origin"
    """How much of it is told (W3C Referrer Policy)."""
    HTTPERROR_ALLOWED_CODES: Codes = frozenset()
    """Statuses other than 2xx that callbacks receive."""
    HTTPERROR_ALLOW_ALL: bool = False
    """Callbacks receive every status."""


class Queue(Theme):
    """Queue and identity."""

    JOB: JobName = ""
    """The name under which the crawl is kept, so that it can be resumed; empty: it is not kept."""
    JOB_FRESH: bool = False
    """Forget what the job kept, and crawl it anew."""
    JOBS_DIR: FileName = ".octopus/jobs"
    """The folder in which each job has one of its own."""
    TRACE: bool = False
    """Keep the whole history of each URL with the job, for ``octopus why``."""
    SCHEDULER: PathOrClass = "openoctopus.scheduler.MemoryScheduler"
    """Where requests wait; with ``JOB`` the default is openoctopus.scheduler.SqliteScheduler."""
    DUPEFILTER_CLASS: PathOrClass = "openoctopus.dupefilter.RFPDupeFilter"
    """What counts as the same request, and how it is remembered."""
    DUPEFILTER_DEBUG: bool = False
    """Log every duplicate."""
    LEASE_SECONDS: AboveZero = 60.0
    """How long a worker may hold a request before others may take it."""
    MAX_FAILED: Count = 10_000
    """Failed entries kept by the memory scheduler; more are only counted."""
    MAX_PENDING_BYTES: Positive = 64 * 1024 * 1024
    """Bytes of items that wait for their stores before a worker claims no more requests."""
    MAX_LOST: Positive = 3
    """A request whose worker died this often is failed."""


class Reading(Theme):
    """Reading pages."""

    SELECTOR_TREE: Literal["html5", "lxml"] = "html5"
    """The tree of browsers, or parsel's own."""
    CALLBACK_TIMEOUT: AboveZero = 300.0
    """Seconds that a callback may wait for something."""
    CALLBACK_WARN_BLOCKING: AboveZero = 5.0
    """A callback that holds up the whole crawl for this many seconds is named in a warning."""


class Items(Theme):
    """Items."""

    ITEM_PIPELINES: Entries = {}
    """What every item passes: {"project.pipelines.Clean": 100} or {"...": {"order": 100, "keyword": value}}."""
    PIPELINE_RETRY_TIMES: Count = 3
    """How often an item is tried again when a pipeline raised."""
    FEEDS: Entries = {}
    """Files and tables of items: {"items.csv": {"fields": [...]}, "postgresql://host/db": {"table": "a", "key": "url"}}."""
    FEED_EXPORT_ENCODING: str = "utf-8"
    """The encoding of files of items."""
    FEED_EXPORT_FIELDS: Names = ()
    """Fields to write, in this order; empty: all."""


class Plugins(Theme):
    """Middlewares and extensions."""

    DOWNLOADER_MIDDLEWARES: Entries = {}
    """What stands around every fetch, besides the built-in ones; None switches one off."""
    SPIDER_MIDDLEWARES: Entries = {}
    """What judges every request and item that a page yielded; None switches one off."""
    EXTENSIONS: Entries = {}
    """Observers of the crawl."""


class Limits(Theme):
    """Limits."""

    CLOSESPIDER_ITEMCOUNT: Count = 0
    """Finish after this many items; 0: no limit."""
    CLOSESPIDER_PAGECOUNT: Count = 0
    """Finish after this many pages."""
    CLOSESPIDER_ERRORCOUNT: Count = 0
    """Finish after this many errors."""
    CLOSESPIDER_TIMEOUT: NotNegative = 0.0
    """Finish after this many seconds."""
    MEMUSAGE_LIMIT_MB: Count = 0
    """Finish cleanly when the process is larger than this; 0: no limit."""
    MEMUSAGE_WARNING_MB: Count = 0
    """Warn when the process is larger than this."""
    DRAIN_SECONDS: NotNegative = 30.0
    """How long requests under way may take after the first Ctrl-C or SIGTERM."""


class Telling(Theme):
    """Telling."""

    LOG_LEVEL: Level = "INFO"
    """The least important level that is logged."""
    LOG_FILE: FileName = ""
    """Where the log is written; empty: to the terminal."""
    LOG_FORMAT: str = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    """The layout of a line, as Python's logging has it."""
    LOG_DATEFORMAT: str = "%Y-%m-%d %H:%M:%S"
    """The layout of its time."""
    LOG_JSON: bool = False
    """A JSON object on each line instead."""
    LOG_MAX_MB: NotNegative = 0.0
    """A log file larger than this is rotated; 0: never (logrotate and SIGHUP work as well)."""
    LOG_BACKUPS: Count = 5
    """How many rotated log files are kept."""
    LOGSTATS_INTERVAL: NotNegative = 60.0
    """Seconds between two lines of progress where there is no terminal; 0: none."""


class Sources(Theme):
    """The project."""

    SPIDER_MODULES: Names = ("spiders",)
    """Packages whose spiders are found by name."""
