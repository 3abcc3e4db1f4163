"""Lists under the help of a command: made from the tables they stand in, when help is asked for."""

from __future__ import annotations

from collections.abc import Callable

import click

EXCHANGES = (
    "Exchanges of the sandbox",
    'CODE is one of these; a live service lists its own: "swapdesk api GET /swaps".',
)
ON_CHAIN = ("On-chain venues of the sandbox", "CODE of a route of type dex.")
OPERATIONS = ("Operations", "METHOD and PATH, and the name that faults of the sandbox know.")

Rows = list[tuple[str, str]]
Lists = tuple[tuple[str, str, Callable[[], Rows]], ...]


def exchange_rows() -> Rows:
    """Code and name of every exchange of the sandbox, and that some are closed to new orders."""
    from swapdesk.sandbox.tables import VENUE_ROWS

    return [
        (row.code, row.name if row.enabled else f"{row.name}, not enabled") for row in VENUE_ROWS
    ]


def on_chain_rows() -> Rows:
    """Code and name of every on-chain venue of the sandbox."""
    from swapdesk.sandbox.tables import ON_CHAIN_NAMES

    return list(ON_CHAIN_NAMES.items())


def operation_rows() -> Rows:
    """Call, name and summary of every operation of the API."""
    from swapdesk.wire.operations import OPERATIONS as TABLE

    return [(f"{one.method} {one.path}", f"{one.name}: {one.summary}.") for one in TABLE]


class WithLists(click.Command):
    """A command with ``lists`` under its help, each with a title, a sentence and rows."""

    lists: Lists

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, said, rows in self.lists:
            with formatter.section(title):
                formatter.write_text(said)
                formatter.write_dl(rows())


class WithExchanges(WithLists):
    """A command with a CODE of an exchange among its options."""

    lists: Lists = ((*EXCHANGES, exchange_rows),)


class WithVenues(WithExchanges):
    """A command whose CODE may also be an on-chain venue."""

    lists = (*WithExchanges.lists, (*ON_CHAIN, on_chain_rows))


class WithOperations(WithLists):
    """A command that makes any call of the API."""

    lists = ((*OPERATIONS, operation_rows),)
