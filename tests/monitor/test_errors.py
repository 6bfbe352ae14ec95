"""What went wrong is grouped in words that a person understands."""

from __future__ import annotations

from openoctopus.monitor.errors import ErrorGroup, counted, error_groups, statuses
from openoctopus.stats import Stats


def test_failed_requests_are_grouped_by_reason_the_most_frequent_first():
    stats = Stats()
    stats.trouble("request_failed_reasons_count/timeout", "http://a.example/1")
    for number in range(3):
        stats.trouble("request_failed_reasons_count/http_404", f"http://a.example/{number}")
    for number in range(2):
        stats.trouble("request_failed_reasons_count/callback:KeyError", f"http://b.example/{number}")

    assert list(map(str, error_groups(stats))) == [
        "3 × status 404, such as http://a.example/0",
        "2 × callback raised KeyError, such as http://b.example/0",
        "1 × timeout: http://a.example/1",
    ]


def test_one_trouble_is_told_once_though_two_stats_count_it():
    stats = Stats()
    stats.trouble("httperror/response_ignored_status_count/404", "http://a.example/")
    stats.trouble("request_failed_reasons_count/http_404", "http://a.example/")
    stats.inc("spider_exceptions/count")
    stats.trouble("spider_exceptions/KeyError", "http://a.example/")
    stats.trouble("request_failed_reasons_count/callback:KeyError", "http://a.example/")

    assert [group.kind for group in error_groups(stats)] == ["status 404", "callback raised KeyError"]


def test_what_an_errback_took_care_of_comes_last():
    stats = Stats()
    for _ in range(5):
        stats.trouble("httperror/response_ignored_status_count/404", "http://a.example/")
    stats.trouble("request_failed_reasons_count/dns", "http://b.example/")

    assert error_groups(stats) == [
        ErrorGroup(1, "dns", "http://b.example/"),
        ErrorGroup(5, "status 404, told to the errback", "http://a.example/"),
    ]


def test_items_that_no_store_took_are_errors():
    stats = Stats()
    stats.inc("item_failed_reasons_count/OperationalError", 2)

    assert list(map(str, error_groups(stats))) == ["2 × item not stored: OperationalError"]


def test_what_comes_from_pages_is_safe_for_a_terminal_and_tells_no_password():
    stats = Stats()
    stats.trouble("request_failed_reasons_count/\x1b[31mred", "http://me:canary@a.example/?token=canary2\n")

    assert str(error_groups(stats)[0]) == "1 × \\x1b[31mred: http://***@a.example/?token=***\\n"


def test_statuses_of_robots_txt_are_left_out():
    stats = Stats()
    for status, count in ((200, 3), (404, 2)):
        stats.inc(f"downloader/response_status_count/{status}", count)
    stats.inc("robotstxt/response_status_count/404", 2)

    assert statuses(stats) == {"200": 3}


def test_counts_stand_on_one_line():
    assert counted({"timeout": 1, "503": 10}) == "10 × 503, 1 × timeout"
    assert counted({"no text": 7}) == "no text"
    assert counted({str(n): 9 - n for n in range(8)}, most=2) == "9 × 0, 8 × 1, and 6 more kinds"
