#!/usr/bin/env python3
"""A raw-socket HTTP server that misbehaves on purpose: one hostile case per path.

    python hostile.py --port 8900          serve on 127.0.0.1:8900 (0: any free port; the port is printed)
    python hostile.py --list               every case as JSON (id, title, source, group, task, expect, ...)

A case is served under /c/<id>/...; a case that needs its own host (robots.txt, cookies, leaks) also answers
on the host names it declares, e.g. http://c301.test:8900/robots.txt (the client must resolve any name to
127.0.0.1, see adapters/hosts.py; an absolute-form request target, as sent to a proxy, works as well).

Control paths on any host: /_log (JSON of what the clients really sent; ?case=ID), /_reset, /_cases, /_quit.
No HTTP library is used, since it has to be able to send broken bytes. Python 3.11 standard library only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import struct
import sys
import time

import caselib
from caselib import Resp

CONTROL = ("/_log", "/_reset", "/_cases", "/_quit")


class Closed(Exception):
    pass


class Request:
    def __init__(self, method, target, version, headers, body):
        self.method, self.target, self.version, self.headers, self.body = method, target, version, headers, body
        self.abs_host = None
        if target.lower().startswith("http://"):  # absolute form, as to a proxy
            hostport, _, rest = target[7:].partition("/")
            self.abs_host, self.target = hostport, "/" + rest

    def header(self, name, default=None):
        for k, v in self.headers:
            if k.lower() == name.lower():
                return v
        return default

    @property
    def host(self):
        return (self.abs_host or self.header("host", "")).rsplit(":", 1)[0].lower().rstrip(".")


class Context:
    """What a handler gets: the request, how often this path was hit, and the naked connection."""

    def __init__(self, server, conn, req, case, rest, hit):
        self.server, self.conn, self.req, self.case, self.rest, self.hit = server, conn, req, case, rest, hit
        self.port = server.port
        self.keep = False  # keep the connection open after the handler returned

    def fill(self, b: bytes) -> bytes:
        if b"@" in b:
            b = b.replace(b"@PORT@", str(self.port).encode()).replace(b"@ID@", self.case.id.encode())
        return b

    async def send(self, data: bytes):
        self.conn.writer.write(data)
        await self.conn.writer.drain()

    async def respond(self, resp: Resp):
        self.keep = not resp.close
        await self.send(resp.render(self.req.method == "HEAD", self.fill))

    async def sleep(self, seconds: float):
        """Sleep, but stop as soon as the client has gone."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.conn.reader.at_eof() or self.conn.writer.is_closing():
                raise Closed
            await asyncio.sleep(min(0.05, max(0, end - time.monotonic())))

    def reset(self):
        """Close with a TCP RST instead of a FIN."""
        sock = self.conn.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.conn.writer.transport.abort()
        raise Closed


class Connection:
    def __init__(self, reader, writer, number):
        self.reader, self.writer, self.number = reader, writer, number


