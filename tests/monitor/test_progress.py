"""What a person sees while a crawl runs."""

from __future__ import annotations

import asyncio
import sys

import pytest
from rich.cells import cell_len

from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.monitor import Board, LiveProgress, PlainProgress
from openoctopus.monitor.progress import plain_line, view
from openoctopus.scheduler import MemoryScheduler
from openoctopus.scheduler.base import Entry, HostLoad
from openoctopus.settings import Settings
from openoctopus.stats import Stats


@pytest.fixture
def board():
    """A crawl with five pages and eleven requests that wait, of two hosts."""
    board = Board(Stats(), MemoryScheduler(RFPDupeFilter(), Settings()))
    for name, count in {
        "response_received_count": 5,
        "item_scraped_count": 4,
        "item_dropped_count": 1,
        "downloader/request_count": 8,
        "downloader/response_count": 6,
        "downloader/response_bytes": 123_456,
        "downloader/response_status_count/200": 5,
        "downloader/response_status_count/503": 1,
        "error_count": 2,
        "retry/count": 3,
    }.items():
        board.stats.inc(name, count)
    for _ in range(2):
        board.stats.trouble("request_failed_reasons_count/callback:KeyError", "http://新闻.example/1?q=[red]")
    return board


async def fill(board: Board) -> None:
    hosts = ["a.example", "b.example"] * 5 + ["长长的名字" * 20 + ".example"]
    await board.scheduler.add([Entry(number, host, b"") for number, host in enumerate(hosts)])


@pytest.mark.parametrize("width", [50, 80, 120, 200])
async def test_the_view_fits_its_terminal_and_its_columns_stand_below_each_other(board, terminal, width):
    await fill(board)
    shown, console = terminal(width=width)
    console.print(view("新闻爬虫", await board.look(), width))

    lines = shown.lines()
    assert max(map(cell_len, lines)) <= width
    assert cell_len(lines[0]) == width
    assert "新闻爬虫" in lines[0]
    labels = [line.split()[0] for line in lines[1:6]]
    assert labels == ["pages", "items", "loaded", "queue", "errors"]
    ends = {cell_len(line[: line.index(value) + len(value)]) for line, value in zip(lines[1:6], VALUES, strict=True)}
    assert len(ends) == 1
    hosts = lines[7:]
    assert [line.split()[0][:9] for line in hosts][:2] == ["a.example", "b.example"]
    assert len({cell_len(line) for line in hosts if line.endswith("–")}) == 1


VALUES = ["5", "4", "123 kB", "11", "2"]


async def test_the_view_tells_what_matters(board, terminal):
    shown, console = terminal(width=110)
    await fill(board)
    console.print(view("news", await board.look(), 110))

    text = "\n".join(shown.lines())
    assert "200 × 5  503 × 1" in text
    assert "1 dropped" in text
    assert "2 under way" in text
    assert "3 retries" in text
    assert "2 × callback raised KeyError, such as http://新闻.example/1?q=[red]" in text
    assert "Ctrl-C ends it" in text


async def test_an_ending_crawl_says_why_and_what_ctrl_c_does_then(board, terminal):
    shown, console = terminal()
    board.ending = lambda: "shutdown"
    console.print(view("news", await board.look(), 80))

    assert "ending: shutdown" in shown.lines()[0]
    assert "Ctrl-C hurries it" in shown.lines()[0]


async def test_a_name_with_control_characters_and_of_any_length_leaves_the_view_whole(board, terminal):
    shown, console = terminal(width=60)
    console.print(view("x\x1b[2J" + "长" * 100, await board.look(), 60))

    assert cell_len(shown.lines()[0]) <= 60
    assert "x\\x1b[2J长" in shown.lines()[0]


async def test_a_host_that_cannot_be_reached_is_marked(board, terminal):
    shown, console = terminal()
    now = await board.look()
    now.hosts.append(HostLoad("gone.example", 3, 0, 0.25, 0.0, dead=True))
    console.print(view("news", now, 80))

    assert shown.lines()[-1].split() == ["gone.example", "(cannot", "be", "reached)", "0", "3", "–", "0.25", "s"]


async def test_a_plain_line_says_it_all(board):
    board.stats.inc("response_received_count", 1_000_000)

    line = plain_line(await board.look())

    assert line.startswith("1,000,005 pages (")
    assert line.endswith("0 waiting, 2 under way, 2 errors, 3 retries")


async def test_plain_lines_come_at_their_interval(board, caplog):
    caplog.set_level("INFO")
    async with PlainProgress(board, 0.03):
        await asyncio.sleep(0.1)

    assert 2 <= len(caplog.messages) <= 3


async def test_no_interval_means_no_lines(board, caplog):
    caplog.set_level("INFO")
    async with PlainProgress(board, 0):
        await asyncio.sleep(0.02)

    assert not caplog.messages


async def test_what_is_printed_and_logged_stands_above_the_view_which_goes_at_the_end(board, terminal, monkeypatch):
    shown, console = terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    live = LiveProgress("news", board, console)
    print("before", file=live.log)

    async with live:
        await asyncio.sleep(0.01)
        print("printed")
        print("complained", file=sys.stderr)
        print("logged", file=live.log)
        await asyncio.sleep(0.15)
        during = shown.lines()
    print("after", file=live.log)

    assert during[:4] == ["before", "printed", "complained", "logged"]
    assert "news" in during[4]
    assert shown.lines() == ["before", "printed", "complained", "logged", "after"]
    assert sys.stdout is shown


async def test_what_is_printed_into_a_pipe_is_left_alone(board, terminal, capfd):
    _, console = terminal()
    async with LiveProgress("news", board, console):
        print("data")

    assert capfd.readouterr().out == "data\n"
