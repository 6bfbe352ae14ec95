#!/usr/bin/env python3
"""Run one adapter over the cases and compare what came out with what is right.

    python judge.py --adapter scrapy_ref                        all cases; needs the framework in this Python
    python judge.py --adapter NAME --only robots,041,103        some groups or case numbers
    python judge.py --adapter NAME --results results/NAME.json  keep outcome and verdict of every case
    python judge.py --rejudge results/NAME.json                 judge a kept run again, no framework needed

Prints passed/failed per group and the failing ids with the first reason. Exit status 1 if an undisputed case failed.
"""

from __future__ import annotations

import argparse
import codecs
import csv
import http.client
import importlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import xml.dom.minidom

import caselib

HERE = pathlib.Path(__file__).resolve().parent
TRANSPORT = {"connection", "incomplete", "bad_response"}  # libraries draw the lines between these differently


def codec(name):
    try:
        return codecs.lookup(name).name
    except LookupError:
        return str(name).lower()


def as_list(x):
    return x if isinstance(x, list) else [x]


def cookies(header):
    out = {}
    for part in (header or "").split(";"):
        if part.strip():
            k, _, v = part.strip().partition("=")
            out[k] = v
    return out


def hdr(entry, name):
    vals = [v for k, v in entry["headers"] if k.lower() == name.lower()]
    return vals[0] if vals else None


