"""The demo newspaper in a process of its own: ``python -m openoctopus.testing.news`` prints its address."""

from __future__ import annotations

from argparse import ArgumentParser

from openoctopus.testing.news.site import NewsSite
from openoctopus.testing.process import port, serve


def main() -> None:
    parser = ArgumentParser(prog="python -m openoctopus.testing.news", description="Serve the demo newspaper on loopback.")
    parser.add_argument("--port", type=port, default=8000, help="0: any free one (default: 8000)")
    parser.add_argument("--articles", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="another seed is another newspaper (default: 1)")
    parser.add_argument("--until-eof", action="store_true", help="stop when standard input ends")
    options = parser.parse_args()
    serve(NewsSite(articles=options.articles, seed=options.seed, port=options.port), until_eof=options.until_eof)


if __name__ == "__main__":
    main()
