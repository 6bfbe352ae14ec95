"""The services of the tests: used where they are, else started, else missed; no end of one goes unnoticed, and none is left."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE, Popen, run

import pytest

from tests.servers import SERVERS, MariaDb, PostgreSql, Server, ServerDied
from tests.services import Services

ROOT = Path(__file__).parent.parent


class HiddenPostgreSql(PostgreSql):
    usual = "postgresql://root@127.0.0.1:1/test"


class HiddenMariaDb(MariaDb):
    usual = "mysql://root@127.0.0.1:1/test"


HIDDEN: dict[str, type[Server]] = {"postgresql": HiddenPostgreSql, "mysql": HiddenMariaDb}


@pytest.fixture
def hidden() -> Iterator[Services]:
    """The services of a machine on which none runs."""
    services = Services(HIDDEN)
    yield services
    services.stop()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("name", HIDDEN)
def test_one_that_runs_nowhere_is_started_once_and_ended(hidden: Services, name: str) -> None:
    url = hidden.url(name)

    assert HIDDEN[name].refusal(url) == ""
    assert hidden.url(name) == url
    assert hidden.faults() == []
    hidden.stop()
    assert HIDDEN[name].refusal(url)


@pytest.mark.parametrize("name", SERVERS)
def test_the_usual_one_is_used_until_it_is_gone(name: str) -> None:
    with SERVERS[name]() as server:
        services = Services({name: type("Usual", (SERVERS[name],), {"usual": server.url})})
        assert services.url(name) == server.url
        server.stop()
        with pytest.raises(ServerDied, match="was used by the tests, and nothing listens there any more"):
            services.url(name)


@pytest.mark.parametrize("name", SERVERS)
def test_one_that_does_not_let_the_tests_in_is_left_alone(name: str) -> None:
    with SERVERS[name]() as server:
        closed = server.url.rpartition("/")[0] + "/no_such_database"
        services = Services({name: type("Closed", (SERVERS[name],), {"usual": closed})})
        try:
            assert SERVERS[name].refusal(services.url(name)) == ""
            assert f":{server.port}/" not in services.url(name)
        finally:
            services.stop()


@pytest.mark.parametrize(("variable", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_one_that_is_not_installed_is_missed_loudly(
    variable: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", variable)
    services = Services({"postgresql": type("Absent", (HiddenPostgreSql,), {"programs": ("no-such-program",)})})

    for ask in (services.url, services.own):
        with pytest.raises(outcome, match=r"needs PostgreSQL .*: install no-such-program \(apt-get install postgresql\)"):
            ask("postgresql")


def test_one_that_does_not_start_is_told_with_its_log_and_not_tried_again() -> None:
    services = Services({"postgresql": type("Broken", (HiddenPostgreSql,), {"running": lambda self: ["ls", "no such file"]})})

    with pytest.raises(ServerDied, match=r"has ended with code 2; the end of its log:\n(.*\n)*.*no such file"):
        services.url("postgresql")
    with pytest.raises(ServerDied, match="has ended with code 2"):
        services.url("postgresql")


@pytest.mark.parametrize("name", SERVERS)
def test_one_that_was_killed_starts_again_where_it_was(name: str) -> None:
    with SERVERS[name]() as server:
        url = server.url
        server.kill()
        assert (
            f"{server.title}, which was started for the tests, has ended with code -9; the end of its log:\n" in server.fault()
        )
        server.start()
        assert server.refusal(url) == ""


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_none_outlives_the_process_that_started_it(name: str, number: signal.Signals) -> None:
    code = f"""
import time
from tests.servers import SERVERS
with SERVERS[{name!r}]() as server:
    print(server.url, server.folder, flush=True)
    time.sleep(60)
"""
    with Popen([sys.executable, "-c", code], stdout=PIPE, stderr=PIPE, text=True, cwd=ROOT) as parent:
        assert parent.stdout is not None
        url, folder = parent.stdout.readline().split()
        assert Path(folder, "data").is_dir()
        parent.send_signal(number)

    until(lambda: not Path(folder).exists())
    assert SERVERS[name].refusal(url)


def test_a_failed_test_names_the_services_that_are_gone(tmp_path: Path) -> None:
    tmp_path.joinpath("test_it.py").write_text("""
from tests.services import services
from tests.test_services import HIDDEN

def test_that_loses_its_database():
    services._kinds = HIDDEN
    services.url("postgresql")
    services._used["postgresql"].stop()
    assert False

def test_that_comes_later():
    services.url("postgresql")
""")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", str(tmp_path)]
    ran = run(command, stdout=PIPE, text=True, cwd=ROOT, check=False)

    gone = "PostgreSQL, which was started for the tests, has ended with code "
    assert gone in ran.stdout.partition("test_that_comes_later")[0]
    assert f"ServerDied: {gone}" in ran.stdout
    assert "2 failed" in ran.stdout


@pytest.mark.parametrize("name", SERVERS)
def test_ci_installs_it(name: str) -> None:
    assert f"={SERVERS[name].package}" in (ROOT / ".ci/run").read_text()