class Server:
    def __init__(self, cases):
        self.cases = cases
        self.port = 0
        self.log: dict[str, list] = {}
        self.hits: dict[tuple, int] = {}
        self.t0 = time.monotonic()
        self.conns = 0
        self.by_host = {h: c for c in cases.values() for h in c.hosts}
        self.stop = asyncio.Event()

    async def read_request(self, conn):
        try:
            block = await conn.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError):
            return None
        lines = block.decode("latin-1").split("\r\n")
        parts = lines[0].split(" ")
        method, version, target = parts[0], parts[-1], " ".join(parts[1:-1])
        headers = []
        for line in lines[1:]:
            if line:
                k, _, v = line.partition(":")
                headers.append((k, v.strip()))
        body = b""
        low = {k.lower(): v for k, v in headers}
        try:
            if "chunked" in low.get("transfer-encoding", "").lower():
                while True:
                    size = int((await conn.reader.readline()).split(b";")[0], 16)
                    chunk = await conn.reader.readexactly(size + 2)
                    if not size:
                        break
                    body += chunk[:-2]
            elif low.get("content-length", "0").isdigit() and int(low.get("content-length", "0")):
                body = await conn.reader.readexactly(int(low["content-length"]))
        except (asyncio.IncompleteReadError, ValueError, ConnectionError):
            return None
        return Request(method, target, version, headers, body)

    def route(self, req):
        path = req.target
        if path.startswith("/c/"):
            cid, _, rest = path[3:].partition("/")
            if "?" in cid:
                cid, _, q = cid.partition("?")
                rest = "?" + q
            case = self.cases.get(cid)
            if case:
                return case, rest
        case = self.by_host.get(req.host)
        if case:
            return case, path[1:]
        return None, path

    def item_for(self, case, host, rest):
        plain = rest.split("?")[0].split("#")[0]
        for key in (f"{host}|{rest}", f"{host}|{plain}", rest, plain, f"{host}|*", "*"):
            if key in case.serve:
                return key, case.serve[key]
        return "404", Resp(b"no such page in this case", status=404, reason="Not Found", ctype="text/plain")

    async def control(self, conn, req):
        path, _, query = req.target.partition("?")
        cid = query[5:] if query.startswith("case=") else None
        if path == "/_log":
            data = self.log.get(cid, []) if cid else self.log
        elif path == "/_reset":
            if cid:
                self.log.pop(cid, None)
                self.hits = {k: v for k, v in self.hits.items() if k[0] != cid}
            else:
                self.log.clear()
                self.hits.clear()
            data = {"ok": True}
        elif path == "/_cases":
            data = [c.public() for c in self.cases.values()]
        else:
            self.stop.set()
            data = {"ok": True}
        body = json.dumps(data).encode()
        conn.writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await conn.writer.drain()

    async def handle(self, reader, writer):
        self.conns += 1
        conn = Connection(reader, writer, self.conns)
        try:
            while True:
                req = await self.read_request(conn)
                if req is None:
                    break
                if req.target.split("?")[0] in CONTROL:
                    await self.control(conn, req)
                    continue
                case, rest = self.route(req)
                if case is None:
                    body = b"unknown case"
                    writer.write(
                        b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body) + body
                    )
                    await writer.drain()
                    continue
                key, item = self.item_for(case, req.host, rest)
                hit = self.hits[(case.id, key)] = self.hits.get((case.id, key), 0) + 1
                entries = self.log.setdefault(case.id, [])
                entries.append(
                    {
                        "n": len(entries),
                        "t": round(time.monotonic() - self.t0, 4),
                        "conn": conn.number,
                        "method": req.method,
                        "target": req.target,
                        "rest": rest,
                        "host": req.host,
                        "hostport": req.abs_host or req.header("host", ""),
                        "headers": req.headers,
                        "body": req.body.decode("latin-1"),
                        "key": key,
                    }
                )
                ctx = Context(self, conn, req, case, rest, hit)
                if isinstance(item, list):
                    item = item[min(hit, len(item)) - 1]
                if isinstance(item, Resp):
                    await ctx.respond(item)
                elif isinstance(item, bytes):
                    await ctx.send(ctx.fill(item))
                else:
                    await item(ctx)
                if not ctx.keep or req.header("connection", "").lower() == "close":
                    break
        except (Closed, ConnectionError, asyncio.CancelledError):
            pass
        except Exception as e:  # a bug in a case must be seen, not hidden
            print(f"hostile: {type(e).__name__}: {e}", file=sys.stderr, flush=True)
        finally:
            try:
                writer.close()
            except Exception:
                pass


async def serve(port: int, cases) -> None:
    server = Server(cases)
    srv = await asyncio.start_server(server.handle, "127.0.0.1", port, limit=1 << 22, backlog=512)
    server.port = srv.sockets[0].getsockname()[1]
    print(f"hostile: {len(cases)} cases on http://127.0.0.1:{server.port}", flush=True)
    async with srv:
        await server.stop.wait()


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--port", type=int, default=8900)
    ap.add_argument("--list", action="store_true", help="print the cases as JSON and leave")
    ap.add_argument("--open-only", action="store_true", help="leave the held-out cases out")
    a = ap.parse_args()
    cases = caselib.load(held=not a.open_only)
    if a.list:
        json.dump([c.public() for c in cases.values()], sys.stdout, indent=1, ensure_ascii=True)
        print()
        return
    try:
        asyncio.run(serve(a.port, cases))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
