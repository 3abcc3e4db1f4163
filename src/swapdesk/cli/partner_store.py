"""The store of a service, as the commands of its operator open it.

The service may run meanwhile: SQLite lets one writer in at a time, and each of these commands
writes for a moment.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

import click

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import CommandError
from swapdesk.cli.exit_codes import Exit

MONEY = "where it was; nothing was booked"

of_data = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Data directory of the service; that of this home's sandbox by default.",
)


@contextmanager
def open_store(
    call: CliContext, data: Path | None
) -> Iterator[tuple[sqlite3.Connection, datetime]]:
    """A connection that writes, and the service's time. Exit 5 where no service ever ran."""
    from swapdesk.sandbox.service_process import DATABASE
    from swapdesk.service.store.database import SchemaError, connect, prepare

    directory = _directory(call, data)
    if not (directory / DATABASE).exists():
        raise CommandError(
            Exit.NOT_FOUND,
            "NO_STORE",
            f"No service has run in {directory} yet.",
            MONEY,
        )
    try:
        with closing(connect(directory / DATABASE, writes=True)) as db:
            prepare(db)
            yield db, _service_time(directory)
    except SchemaError as error:
        raise CommandError(
            Exit.OWN_REFUSAL, "STORE_UNUSABLE", f"The store cannot be used: {error}.", MONEY
        ) from None


def _service_time(directory: Path) -> datetime:
    """Of the service that runs there, whose clock may be ahead; else of this machine."""
    from swapdesk.clock import SystemClock
    from swapdesk.sandbox.run_file import find_running

    if (ready := find_running(directory)) is not None:
        import httpx2

        from swapdesk.certificates import certificates
        from swapdesk.wire.encoding.timestamps import parse_rfc3339

        url = f"{ready.url}/health"
        try:
            answer = httpx2.get(url, verify=certificates(httpx2.URL(url)), trust_env=False)
            return parse_rfc3339(answer.raise_for_status().json()["time"])
        except (httpx2.HTTPError, ValueError, KeyError) as error:
            raise CommandError(
                Exit.UNREACHABLE,
                "NO_ANSWER",
                f"The service runs and does not tell its time: {error}.",
                MONEY,
                "you: give the command again",
            ) from None
    return SystemClock().now()


def _directory(call: CliContext, data: Path | None) -> Path:
    return (data or call.settings(lenient=True).home.sandbox).absolute()
