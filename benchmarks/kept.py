"""What keeping costs: the crawl as a job, with a trace, and into a table, beside the plain one.

``python -m benchmarks.kept --tree minih``

Rounds are interleaved, and ratios are taken within a round; see ``benchmarks.crawl``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from statistics import median

import asyncpg

from benchmarks import nginx, site
from benchmarks.crawl import ERRORS, FIELDS, ITEMS, OUTPUT
from benchmarks.peers import Peer
from benchmarks.process import CLIENT_CORE, go_first, measured, stay_on
from benchmarks.table import Run, markdown

DATABASE = "postgresql://root@127.0.0.1:5432/test"
TABLE = "bench_kept"
PLAIN = Peer("JSON Lines", "openoctopus_news.py", "openoctopus")
#: Where each of them puts its items.
OUTPUTS: Mapping[Peer, str] = {
    PLAIN: str(ITEMS),
    Peer("JSON Lines, as a job", "openoctopus_news.py", "openoctopus", "job"): str(ITEMS),
    Peer("JSON Lines, as a job with --trace", "openoctopus_news.py", "openoctopus", "trace"): str(ITEMS),
    Peer("PostgreSQL", "openoctopus_news.py", "openoctopus"): f"{DATABASE}?table={TABLE}&key=url",
}


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.kept", description=__doc__)
    parser.add_argument("--tree", default="minih", choices=[n for n, t in site.TREES.items() if isinstance(t, site.Tree)])
    parser.add_argument("--concurrency", type=int, default=64, help="requests at a time (default: 64)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    tree = site.TREES[options.tree]
    assert isinstance(tree, site.Tree)
    site.write(["one", options.tree])
    OUTPUT.mkdir(parents=True, exist_ok=True)
    stay_on(CLIENT_CORE)
    go_first()
    runs: dict[Peer, list[Run]] = {peer: [] for peer in OUTPUTS}
    with nginx.running():
        for number in range(options.rounds):
            for peer in OUTPUTS:
                run = _run(peer, options.tree, tree, options.concurrency)
                runs[peer].append(run)
                print(f"round {number + 1}: {run}", flush=True)
                if not run.complete:
                    sys.exit(ERRORS.read_text(errors="replace")[-1000:])
    title = f"{options.tree}, {options.concurrency} at a time, median of {options.rounds}"
    print("\n" + markdown([title, "pages/s", "CPU ms/page", "CPU to JSON Lines"], [_line(runs, peer) for peer in runs]))


def _run(peer: Peer, name: str, tree: site.Tree, concurrency: int) -> Run:
    costs = []
    for one in ("one", name):
        ITEMS.unlink(missing_ok=True)
        asyncio.run(_ask(f"DROP TABLE IF EXISTS {TABLE}"))
        command = [*peer.command(), "--url", nginx.url(f"{one}/index.html"), "--output", OUTPUTS[peer]]
        costs.append(measured([*command, "--concurrency", str(concurrency)], ERRORS))
    start, cost = costs
    return Run(peer, tree.pages, cost, start, complete=cost.exit_code == 0 and _complete(peer, tree))


def _complete(peer: Peer, tree: site.Tree) -> bool:
    """Whether every article became one item, with every field filled."""
    if OUTPUTS[peer] == str(ITEMS):
        items = [json.loads(line) for line in ITEMS.read_text("utf-8").splitlines()]
    else:
        items = asyncio.run(_ask(f"SELECT * FROM {TABLE}"))
    return len(items) == len({item["url"] for item in items}) == tree.articles and all(
        item[name] for item in items for name in FIELDS
    )


async def _ask(statement: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(DATABASE)
    try:
        return await connection.fetch(statement)
    finally:
        await connection.close()


def _line(runs: Mapping[Peer, list[Run]], peer: Peer) -> list[str]:
    ratio = median(run.cpu_per_page / plain.cpu_per_page for run, plain in zip(runs[peer], runs[PLAIN], strict=True))
    speed, cpu = median(run.pages_per_second for run in runs[peer]), median(run.cpu_per_page for run in runs[peer])
    return [peer.name, f"{speed:,.0f}", f"{cpu:.3f}", f"{ratio:.2f}"]


if __name__ == "__main__":
    main()
