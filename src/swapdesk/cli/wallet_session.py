"""The wallet behind one command, alone or on the chains of a connected desk, and its pass phrase.

A secret is typed without an echo or read from a file descriptor. It is never an argument and never
in the environment: both are readable by other programs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import UNTOUCHED, CommandError, Exit, bad_input, of_unusable_file
from swapdesk.cli.secret_input import read_passphrase
from swapdesk.cli.session import CommandSession, run_session
from swapdesk.clock import SystemClock
from swapdesk.flows.notation import counted
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.wallet.accounts import Account, Accounts, Kind

T = TypeVar("T")


def run_wallet(call: CliContext, work: Callable[[CliContext, LocalWallet], Awaitable[T]]) -> T:
    """Keys alone: no service is asked and no sandbox is started."""
    settings = call.settings()

    async def whole() -> T:
        wallet = LocalWallet(settings, SystemClock())
        try:
            return await work(call, wallet)
        finally:
            await wallet.close()

    try:
        return asyncio.run(whole())
    except OSError as error:
        raise of_unusable_file(error, money=UNTOUCHED) or error from None


def run_on_chains(
    call: CliContext,
    work: Callable[[CommandSession], Awaitable[T]],
    *,
    fill: bool = False,
) -> T:
    """Keys and chains: the desk is connected, in the sandbox with a wallet that has accounts.
    The faucet gives to new ones, and with ``fill`` to those that have nothing."""

    async def whole(session: CommandSession) -> T:
        from swapdesk.client.errors import NotPaid
        from swapdesk.flows.failure_messages import unsent

        try:
            await session.load_catalog()
        except NotPaid as error:
            # The wallet has to be made able to pay first, which needs no call but a chain.
            if not session.settings.pay.value or not session.desk.wallet.links:
                raise
            if session.desk.catalog.age is None:
                said = unsent(error).cause
                call.output.talk(f"The service's list of chains could not be read. {said}")
        await make_ready(session, fill=fill)
        return await work(session)

    return run_session(call, whole)


async def make_ready(session: CommandSession, *, fill: bool = False) -> None:
    """A sandbox's wallet gets its accounts and money to try; a live one needs nodes."""
    output, wallet = session.call.output, session.desk.wallet
    if wallet.live:
        from swapdesk.flows.wallet.chain_links import live_links

        if session.desk.catalog.age is not None:
            output.talk(*live_links(session.settings, session.desk.catalog.chain)[1])
        if not wallet.links:
            raise bad_input(
                "NO_NODES",
                "No node of a chain is configured. Add one under"
                f" [profiles.{session.settings.profile.value}.rpc].",
                field="rpc",
            )
        return
    from swapdesk.flows.wallet.wallet_reading import fill_wallet

    made = await wallet.prepare_sandbox()
    for account in made:
        output.talk(f"The sandbox made the account {account.name}: {account.address}.")
    control = session.link.control
    if control is None or not (made or fill):
        return
    gifts = await fill_wallet(wallet, control)
    if gifts.given:
        output.talk(f"The faucet sends money to try, in {counted(gifts.given, 'transaction')}.")
    output.talk(*gifts.problems)


async def unlock(session: CommandSession) -> None:
    """Open the keys: in the sandbox without a question."""
    call, wallet, phrase = session.call, session.desk.wallet, None
    if wallet.live or call.passphrase_fd is not None:
        phrase = read_passphrase(call)
    for one in await wallet.unlock(phrase):
        call.output.talk(f"{one.file} stays closed: {one.reason}.")


def account_named(accounts: Accounts, named: str) -> Account:
    """By address or name. Exit 5 for none, 2 for several of one name."""
    found = [one for one in accounts.accounts if one.address.lower() == named.lower()]
    found = found or [one for one in accounts.accounts if one.name == named]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CommandError(
            Exit.NOT_FOUND,
            "NO_ACCOUNT",
            f"There is no account {named!r} in this wallet.",
        )
    several = ", ".join(one.address for one in found)
    raise bad_input("AMBIGUOUS", f"{named!r} is the name of several accounts: {several}.")


def account_on(
    accounts: Accounts, kind: Kind, chain: str, named: str | None, *, field: str
) -> Account:
    """The one that was named, else the first that can sign on ``chain`` (its name). Exit 5 for
    none, 2 for one of another kind; ``field`` is the option that names it."""
    if named is not None:
        account = account_named(accounts, named)
        if account.kind is not kind:
            message = f"{account.name or account.address} is no account of {chain}."
            raise bad_input("WRONG_CHAIN", message, field=field)
        return account
    first = next((one for one in accounts.accounts if one.kind is kind), None)
    if first is None:
        raise CommandError(
            Exit.NOT_FOUND,
            "NO_ACCOUNT",
            f"This wallet has no account of {chain}.",
            next=f"you: swapdesk wallet new --kind {kind} makes one",
        )
    return first
