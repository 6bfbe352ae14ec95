"""What the drivers' errors mean: away, full, busy, a person's to mend, the item's fault, or not known."""

from __future__ import annotations

import errno
import sqlite3

import asyncpg
import pytest
from asyncmy import errors as mysql
from sqlalchemy.exc import DBAPIError

from openoctopus.pipelines.sql.errors import Trouble, advice, said, trouble

POSTGRESQL = [
    (asyncpg.ConnectionDoesNotExistError, Trouble.AWAY),
    (asyncpg.AdminShutdownError, Trouble.AWAY),
    (asyncpg.CrashShutdownError, Trouble.AWAY),
    (asyncpg.CannotConnectNowError, Trouble.AWAY),
    (asyncpg.TooManyConnectionsError, Trouble.AWAY),
    (asyncpg.OutOfMemoryError, Trouble.AWAY),
    (asyncpg.ReadOnlySQLTransactionError, Trouble.AWAY),
    (asyncpg.DiskFullError, Trouble.FULL),
    (asyncpg.DeadlockDetectedError, Trouble.BUSY),
    (asyncpg.SerializationError, Trouble.BUSY),
    (asyncpg.LockNotAvailableError, Trouble.BUSY),
    (asyncpg.InvalidPasswordError, Trouble.ACCESS),
    (asyncpg.InvalidCatalogNameError, Trouble.ACCESS),
    (asyncpg.InsufficientPrivilegeError, Trouble.ACCESS),
    (asyncpg.UndefinedTableError, Trouble.ACCESS),
    (asyncpg.UniqueViolationError, Trouble.DATA),
    (asyncpg.NotNullViolationError, Trouble.DATA),
    (asyncpg.CheckViolationError, Trouble.DATA),
    (asyncpg.StringDataRightTruncationError, Trouble.DATA),
    (asyncpg.NumericValueOutOfRangeError, Trouble.DATA),
    (asyncpg.CharacterNotInRepertoireError, Trouble.DATA),
    (asyncpg.RaiseError, Trouble.DATA),
    (asyncpg.DatatypeMismatchError, Trouble.DATA),
    (asyncpg.ForeignKeyViolationError, Trouble.DATA),
    (asyncpg.ProgramLimitExceededError, Trouble.DATA),
    (asyncpg.QueryCanceledError, Trouble.UNKNOWN),
    (asyncpg.InternalServerError, Trouble.UNKNOWN),
]
MYSQL = [
    (1040, Trouble.AWAY),
    (1053, Trouble.AWAY),
    (1927, Trouble.AWAY),
    (2003, Trouble.AWAY),
    (2006, Trouble.AWAY),
    (2013, Trouble.AWAY),
    (1290, Trouble.AWAY),
    (1836, Trouble.AWAY),
    (1021, Trouble.FULL),
    (1114, Trouble.FULL),
    (3675, Trouble.FULL),
    (1205, Trouble.BUSY),
    (1213, Trouble.BUSY),
    (1045, Trouble.ACCESS),
    (1049, Trouble.ACCESS),
    (1142, Trouble.ACCESS),
    (1146, Trouble.ACCESS),
    (1062, Trouble.DATA),
    (1048, Trouble.DATA),
    (1264, Trouble.DATA),
    (1366, Trouble.DATA),
    (1406, Trouble.DATA),
    (3024, Trouble.UNKNOWN),
    (1969, Trouble.UNKNOWN),
    (9999, Trouble.UNKNOWN),
    (1242, Trouble.DATA),
    (1452, Trouble.DATA),
    (1644, Trouble.DATA),
    (4025, Trouble.DATA),
]
SQLITE = [
    (sqlite3.SQLITE_BUSY, Trouble.AWAY),
    (sqlite3.SQLITE_BUSY_SNAPSHOT, Trouble.AWAY),
    (sqlite3.SQLITE_LOCKED, Trouble.AWAY),
    (sqlite3.SQLITE_FULL, Trouble.FULL),
    (sqlite3.SQLITE_IOERR_WRITE, Trouble.FULL),
    (sqlite3.SQLITE_READONLY_DBMOVED, Trouble.ACCESS),
    (sqlite3.SQLITE_CANTOPEN, Trouble.ACCESS),
    (sqlite3.SQLITE_CORRUPT, Trouble.ACCESS),
    (sqlite3.SQLITE_CONSTRAINT_UNIQUE, Trouble.DATA),
    (sqlite3.SQLITE_TOOBIG, Trouble.DATA),
    (sqlite3.SQLITE_MISMATCH, Trouble.DATA),
    (sqlite3.SQLITE_CONSTRAINT_TRIGGER, Trouble.DATA),
    (sqlite3.SQLITE_INTERRUPT, Trouble.UNKNOWN),
]
SYSTEM = [
    (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), Trouble.AWAY),
    (ConnectionResetError(), Trouble.AWAY),
    (TimeoutError(), Trouble.AWAY),
    (OSError(errno.EHOSTUNREACH, "no route"), Trouble.AWAY),
    (OSError(errno.ENOSPC, "no space"), Trouble.FULL),
    (ValueError("x"), Trouble.UNKNOWN),
]


@pytest.mark.parametrize(("error", "expected"), POSTGRESQL, ids=lambda one: getattr(one, "__name__", ""))
def test_postgresql(error: type[Exception], expected: Trouble) -> None:
    assert trouble(error("told")) is expected


@pytest.mark.parametrize(("number", "expected"), MYSQL)
def test_mysql(number: int, expected: Trouble) -> None:
    assert trouble(mysql.OperationalError(number, "told")) is expected


@pytest.mark.parametrize(("code", "expected"), SQLITE)
def test_sqlite(code: int, expected: Trouble) -> None:
    error = sqlite3.OperationalError("told")
    error.sqlite_errorcode = code
    assert trouble(error) is expected


@pytest.mark.parametrize(("error", "expected"), SYSTEM, ids=str)
def test_the_system(error: Exception, expected: Trouble) -> None:
    assert trouble(error) is expected


def test_a_full_disk_that_the_engine_met() -> None:
    assert trouble(mysql.OperationalError(1030, 'Got error 28 "No space left on device" from storage engine')) is Trouble.FULL
    assert trouble(mysql.OperationalError(1030, "Got error 168 from storage engine")) is Trouble.UNKNOWN


def test_what_is_wrapped_is_found_and_told_without_the_statement() -> None:
    wrapped = DBAPIError("INSERT INTO t VALUES ('secret')", ("secret",), mysql.IntegrityError(1062, "Duplicate\nentry"))
    wrapped.__cause__ = wrapped.orig

    assert trouble(wrapped) is Trouble.DATA
    assert said(wrapped) == "Duplicate entry"


def test_a_connection_that_is_gone_is_away_whatever_else_is_said() -> None:
    wrapped = DBAPIError("SELECT 1", None, mysql.InternalError(9999, "?"), connection_invalidated=True)

    assert trouble(wrapped) is Trouble.AWAY


def test_there_is_advice_where_a_person_can_do_something() -> None:
    assert "CREATE DATABASE" in advice(asyncpg.InvalidCatalogNameError("x"))
    assert "GRANT" in advice(mysql.OperationalError(1142, "x"))
    assert "running" in advice(ConnectionRefusedError())
    assert advice(asyncpg.UniqueViolationError("x")) == ""