class Judge:
    def __init__(self, case, outcome, log, port):
        self.case, self.outcome, self.port = case, outcome, port
        self.log = log
        self.base = f"http://127.0.0.1:{port}/c/{case['id']}/"

    def fill(self, x):
        if isinstance(x, str):
            return x.replace("@PORT@", str(self.port)).replace("@ID@", self.case["id"])
        if isinstance(x, list):
            return [self.fill(y) for y in x]
        if isinstance(x, dict):
            return {self.fill(k): self.fill(v) for k, v in x.items()}
        return x

    def url(self, x):
        x = self.fill(x)
        if "://" in x:
            return x
        return f"http://127.0.0.1:{self.port}{x}" if x.startswith("/c/") else self.base + x

    # ---- one result of one request
    def result(self, e, r):
        if r is None:
            return ["no result"]
        if "error" in e:
            if "error" not in r:
                return [f"expected error {e['error']}, got status {r.get('status')}"]
            want = as_list(e["error"])
            same = TRANSPORT & set(want) and r["error"] in TRANSPORT | {"decode"}
            return (
                []
                if "*" in want or r["error"] in want or same
                else [f"error {r['error']} ({r.get('detail', '')[:80]}), expected {want}"]
            )
        keys = {
            "status",
            "url",
            "encoding",
            "css",
            "xpath",
            "text",
            "text_has",
            "text_not",
            "body_len",
            "headers",
            "json",
            "json_error",
        }
        if "error" in r and keys & set(e):
            return [f"error {r['error']}: {r.get('detail', '')[:120]}"]
        bad = []
        e = {k: v for k, v in e.items() if k.removesuffix("_has").removesuffix("_not") not in r.get("lacks", [])}
        if "status" in e and r.get("status") not in as_list(e["status"]):
            bad.append(f"status {r.get('status')}, expected {e['status']}")
        if "url" in e and r.get("url") not in [self.url(u) for u in as_list(e["url"])]:
            bad.append(f"url {r.get('url')}, expected {e['url']}")
        if "encoding" in e and codec(r.get("encoding")) not in [codec(x) for x in as_list(e["encoding"])]:
            bad.append(f"encoding {r.get('encoding')}, expected {e['encoding']}")
        for kind in ("css", "xpath"):
            for q, want in e.get(kind, {}).items():
                got = r.get(kind, {}).get(q)
                if got is None:
                    bad.append(f"{kind} {q!r}: {r.get(kind + '_error', {}).get(q, 'not extracted')}")
                elif isinstance(want, list) and got != want:
                    bad.append(f"{kind} {q!r}: {str(got)[:120]}, expected {str(want)[:120]}")
                elif not isinstance(want, list) and (got[0] if got else None) != want:
                    bad.append(f"{kind} {q!r}: {ascii(got[0] if got else None)[:120]}, expected {ascii(want)[:120]}")
        if "body_len" in e and r.get("body_len") != e["body_len"]:
            bad.append(f"body of {r.get('body_len')} bytes, expected {e['body_len']}")
        if {"text", "text_has", "text_not"} & set(e):
            t = r.get("text")
            if t is None:
                bad.append(f"no text: {r.get('text_error', '')}")
            else:
                if "text" in e and t != e["text"]:
                    bad.append(f"text {t[:100]!r}")
                bad += [f"text lacks {x!r}" for x in e.get("text_has", []) if x not in t]
                bad += [f"text has {x!r}" for x in e.get("text_not", []) if x in t]
        for name, want in e.get("headers", {}).items():
            got = [v for k, v in r.get("headers", []) if k.lower() == name.lower()]
            if ", ".join(got) != ", ".join(as_list(want)):  # RFC 9110 5.3: lines of one name may be joined
                bad.append(f"header {name}: {got}, expected {want}")
        if "json" in e and r.get("json", "absent") != e["json"]:
            bad.append(f"json {str(r.get('json', r.get('json_error')))[:120]}, expected {str(e['json'])[:120]}")
        if e.get("json_error") and "json_error" not in r:
            bad.append("json() should have raised")
        return bad

    # ---- what the server saw
    def seen(self, e, all_log):
        bad = []
        pages = [x for x in all_log if not x["rest"].startswith("robots.txt") or self.case["task"]["kind"] == "sitemap"]
        rests = [x["rest"] for x in pages]
        if "requests" in e and len(pages) != e["requests"]:
            bad.append(f"{len(pages)} requests {rests[:6]}, expected {e['requests']}")
        if "max_requests" in e and len(pages) > e["max_requests"]:
            bad.append(f"{len(pages)} requests, at most {e['max_requests']} expected")
        if "rests" in e and rests != self.fill(e["rests"]):
            bad.append(f"requested {rests}, expected {e['rests']}")
        if "rest_set" in e and set(rests) != set(self.fill(e["rest_set"])):
            bad.append(f"requested {sorted(set(rests))}, expected {sorted(e['rest_set'])}")
        if "rest_set_pages" in e:
            got = set(rests) - set(e.get("ignore_rests", []))
            want = set(e["rest_set_pages"]) - set(e.get("ignore_rests", []))
            if got != want:
                bad.append(f"requested {sorted(got)}, expected {sorted(want)}")
        bad += [f"never requested {x}" for x in e.get("rest_has", []) if x not in rests]
        bad += [f"requested {x}, which it must not" for x in e.get("never", []) if any(x in r for r in rests)]
        robots = [x for x in all_log if x["rest"].startswith("robots.txt")]
        if "robots_requests" in e and len(robots) != e["robots_requests"]:
            bad.append(f"{len(robots)} requests for robots.txt, expected {e['robots_requests']}")
        if e.get("robots_first") and (not all_log or not all_log[0]["rest"].startswith("robots.txt")):
            bad.append("robots.txt was not the first request")
        for i, j, sec in e.get("min_gap", []):
            if len(pages) > max(i, j) and pages[j]["t"] - pages[i]["t"] < sec:
                bad.append(f"only {pages[j]['t'] - pages[i]['t']:.2f} s between requests {i} and {j}, expected {sec}")
        if "min_gap_pages" in e:
            gaps = [b["t"] - a["t"] for a, b in zip(pages, pages[1:])]
            if gaps and min(gaps) < e["min_gap_pages"]:
                bad.append(f"only {min(gaps):.2f} s between pages, expected {e['min_gap_pages']}")
        for s in e.get("sent", []):
            if not -len(pages) <= s["n"] < len(pages):
                bad.append(f"there was no request number {s['n']} (only {rests})")
                continue
            x = pages[s["n"]]
            for key in ("method", "host"):
                if key in s and x[key] != s[key]:
                    bad.append(f"request {s['n']}: {key} {x[key]}, expected {s[key]}")
            if "rest" in s and x["rest"] != self.fill(s["rest"]):
                bad.append(f"request {s['n']}: {x['rest']}, expected {s['rest']}")
            if "body" in s and x["body"] != s["body"]:
                bad.append(f"request {s['n']}: body {x['body'][:80]!r}, expected {s['body']!r}")
            for k, v in s.get("header", {}).items():
                if hdr(x, k) != v:
                    bad.append(f"request {s['n']}: {k}: {hdr(x, k)!r}, expected {v!r}")
            for k, v in s.get("header_not", {}).items():
                if hdr(x, k) == v:
                    bad.append(f"request {s['n']}: {k}: {v!r} must not be sent")
            for k in s.get("no_header", []):
                if hdr(x, k) is not None:
                    bad.append(f"request {s['n']}: {k}: {hdr(x, k)!r} must not be sent")
            if "cookies" in s and cookies(hdr(x, "cookie")) != s["cookies"]:
                bad.append(f"request {s['n']}: Cookie {hdr(x, 'cookie')!r}, expected {s['cookies']}")
        for key in ("form_sent", "form_has"):
            if key in e:
                f = e[key]
                if len(pages) <= f["n"]:
                    bad.append("the form was not sent")
                    continue
                x = pages[f["n"]]
                data = x["body"] if x["method"] != "GET" else x["rest"].partition("?")[2]
                pairs = urllib.parse.parse_qsl(data, keep_blank_values=True)
                if key == "form_has":
                    bad += [f"form: no {k} in {pairs}" for k in f["keys"] if k not in [p[0] for p in pairs]]
                    continue
                if x["method"] != f["method"]:
                    bad.append(f"form sent by {x['method']}, expected {f['method']}")
                if sorted(pairs) != sorted(map(tuple, f["pairs"])):
                    bad.append(f"form sent {pairs}, expected {f['pairs']}")
                if "rest_path" in f and x["rest"].partition("?")[0] != f["rest_path"]:
                    bad.append(f"form sent to {x['rest']}, expected {f['rest_path']}")
        return bad

    # ---- feeds
    def export(self, e):
        bad, o = [], self.outcome
        text = o.get("export")
        keys = {
            "csv",
            "csv_rows",
            "csv_cell",
            "jsonl_has",
            "text_has",
            "json_text",
            "json_has",
            "strict_json",
            "xml_wellformed",
        }
        if e.get("warned") and not o.get("warned"):
            bad.append("no warning")
        if e.get("export_empty") and text:
            bad.append("not empty")
        if not keys & set(e):
            return bad
        if text is None:
            return bad + [f"no export: {o.get('error')} {o.get('detail', '')}"]
        try:
            if keys & {"csv", "csv_rows", "csv_cell"} & set(e):
                rows = list(csv.reader(io.StringIO(text.lstrip("\ufeff"), newline="")))
                if "csv" in e and rows != e["csv"]:
                    bad.append(f"csv {rows}, expected {e['csv']}")
                if "csv_rows" in e and len(rows) != e["csv_rows"]:
                    bad.append(f"{len(rows)} rows")
                if "csv_cell" in e and rows[e["csv_cell"][0]][e["csv_cell"][1]] not in e["csv_cell"][2]:
                    bad.append(f"cell {rows[e['csv_cell'][0]][e['csv_cell'][1]]!r}")
            if "jsonl_has" in e:
                rows = [json.loads(x) for x in text.splitlines() if x.strip()]
                for want, got in zip(e["jsonl_has"], rows):
                    bad += [f"{k}: {got.get(k)!r}, expected {v!r}" for k, v in want.items() if got.get(k, "absent") != v]
            if "json_text" in e and json.loads(text) != e["json_text"]:
                bad.append(f"json {text[:100]}")
            if "json_has" in e:
                rows = json.loads(text)
                bad += [f"{want} is missing" for want in e["json_has"] if want not in rows]
            if e.get("strict_json"):
                json.loads(text, parse_constant=lambda c: 1 / 0)
            if e.get("xml_wellformed"):
                xml.dom.minidom.parseString(text.encode())
        except ZeroDivisionError:
            bad.append("NaN or Infinity in the JSON")
        except Exception as x:
            bad.append(f"{type(x).__name__}: {x}")
        bad += [f"export lacks {x!r}" for x in e.get("text_has", []) if x not in text]
        return bad

    def sitemap(self, e):
        bad = []
        urls = self.outcome.get("sitemap_urls")
        if {"sitemap_urls", "sitemap_urls_has", "sitemap_count", "sitemap_max_url"} & set(e) and urls is None:
            return [f"no sitemap result: {self.outcome.get('error')} {self.outcome.get('detail', '')}"]
        if "sitemap_urls" in e:
            want = {self.url(u) for u in e["sitemap_urls"]}
            if set(urls) != want:
                bad.append(f"urls {sorted(urls)[:5]}, expected {sorted(want)[:5]}")
        for u in e.get("sitemap_urls_has", []):
            if self.url(u) not in urls:
                bad.append(f"missing {u}")
        if "sitemap_count" in e and len(set(urls)) != e["sitemap_count"]:
            bad.append(f"{len(set(urls))} urls, expected {e['sitemap_count']}")
        if "sitemap_max_url" in e and any(len(u) > e["sitemap_max_url"] for u in urls):
            bad.append("a URL of monstrous length")
        return bad

    def check(self, e):
        kind = self.case["task"]["kind"]
        bad = []
        if kind == "export":
            if "error" in e:
                return [] if self.outcome.get("error") else ["export should have failed"]
            bad += self.export(e)
        elif kind == "sitemap":
            bad += self.sitemap(e)
        else:
            results = self.outcome.get("results") or []
            own = {k: v for k, v in e.items() if k not in ("any", "results", "log", "max_seconds", "setting")}
            if own:
                bad += self.result(own, results[-1] if results else (self.outcome if "error" in self.outcome else None))
            for i, sub in enumerate(e.get("results", [])):
                if sub:
                    bad += [f"[{i}] {x}" for x in self.result(sub, results[i] if i < len(results) else None)]
        if "log" in e:
            bad += self.seen(e["log"], self.log)
        if "max_seconds" in e and self.outcome.get("seconds", 0) > e["max_seconds"]:
            bad.append(f"took {self.outcome['seconds']:.1f} s, at most {e['max_seconds']} expected")
        if e.get("any"):
            tries = [self.check(sub) for sub in e["any"]]
            if all(tries):
                bad.append("none of the accepted answers: " + " | ".join(t[0] for t in tries))
        return bad


