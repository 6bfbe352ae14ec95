"""``octopus startproject``, ``list`` and ``settings``."""

from __future__ import annotations

import json
import subprocess

import pytest

CANARY = "c4n4ry-pass"


async def test_a_new_project_yields_real_items_at_once(octopus):
    made = await octopus("startproject", "paper")
    assert made.code == 0
    assert "cd paper\n  octopus runspider news_spider -o items.jsonl" in made.out

    octopus.folder /= "paper"
    ran = await octopus("runspider", "news_spider", "-o", "items.jsonl")

    items = [json.loads(line) for line in (octopus.folder / "items.jsonl").read_text("utf-8").splitlines()]
    assert ran.code == 0
    assert len(items) > 40
    assert all(item["title"] and item["text"] and item["published"] for item in items)
    assert any("新" in item["text"] for item in items)


async def test_a_new_project_tells_its_spider_and_its_settings(octopus):
    await octopus("startproject", "paper", "elsewhere")
    octopus.folder /= "elsewhere"

    assert (await octopus("list")).out.split() == ["news_spider", "Articles", "of", "a", "newspaper:", *RUN]
    changed = (await octopus("settings", "--changed")).out
    assert "DOWNLOAD_DELAY = 0.25  # project: Seconds between two requests to one host.\n" in changed
    assert "RETRY_TIMES" not in changed


RUN = ["octopus", "runspider", "news_spider", "-o", "items.jsonl"]


async def test_git_sees_what_belongs_to_a_new_project_and_nothing_else(octopus):
    await octopus("startproject", "paper")
    octopus.folder /= "paper"
    git = ["git", "-C", str(octopus.folder)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    for name in ("items.jsonl", "items/a.csv", ".octopus/jobs/x", "spiders/__pycache__/x.pyc", "log/paper.log"):
        octopus.write(name, "")

    files = subprocess.run([*git, "status", "--porcelain", "-uall"], capture_output=True, text=True, check=True).stdout.split()

    assert sorted(files[1::2]) == [
        ".gitignore",
        "middlewares.py",
        "octopus.toml",
        "pipelines.py",
        "settings.py",
        "spiders/__init__.py",
        "spiders/news_spider.py",
    ]


async def test_spiders_are_listed_in_columns_also_with_chinese_names(octopus):
    octopus.write(
        "spiders/all.py",
        "from openoctopus import Spider\n"
        "class A(Spider):\n    '''Shops.\n\n    More.'''\n    name = 'shops'\n"
        "class B(Spider):\n    '''Papers.'''\n    name = '新闻爬虫'\n"
        "class C(Spider):\n    name = 'c'\n",
    )
    assert (await octopus("list")).out == "c\nshops     Shops.\n新闻爬虫  Papers.\n"


async def test_a_module_that_cannot_be_loaded_is_told_beside_the_others(octopus):
    octopus.write("spiders/bad.py", "import nothing_of_this_name\n")
    octopus.write("spiders/good.py", "from openoctopus import Spider\nclass Good(Spider): ...\n")
    ran = await octopus("list")

    assert (ran.code, ran.out) == (1, "good\n")
    assert "octopus: cannot be loaded: spiders/bad.py:1: ModuleNotFoundError" in ran.err


@pytest.fixture
def project(octopus):
    """Settings of every origin."""
    octopus.write("settings.py", f"RETRY_TIMES = 5\nHTTPAUTH_PASS = '{CANARY}'\nSHOP = {{'password': '{CANARY}', 'port': 1}}\n")
    octopus.write(
        "spiders/shop.py",
        "from openoctopus import Spider\nclass Shop(Spider):\n    custom_settings = {'DOWNLOAD_DELAY': 2.5}\n",
    )
    return octopus


async def test_every_option_is_a_line_with_its_origin(project):
    proxy = f"HTTP_PROXY=http://me:{CANARY}@proxy:8080"
    ran = await project("settings", "--spider", "shop", "-s", proxy, OCTOPUS_LOG_LEVEL="ERROR")

    lines = ran.out.splitlines()
    for expected in (
        "RETRY_TIMES = 5  # project: ",
        "DOWNLOAD_DELAY = 2.5  # spider: ",
        "LOG_LEVEL = 'ERROR'  # environment: ",
        "HTTP_PROXY = 'http://***@proxy:8080'  # command line: ",
        "CONCURRENT_REQUESTS = 16  # default: ",
        "HTTPAUTH_PASS = '***'  # project: ",
        "SHOP = {'password': '***', 'port': 1}  # project",
        "# DOWNLOADER_MIDDLEWARES: 550 openoctopus.downloadermiddlewares.retry.RetryMiddleware",
    ):
        assert sum(line.startswith(expected) for line in lines) == 1
    assert CANARY not in ran.out + ran.err


async def test_one_option_or_only_the_changed_ones_can_be_asked_for(project):
    one = await project("settings", "RETRY_TIMES")
    assert one.out == "RETRY_TIMES = 5  # project: How many more tries after the first.\n"

    changed = await project("settings", "--changed", "--spider", "shop")
    names = {line.partition(" = ")[0] for line in changed.out.splitlines()}
    assert names == {"DOWNLOAD_DELAY", "HTTPAUTH_PASS", "RETRY_TIMES", "SHOP"}


@pytest.mark.parametrize("width", [60, 80, 160])
async def test_options_fit_a_terminal_of_any_width(project, width):
    ran = await project.on_terminal("settings", width=width)

    assert "CONCURRENT_REQUESTS" in ran.err
    assert "How many requests are carried at the same time" in ran.err
    assert CANARY not in ran.err
    assert "in DOWNLOADER_MIDDLEWARES" in ran.err
