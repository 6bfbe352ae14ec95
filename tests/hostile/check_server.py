#!/usr/bin/env python3
"""Prove with raw sockets that every case is served as it is written down.

For each served item of each case a plain socket asks for it and the bytes that arrive are compared with the bytes
that the case means to send (a Resp rendered, raw bytes as they are, a handler run against a recording context).
Checked as well: nothing more follows, raw items close the connection, resets are resets, silence is silence, and
/_log says exactly what was sent. Standard library only:   python check_server.py [ids or groups ...]
"""

from __future__ import annotations

import asyncio
import http.client
import json
import pathlib
import socket
import subprocess
import sys

import caselib
import hostile

HERE = pathlib.Path(__file__).resolve().parent
CAP = 400_000  # bytes looked at per item, except where the item is known to be longer


class Recorder:
    """Stands in for the connection: notes what a handler sends, does not wait."""

    def __init__(self, server, req, case, rest, hit):
        self.server, self.req, self.case, self.rest, self.hit, self.port = server, req, case, rest, hit, server.port
        self.keep, self.data, self.was_reset, self.slept, self.naps = False, b"", False, 0.0, 0

    fill = hostile.Context.fill

    async def send(self, data):
        self.data += data
        if len(self.data) > CAP:
            raise hostile.Closed

    async def respond(self, resp):
        self.keep = not resp.close
        await self.send(resp.render(self.req.method == "HEAD", self.fill))

    async def sleep(self, seconds):
        self.slept += seconds
        self.naps += 1
        if self.naps > 3000:
            raise hostile.Closed

    def reset(self):
        self.was_reset = True
        raise hostile.Closed


def ask(port, head, expected_len, patience, linger=0.03):
    """Send a request head; return (bytes, ended how: close, reset or open)."""
    s = socket.create_connection(("127.0.0.1", port), timeout=5)
    s.sendall(head)
    got, end = b"", "open"
    s.settimeout(patience)
    try:
        while len(got) < expected_len + 1:
            if len(got) >= expected_len:
                s.settimeout(linger)  # anything more would be wrong
            chunk = s.recv(1 << 16)
            if not chunk:
                end = "close"
                break
            got += chunk
    except TimeoutError:
        pass
    except ConnectionResetError:
        end = "reset"
    s.close()
    return got, end


def targets(case):
    """(key, host, rest, method) for every served key."""
    method = (case.task.get("start") or [{}])[0].get("method", "GET")
    for key in case.serve:
        host, _, rest = key.rpartition("|")
        host = host or (case.hosts[0] if case.hosts else "127.0.0.1")
        if f"{host}|{rest}" in case.serve and "|" not in key:
            host = next((h for h in case.hosts if f"{h}|{rest}" not in case.serve), "localhost")
        yield key, host, "check-any" if rest == "*" else rest, "HEAD" if method == "HEAD" and key == "" else "GET"


def main():
    want = set(sys.argv[1:])
    cases = caselib.load()
    srv = subprocess.Popen([sys.executable, str(HERE / "hostile.py"), "--port", "0"], stdout=subprocess.PIPE, text=True)
    bad, items = [], 0
    try:
        port = int(srv.stdout.readline().rsplit(":", 1)[1])
        fake = hostile.Server(cases)
        fake.port = port
        for case in cases.values():
            if want and not want & {case.group, case.id, case.id.split("-")[0]}:
                continue
            for key, host, rest, method in targets(case):
                spec = case.serve[key]
                for hit, item in enumerate(spec if isinstance(spec, list) else [spec], 1):
                    items += 1
                    head = f"{method} /c/{case.id}/{rest} HTTP/1.1\r\nHost: {host}:{port}\r\nX-Check: {items}\r\nAccept-Encoding: gzip\r\n\r\n".encode(
                        "latin-1", "replace"
                    )
                    req = hostile.Request(
                        method,
                        f"/c/{case.id}/{rest}",
                        "HTTP/1.1",
                        [("Host", f"{host}:{port}"), ("Accept-Encoding", "gzip")],
                        b"",
                    )
                    rec = Recorder(fake, req, case, rest, hit)
                    if isinstance(item, caselib.Resp):
                        asyncio.run(rec.respond(item)) if len(item.body) < CAP else setattr(
                            rec, "data", item.render(False, rec.fill)
                        ) or setattr(rec, "keep", not item.close)
                        kind = "resp"
                    elif isinstance(item, bytes):
                        rec.data, kind = rec.fill(item), "raw"
                    else:
                        kind = "handler"
                        try:
                            asyncio.run(asyncio.wait_for(item(rec), 5))
                        except hostile.Closed:
                            pass
                    expect = rec.data
                    slow = rec.slept > 0.3
                    # a slow handler is read until it pauses: what came must be a beginning of what it means to send
                    got, end = ask(
                        port,
                        head,
                        min(len(expect), CAP) if slow else len(expect),
                        0.3 if slow else 2.0 if expect else 0.3,
                        1.0 if rec.was_reset else 0.03,
                    )
                    label = f"{case.id} {key!r} hit {hit}"
                    if slow or len(expect) > CAP and kind == "handler":
                        if not expect[: len(got)] == got[: len(expect)]:
                            bad.append(f"{label}: other bytes than written")
                        if expect and not got and not rec.naps:
                            bad.append(f"{label}: silent")
                    elif got != expect:
                        bad.append(
                            f"{label}: {len(got)} bytes, meant {len(expect)}; first difference at {next((i for i, (a, b) in enumerate(zip(got, expect)) if a != b), min(len(got), len(expect)))}"
                        )
                    if rec.was_reset and end != "reset":
                        bad.append(f"{label}: ended by {end}, meant a reset")
                    if kind == "raw" and end != "close":
                        bad.append(f"{label}: ended by {end}, meant a close")
                    if kind == "resp" and item.close and end != "close":
                        bad.append(f"{label}: ended by {end}, meant a close")
                    if kind == "resp" and not item.close and end != "open":
                        bad.append(f"{label}: ended by {end}, meant to stay open")
        c = http.client.HTTPConnection("127.0.0.1", port)
        c.request("GET", "/_log")
        log = json.loads(c.getresponse().read())
        seen = sorted(int(v) for entries in log.values() for e in entries for k, v in e["headers"] if k == "X-Check")
        if seen != list(range(1, items + 1)):
            bad.append("the request log lacks requests")
        # absolute form, as a proxy client sends it, is routed by its host
        hosted = next((x for x in cases.values() if x.hosts), None)
        if hosted:
            got, _ = ask(port, f"GET http://{hosted.hosts[0]}:{port}/ HTTP/1.1\r\nHost: whatever\r\n\r\n".encode(), 10_000, 0.3)
            if not got.startswith(b"HTTP/1.1") or b"unknown case" in got:
                bad.append("absolute-form target is not routed")
    finally:
        srv.terminate()
        srv.wait()
    described = sum(c.task["kind"] in ("described", "export") for c in cases.values())
    print(f"{len(cases)} cases ({described} without anything to serve), {items} served items checked, {len(bad)} wrong")
    for b in bad:
        print("  " + b)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
