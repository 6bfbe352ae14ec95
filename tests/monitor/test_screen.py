"""A view that stands still at the end of a terminal, and lines above it that are never broken."""

from __future__ import annotations

import threading

from rich.text import Text

from openoctopus.monitor.screen import Above, Screen


def view(*lines: str) -> Text:
    return Text("\n".join(lines))


def test_the_view_is_drawn_in_place(terminal):
    shown, console = terminal()
    screen = Screen(console)

    screen.draw(view("pages 1", "items 1"))
    screen.draw(view("pages 2", "items 2"))

    assert shown.lines() == ["pages 2", "items 2"]


def test_each_change_is_one_write(terminal):
    shown, console = terminal()
    screen = Screen(console)

    screen.draw(view("pages 1", "items 1"))
    screen.draw(view("pages 2", "items 2"))
    screen.clear()

    assert shown.writes == 3


def test_what_is_printed_stands_above_in_its_order(terminal):
    shown, console = terminal()
    screen = Screen(console)

    screen.print("before")
    screen.draw(view("pages 1", "items 1"))
    screen.print("one")
    screen.print("two")
    screen.draw(view("pages 2", "items 2"))
    screen.print("three")
    screen.flush()

    assert shown.lines() == ["before", "one", "two", "three", "pages 2", "items 2"]


def test_much_is_printed_together(terminal):
    shown, console = terminal()
    screen = Screen(console)
    screen.draw(view("pages"))

    for number in range(1000):
        screen.print(f"line {number}")
    screen.flush()

    assert shown.lines() == [*(f"line {number}" for number in range(1000)), "pages"]
    assert shown.writes < 50


def test_lines_wider_than_the_terminal_leave_nothing_broken(terminal):
    shown, console = terminal(width=20)
    screen = Screen(console)
    screen.draw(view("pages 123456789", "items 123456789", "queue"))

    screen.print("x" * 25)
    screen.print("长" * 15)
    screen.flush()

    assert shown.lines() == ["x" * 20, "x" * 5, "长" * 10, "长" * 5, "pages 123456789", "items 123456789", "queue"]


def test_a_view_that_became_smaller_leaves_nothing_behind(terminal):
    shown, console = terminal()
    screen = Screen(console)

    screen.draw(view("a", "b", "host 1", "host 2"))
    screen.draw(view("a", "b"))
    screen.print("above")
    screen.flush()

    assert shown.lines() == ["above", "a", "b"]


def test_a_view_as_wide_as_the_terminal_survives_its_narrowing(terminal):
    shown, console = terminal(width=40)
    screen = Screen(console)
    screen.print("log " + "x" * 30)
    screen.draw(view("─" * 40, "pages 1"))

    shown.narrowed(25)
    console.size = (25, 24)
    screen.draw(view("─" * 25, "pages 2"))

    assert shown.lines() == ["log " + "x" * 21, "x" * 9, "─" * 25, "pages 2"]


def test_blanks_at_the_end_of_a_styled_line_take_no_second_row(terminal):
    shown, console = terminal(width=40)
    screen = Screen(console)
    screen.draw(Text.assemble(("pages", "bold"), (" " * 34, "red")))

    shown.narrowed(20)
    console.size = (20, 24)
    screen.draw(view("pages"))

    assert shown.lines() == ["pages"]


def test_a_view_higher_than_the_terminal_is_cut(terminal):
    shown, console = terminal(height=5)
    screen = Screen(console)

    for _ in range(2):
        screen.draw(view(*map(str, range(10))))

    assert shown.lines() == ["0", "1", "2", "3"]


def test_what_is_typed_meanwhile_goes_with_the_next_change(terminal):
    shown, console = terminal()
    screen = Screen(console)
    screen.draw(view("pages 1", "items 1"))

    shown.typed("^C")
    screen.print("SIGINT")
    screen.flush()

    assert shown.lines() == ["SIGINT", "pages 1", "items 1"]


def test_nothing_is_left_when_the_view_is_taken_away(terminal):
    shown, console = terminal()
    screen = Screen(console)
    screen.draw(view("pages 1", "items 1"))
    screen.print("last words")

    screen.clear()
    screen.print("summary")

    assert shown.lines() == ["last words", "summary"]


def test_many_threads_may_print(terminal):
    shown, console = terminal()
    screen = Screen(console)
    screen.draw(view("pages"))
    threads = [threading.Thread(target=lambda: [screen.print("line") for _ in range(100)]) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    screen.flush()

    assert shown.lines() == ["line"] * 800 + ["pages"]


def test_a_terminal_that_was_closed_ends_nothing(terminal):
    shown, console = terminal()
    screen = Screen(console)
    screen.draw(view("pages"))

    def write(text: str) -> int:
        raise OSError(5, "Input/output error")

    shown.write = write
    screen.print("log")
    screen.draw(view("pages 2"))
    screen.clear()


def test_a_stream_for_others_keeps_their_lines_whole(terminal):
    shown, console = terminal()
    screen = Screen(console)
    screen.draw(view("pages"))
    stream = Above(screen)

    print("a", "b", file=stream)
    stream.write("begun ")
    screen.flush()
    assert shown.lines() == ["a b", "pages"]
    stream.write("and ended\nnext")
    stream.end_line()
    screen.flush()

    assert shown.lines() == ["a b", "begun and ended", "next", "pages"]
    assert stream.isatty()
