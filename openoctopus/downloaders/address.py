"""Which addresses a crawler may speak to, and which address a host has."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from time import monotonic
from typing import Any

from openoctopus.exceptions import BlockedAddress, NameNotResolved, SettingsError
from openoctopus.failpoints import hit

#: Seconds for which a host keeps the addresses that were found.
KEPT_SECONDS = 60.0
#: Hosts whose addresses are kept at the same time.
KEPT_HOSTS = 10_000

#: Networks that are no part of the public Internet (https://www.iana.org/assignments/iana-ipv4-special-registry).
_INNER_4 = tuple(
    (IPv4Network(network), name)
    for network, name in (
        ("0.0.0.0/8", "an unspecified"),
        ("10.0.0.0/8", "a private"),
        ("100.64.0.0/10", "a carrier's inner"),
        ("127.0.0.0/8", "a loopback"),
        ("168.63.129.16/32", "a cloud's inner"),
        ("169.254.0.0/16", "a link-local"),
        ("172.16.0.0/12", "a private"),
        ("192.0.0.0/24", "a reserved"),
        ("192.0.2.0/24", "a documentation"),
        ("192.88.99.0/24", "a reserved"),
        ("192.168.0.0/16", "a private"),
        ("198.18.0.0/15", "a benchmarking"),
        ("198.51.100.0/24", "a documentation"),
        ("203.0.113.0/24", "a documentation"),
        ("224.0.0.0/4", "a multicast"),
        ("240.0.0.0/4", "a reserved"),
    )
)
#: All that is global in IPv6, and what is not global in it.
_GLOBAL_6 = IPv6Network("2000::/3")
_INNER_6 = tuple(
    (IPv6Network(network), name)
    for network, name in (
        ("::1/128", "a loopback"),
        ("fc00::/7", "a private"),
        ("fe80::/10", "a link-local"),
        ("ff00::/8", "a multicast"),
        ("2001::/23", "a reserved"),
        ("2001:db8::/32", "a documentation"),
        ("3fff::/20", "a documentation"),
    )
)
#: IPv6 networks whose addresses hold an IPv4 address, and how many bits stand behind it.
_EMBEDDING = (
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("::ffff:0:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
)

#: Finds the addresses of a name; raises ``OSError`` if it has none.
Lookup = Callable[[str], Awaitable[Collection[str]]]


@lru_cache(maxsize=KEPT_HOSTS)
def inner_kind(address: str) -> str:
    """What kind of inner address it is ("a loopback", "a private"...); empty for one of the public Internet."""
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        number = int(found)
        for network, behind in _EMBEDDING:
            if found in network:
                return inner_kind(str(IPv4Address(number >> behind & 0xFFFFFFFF)))
        name = next((name for network, name in _INNER_6 if found in network), "")
        return name or ("" if found in _GLOBAL_6 else "a reserved")
    return next((name for network, name in _INNER_4 if found in network), "")


def literal(host: str) -> str:
    """The address that a host is written as, without brackets; empty if it is a name."""
    text = host[1:-1] if host.startswith("[") else host
    try:
        return str(ip_address(text))
    except ValueError:
        return ""


class Addresses:
    """Finds the addresses of hosts, judges them all, and keeps them for a minute.

    Inner addresses are refused with ``BlockedAddress``, unless ``allow_private``, or ``table`` (the user's HOSTS) maps the
    host, or a start URL names it. Of a start host the first finding decides: one that began in public may not move inside
    later (DNS rebinding).
    """

    def __init__(
        self, *, allow_private: bool, start_hosts: Collection[str], table: Mapping[str, Any], lookup: Lookup | None = None
    ) -> None:
        self._allow_private = allow_private
        self._start_hosts = start_hosts
        self._lookup = lookup or _system_lookup
        self.table = {host.lower(): _listed(host, value) for host, value in table.items()}
        self._kept: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._asking: dict[str, asyncio.Task[tuple[str, ...]]] = {}
        #: Start hosts by whether their first addresses were inner ones.
        self._began_inside: dict[str, bool] = {}

    async def find(self, host: str, seconds: float) -> tuple[str, ...]:
        """The addresses of a host, judged. Raises ``BlockedAddress``, and ``NameNotResolved`` also after ``seconds``."""
        kept = self._kept.get(host)
        if kept is not None and kept[0] > monotonic():
            return kept[1]
        hit("dns")
        written = literal(host)
        found = self.table.get(host) or ((written,) if written else await self._resolve(host, seconds))
        self.judge(host, found)
        if len(self._kept) >= KEPT_HOSTS:
            del self._kept[next(iter(self._kept))]
        self._kept[host] = (monotonic() + KEPT_SECONDS, found)
        return found

    def judge(self, host: str, addresses: Collection[str]) -> None:
        """Refuse a host whose addresses are not all allowed. Raises ``BlockedAddress``."""
        if self._allow_private or host in self.table:
            return
        inner = next((address for address in addresses if inner_kind(address)), None)
        allowed = host in self._start_hosts and self._began_inside.setdefault(host, inner is not None)
        if inner is not None and not allowed:
            where = host if inner == literal(host) else f"{host} is at {inner}, which"
            raise BlockedAddress(f"{where} is {inner_kind(inner)} address (ALLOW_PRIVATE_ADDRESSES lets it through)")

    async def close(self) -> None:
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    async def _resolve(self, host: str, seconds: float) -> tuple[str, ...]:
        """Ask once for all who wait for the same name, and go on asking when one of them is cancelled."""
        task = self._asking.get(host)
        if task is None:
            task = self._asking[host] = asyncio.create_task(self._ask(host), name=f"look up {host}")
            task.add_done_callback(partial(self._asked, host))
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(task)
        except TimeoutError as error:
            raise NameNotResolved(f"no answer about the name {host} within {seconds:g} s") from error

    def _asked(self, host: str, task: asyncio.Task[tuple[str, ...]]) -> None:
        del self._asking[host]
        if not task.cancelled():
            # Nobody may be waiting any more: the error is looked at, so that asyncio does not complain of it.
            task.exception()

    async def _ask(self, host: str) -> tuple[str, ...]:
        try:
            found = tuple(dict.fromkeys(await self._lookup(host)))
        except (OSError, UnicodeError) as error:
            raise NameNotResolved(f"the name {host} has no address: {error}") from error
        if not found:
            raise NameNotResolved(f"the name {host} has no address")
        return found


async def _system_lookup(host: str) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def _listed(host: str, value: Any) -> tuple[str, ...]:
    """The addresses of one line of HOSTS. Raises ``SettingsError`` for what is none."""
    addresses = (value,) if isinstance(value, str) else tuple(value)
    wrong = [address for address in addresses if not literal(str(address))]
    if wrong or not addresses:
        raise SettingsError(f"HOSTS: {host} needs an address, not {value!r}")
    return tuple(literal(address) for address in addresses)