def verdict(case, outcome, log, port):
    if case["task"]["kind"] == "described":
        return {"verdict": "described", "why": []}
    if outcome is None:
        return {"verdict": "fail", "why": ["no outcome from the adapter"]}
    if outcome.get("unsupported"):
        return {"verdict": "unsupported", "why": [outcome["unsupported"]]}
    bad = Judge(case, outcome, log, port).check(case["expect"])
    return {"verdict": "fail" if bad else "pass", "why": bad}


def get(port, path):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    c.request("GET", path)
    body = c.getresponse().read()
    c.close()
    return json.loads(body)


def alone(adapter, cid, limit=45):
    """A case that may eat the processor runs in a process of its own, which can be ended."""
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        cmd = [
            sys.executable,
            str(HERE / "judge.py"),
            "--adapter",
            adapter,
            "--only",
            cid,
            "--results",
            f.name,
            "--quiet",
            "--child",
        ]
        p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            p.wait(limit)
            kept = json.load(open(f.name))
            return kept["outcomes"].get(cid), kept["logs"].get(cid, [])
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
            return {"error": "timeout", "detail": f"ended after {limit} s", "seconds": limit}, []
        except ValueError:
            return {"error": "other", "detail": "the process died", "seconds": 0}, []


def fill(x, port, cid):
    if isinstance(x, str):
        return x.replace("@PORT@", str(port)).replace("@ID@", cid)
    if isinstance(x, list):
        return [fill(y, port, cid) for y in x]
    if isinstance(x, dict):
        return {k: fill(v, port, cid) for k, v in x.items()}
    return x


