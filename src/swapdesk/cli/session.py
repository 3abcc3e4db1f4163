"""Opens the desk for one command, connects it to the service, and closes it at the end of the
command."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import (
    UNTOUCHED,
    bad_input,
    of_unusable_file,
    unusable_journal,
)
from swapdesk.cli.sandbox_lifetime import SandboxLifetime
from swapdesk.flows.connection import NotConfigured, live_connection, sandbox_connection
from swapdesk.flows.creation.creates import open_creates
from swapdesk.flows.desk import Desk
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.tracking.open_business import intent_words

if TYPE_CHECKING:
    from swapdesk.flows.wallet.call_payments import NewPayee

T = TypeVar("T")


TELLING_SECONDS = 5.0
"""Seconds for which a command that only shows orders looks for those whose creation was never
answered."""

SETTLING_SECONDS = 75.0
"""Seconds for which a command that creates an order first looks for those whose creation was never
answered."""


async def load_catalog(call: CliContext) -> None:
    """Loads the token list, from the service if it is old. Prints problems of the list and of the
    address book."""
    await call.desk.catalog.load_in_steps()
    await call.desk.refresh_reference()
    tell_gap(call)
    call.output.talk(*call.desk.book.problems)


def tell_gap(call: CliContext) -> None:
    """Prints how many tokens of the service are missing from the desk's list because they cannot be
    read, if any."""
    if gap := call.desk.catalog.gap:
        call.output.talk(f"{gap}.")


async def settle(call: CliContext, patience: float = SETTLING_SECONDS) -> None:
    """Looks for orders whose creation was requested but never answered, for at most ``patience``
    seconds. Must come before anything new is created."""
    talk = call.output.talk
    if count := len(open_creates(call.desk.journal.ledger)):
        what = "An earlier request is" if count == 1 else f"{count} earlier requests are"
        whose = "its order" if count == 1 else "their orders"
        talk(f"{what} unfinished. Looking for {whose}, for {patience:g} s at most.")
    report = await call.desk.resume(patience)
    again = "look for longer, which settles it" if patience < SETTLING_SECONDS else "look again"
    for intent, created in report.found:
        name, pair = created.order.service_id, _pair(intent)
        if created.missing:
            talk(f"A create was answered with order {name}. {created.withheld} {pair}")
        else:
            talk(f"The order exists: {name}. It was not created twice. {pair}")
    talk(
        *(
            f"The service shows no order of your earlier request {_pair(intent)}. Nothing was paid."
            for intent in report.not_created
        ),
        *(
            f"{unknown.failure.cause} Intent {intent.id} stays open. Next {unknown.failure.next}."
            for intent, unknown in report.unknown
        ),
        *(
            f"{intent_words(intent)}: the service has not said within {patience:g} s whether"
            " it created the order. Nothing was paid. An open desk and the next command that"
            f" creates {again}."
            for intent in report.left
        ),
        *(
            f"{intent_words(intent)}: another desk or command that runs now looks after it."
            for intent in report.elsewhere
        ),
    )


async def reconnect(call: CliContext) -> None:
    """Connects the desk to the running sandbox, or starts one on the same data. Does nothing on a
    live profile."""
    if call.sandbox is not None:
        ready = await call.sandbox.ready()
        await call.desk.connect(sandbox_connection(ready, call.desk.settings))


def _pair(intent: Intent) -> str:
    return f"({intent.token_in.symbol} to {intent.token_out.symbol})"


def run_session(
    call: CliContext, work: Callable[[CliContext], Awaitable[T]], *, from_journal: bool = False
) -> T:
    """Runs ``work`` on a connected desk. Raises CommandError if the desk cannot be opened.
    ``from_journal`` means that ``work`` needs the journal; an unusable journal is then an error,
    too."""
    return asyncio.run(_worked(call, work, from_journal))


async def _worked(
    call: CliContext, work: Callable[[CliContext], Awaitable[T]], from_journal: bool
) -> T:
    settings = call.settings()
    try:
        live = live_connection(settings) if settings.live else None
        # First: beside a journal that must not be used no sandbox is started.
        desk = call.opened = Desk.open(settings)
    except NotConfigured as error:
        raise bad_input("NOT_CONFIGURED", f"{error}.", field="profile") from None
    except (OSError, sqlite3.Error) as error:
        raise of_unusable_file(error, money=UNTOUCHED) or error from None
    desk.background.on_defect = lambda defect: call.output.talk(str(defect))
    if settings.pay.value is not None:
        _pay_calls(call)
    try:
        if from_journal and desk.journal.problem is not None:
            raise unusable_journal(desk.journal.problem)
        if not settings.live:
            call.sandbox = SandboxLifetime(settings.home)
            ready = await call.sandbox.ready()
            if put_aside := ready.get("putAside"):
                call.output.talk(f"{put_aside}.")
            live = sandbox_connection(ready, settings)
        if desk.journal.problem is not None:
            call.output.talk(f"The journal cannot be written: {desk.journal.problem}.")
        assert live is not None  # every profile that is not live has a sandbox
        await desk.connect(live, follow=False)
        try:
            return await work(call)
        finally:
            if desk.connected and (problem := desk.link.clock_problem()) is not None:
                call.output.talk(problem)
    finally:
        await desk.close()
        if call.sandbox is not None:
            await asyncio.to_thread(call.sandbox.close)


def _pay_calls(call: CliContext) -> None:
    from swapdesk.cli.secret_input import read_passphrase

    payer = call.desk.payer

    async def unlock() -> None:
        await call.desk.wallet.unlock(read_passphrase(call))

    async def consent(asked: NewPayee) -> bool:
        if not call.interactive:
            return False
        call.output.talk(*asked.lines)
        return call.output.ask(f'Type "{asked.phrase}" to agree:') == asked.phrase

    payer.told = call.output.talk
    payer.unlock = unlock
    payer.consent = consent
