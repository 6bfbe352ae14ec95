"""The same site crawled by OpenOctopus, its peers and loops written by hand. ``python -m benchmarks.crawl --tree midh``

Rounds are interleaved, so that a machine that is slower for a while is slower for all; each run is a fresh process. A
crawl of a single page is run beside each one and subtracted: what it takes to start and to stop is not counted.
"""

from __future__ import annotations

import json
import re
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks import folder, nginx, site
from benchmarks.peers import PEERS, Peer
from benchmarks.process import CLIENT_CORE, Cost, go_first, measured, stay_on
from benchmarks.table import Run, table

FIELDS = ("url", "title", "author", "date", "content")
OUTPUT = folder.ROOT / "output"
ITEMS = OUTPUT / "items.jsonl"
#: What the last run said.
ERRORS = OUTPUT / "errors.txt"


def main() -> None:
    options = _options()
    tree, _, broad = options.tree.partition("@")
    if tree not in site.TREES or not isinstance(site.TREES[tree], site.Tree) or broad not in ("", "broad"):
        sys.exit(f"no tree {options.tree}: one of {', '.join(site.TREES)}, with @broad to follow every link")
    peers = _chosen(options, bool(broad))
    site.write(["one", tree])
    OUTPUT.mkdir(parents=True, exist_ok=True)
    stay_on(CLIENT_CORE)
    go_first()
    with nginx.running():
        runs = _rounds(peers, options)
    duties = ", with duties" if options.duties else ""
    shown = table(runs, f"{options.tree}, {options.concurrency} at a time{duties}, median of {options.rounds}")
    print(f"\n{shown}")
    _keep(runs, shown, options)


def _options() -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.crawl", description=__doc__)
    parser.add_argument("--tree", default="midh", help="the site; midh@broad: follow every link (default: midh)")
    parser.add_argument("--concurrency", type=int, default=64, help="requests at a time (default: 64)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="REGEX", help="peers whose names match")
    parser.add_argument("--skip", default="$^", metavar="REGEX", help="all but these")
    parser.add_argument("--duties", action="store_true", help="obey robots.txt, keep cookies, log as usual")
    return parser.parse_args()


def _chosen(options: Namespace, broad: bool) -> list[Peer]:
    named = [peer for peer in PEERS if re.search(options.only, peer.name) and not re.search(options.skip, peer.name)]
    able = [peer for peer in named if (peer.broad or not broad) and (peer.duties or peer.floor or not options.duties)]
    for peer in able:
        if not Path(peer.command()[0]).exists():
            sys.exit(f"no environment for {peer.name}: run python -m benchmarks.setup")
    return able


def _rounds(peers: list[Peer], options: Namespace) -> dict[Peer, list[Run]]:
    runs: dict[Peer, list[Run]] = {peer: [] for peer in peers}
    for number in range(options.rounds):
        for peer in peers:
            run = _run(peer, options)
            runs[peer].append(run)
            print(f"round {number + 1}: {run}", flush=True)
            if not run.complete:
                print(ERRORS.read_text(errors="replace")[-1000:], flush=True)
    return runs


def _run(peer: Peer, options: Namespace) -> Run:
    tree = site.TREES[options.tree.partition("@")[0]]
    assert isinstance(tree, site.Tree)
    start = _crawl(peer, "one", options)
    cost = _crawl(peer, options.tree, options)
    return Run(peer, tree.pages, cost, start, complete=cost.exit_code == 0 == start.exit_code and _complete(tree))


def _crawl(peer: Peer, tree: str, options: Namespace) -> Cost:
    """One crawl in a fresh process; its items are in ``ITEMS`` afterwards."""
    ITEMS.unlink(missing_ok=True)
    name, _, broad = tree.partition("@")
    port = nginx.COOKIES if options.duties else nginx.PLAIN
    command = [*peer.command(), "--url", nginx.url(f"{name}/index.html", port), "--output", ITEMS]
    command += ["--concurrency", str(options.concurrency)]
    command += [option for option, wanted in (("--broad", broad), ("--duties", options.duties)) if wanted]
    return measured(command, ERRORS)


def _complete(tree: site.Tree) -> bool:
    """Whether every article became one item, with every field filled."""
    if not ITEMS.exists():
        return False
    with ITEMS.open(encoding="utf-8") as lines:
        items = [json.loads(line) for line in lines]
    filled = all(item[name] for item in items for name in FIELDS)
    return filled and len(items) == len({item["url"] for item in items}) == tree.articles


def _keep(runs: dict[Peer, list[Run]], shown: str, options: Namespace) -> None:
    """Keep every run and the table, under a name that says what was measured."""
    name = f"crawl-{options.tree}-{options.concurrency}{'-duties' if options.duties else ''}"
    folder.RESULTS.mkdir(parents=True, exist_ok=True)
    kept = {peer.name: [run.numbers() for run in of_peer] for peer, of_peer in runs.items()}
    (folder.RESULTS / f"{name}.json").write_text(json.dumps({"options": vars(options), "runs": kept}, indent=1))
    (folder.RESULTS / f"{name}.md").write_text(f"{shown}\n")
    print(f"\nkept in {folder.RESULTS / name}.json")


if __name__ == "__main__":
    main()