def report(cases, verdicts, show=True):
    groups = {}
    for c in cases:
        v = verdicts[c["id"]]["verdict"]
        g = groups.setdefault(c["group"], {"pass": 0, "fail": 0, "fail_disputed": 0, "unsupported": 0, "described": 0})
        g["fail_disputed" if v == "fail" and c["disputed"] else v] += 1
    print(f"{'group':10} {'pass':>5} {'fail':>5} {'(disputed)':>11} {'unsupp.':>8} {'described':>9}")
    for name in caselib.GROUPS:
        if name in groups:
            g = groups[name]
            print(f"{name:10} {g['pass']:5} {g['fail']:5} {g['fail_disputed']:11} {g['unsupported']:8} {g['described']:9}")
    t = {k: sum(g[k] for g in groups.values()) for k in ("pass", "fail", "fail_disputed", "unsupported", "described")}
    print(f"{'all':10} {t['pass']:5} {t['fail']:5} {t['fail_disputed']:11} {t['unsupported']:8} {t['described']:9}")
    if show:
        for c in cases:
            v = verdicts[c["id"]]
            if v["verdict"] == "fail":
                print(f"  {'~' if c['disputed'] else '-'} {c['id']}: {v['why'][0][:170]}")
    return t


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--adapter")
    ap.add_argument("--only", default="")
    ap.add_argument("--results")
    ap.add_argument("--rejudge")
    ap.add_argument("--quiet", action="store_true")
    ap.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    a = ap.parse_args()
    sys.path.insert(0, str(HERE))
    cases = [c.public() for c in caselib.load().values()]
    if a.only:
        want = set(a.only.split(","))
        cases = [c for c in cases if want & {c["group"], c["id"], c["id"].split("-")[0]}]
    if a.rejudge:
        kept = json.load(open(a.rejudge))
        outcomes, logs, port = kept["outcomes"], kept["logs"], kept["port"]
        cases = [c for c in cases if c["id"] in outcomes or c["task"]["kind"] == "described"]
    else:
        mod = importlib.import_module(f"adapters.{a.adapter}")
        srv = subprocess.Popen([sys.executable, str(HERE / "hostile.py"), "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            port = int(srv.stdout.readline().rsplit(":", 1)[1])
            todo = [
                {k: fill(c[k], port, c["id"]) for k in ("id", "group", "task", "hosts")}
                for c in cases
                if c["task"]["kind"] != "described"
            ]
            t0 = time.monotonic()
            hazard = [c for c in todo if c["task"].get("hazard") and not a.child]
            todo = [c for c in todo if c not in hazard]
            outcomes = mod.run(todo, f"http://127.0.0.1:{port}") if todo else {}
            lonely = {c["id"]: alone(a.adapter, c["id"]) for c in hazard}
            outcomes.update({k: o for k, (o, _) in lonely.items()})
            print(
                f"{a.adapter}: {len(todo) + len(hazard)} cases in {time.monotonic() - t0:.0f} s  ({getattr(mod, 'VERSION', '')})"
            )
            logs = get(port, "/_log")
            logs = {c["id"]: logs.get(c["id"], []) for c in cases}
            logs.update({k: entries for k, (_, entries) in lonely.items()})
        finally:
            srv.terminate()
            srv.wait()
    verdicts = {c["id"]: verdict(c, outcomes.get(c["id"]), logs.get(c["id"], []), port) for c in cases}
    totals = report(cases, verdicts, not a.quiet)
    if a.results or a.rejudge:
        slim = {}
        for k, o in outcomes.items():
            o = json.loads(json.dumps(o))
            for r in o.get("results") or []:
                if r and len(r.get("text") or "") > 3000:
                    r["text"] = r["text"][:3000]
            if len(o.get("sitemap_urls") or []) > 50000:
                o["sitemap_urls"] = o["sitemap_urls"][:50000]
            slim[k] = o
        version = getattr(mod, "VERSION", "") if not a.rejudge else kept.get("version", "")
        json.dump(
            {"version": version, "port": port, "verdicts": verdicts, "outcomes": slim, "logs": logs},
            open(a.results or a.rejudge, "w"),
        )
    sys.exit(1 if totals["fail"] else 0)


if __name__ == "__main__":
    main()
