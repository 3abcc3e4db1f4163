"""One reading of the wallet, told while the chains answer: what its accounts have and who may take
of it. In the sandbox the faucet first fills a new wallet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.client.errors import ClientError
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.wallet.local_wallet import (
    ChainAllowances,
    ChainHoldings,
    Gifts,
    LocalWallet,
    is_first,
    outcome,
)
from swapdesk.wallet.accounts import Account, Accounts, Kind
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.spending import PolicyStatus

COINS = {Kind.EVM: Decimal(10), Kind.SOLANA: Decimal(100)}
DOLLARS = Decimal(10_000)
LOOKS = 3
GIVEN = ("USDC", "USDT")
"""Tokens beside the coin, where the chain has them."""


async def fill_wallet(wallet: LocalWallet, control: SandboxControl) -> Gifts:
    """Make the first accounts and give to them on every chain where they have no coin. Asking
    again gives nothing twice: what is on its way is waited for, and seen on the chain. It goes on
    when who asked is gone: a page that is left leaves no wallet half filled. Raises WalletError.
    """
    if wallet.live:
        return Gifts()
    return await outcome(begin_filling(wallet, control))


def begin_filling(wallet: LocalWallet, control: SandboxControl) -> asyncio.Task[Gifts]:
    return wallet.filling.begin(partial(_fill, wallet, control))


async def _fill(wallet: LocalWallet, control: SandboxControl) -> Gifts:
    await wallet.prepare_sandbox()
    held = await _first_holdings(wallet)
    unread = [f"{one.chain_name} could not be read: {one.problem}" for one in held if one.problem]
    outcomes = await asyncio.gather(
        *(
            _give(wallet, control, one)
            for one in held
            if one.problem is None and not any(holding.amount for holding in one.holdings)
        )
    )
    return Gifts(
        sum(one.given for one in outcomes),
        (*unread, *(problem for one in outcomes for problem in one.problems)),
    )


async def _first_holdings(wallet: LocalWallet) -> list[ChainHoldings]:
    """Of the first accounts; chains that have only just started are read again."""
    for _ in range(LOOKS):
        held = [one for one in await wallet.holdings() if is_first(one.account)]
        if not any(one.problem for one in held):
            break
    return held


async def _give(wallet: LocalWallet, control: SandboxControl, held: ChainHoldings) -> Gifts:
    """The coin first: without it no token can be moved."""
    account, given = held.account, 0
    problems: list[str] = []
    tokens = await wallet.tokens.called(held.chain, GIVEN)
    asked = [(COINS[account.kind], None), *((DOLLARS, one.contract) for one in tokens)]
    for amount, contract in asked:
        try:
            await control.give(held.chain, account.address, amount, contract)
        except ClientError as error:
            problems.append(f"The faucet gave nothing on {held.chain_name}: {error}")
        else:
            given += 1
            wallet.given(held, contract)
    return Gifts(given, tuple(problems))


class WalletSnapshot(Struct, frozen=True):
    """What was read last; ``read_only``: another desk has the wallet. ``reading``: balances are
    still to come. ``holdings`` are in the order of the wallet, also while some have not answered.
    ``smart``: what smart accounts of these accounts hold. ``policy``: what may be signed at most,
    None until it was read."""

    accounts: tuple[Account, ...] = ()
    holdings: tuple[ChainHoldings, ...] = ()
    allowances: tuple[ChainAllowances, ...] = ()
    read_only: bool = False
    problems: tuple[str, ...] = ()
    reading: bool = False
    smart: tuple[ChainHoldings, ...] = ()
    policy: PolicyStatus | None = None

    def anew(self, accounts: Accounts) -> WalletSnapshot:
        """What is known before any chain was asked again. What may be taken stands as it was read
        until it is read anew."""
        return WalletSnapshot(
            accounts.accounts,
            allowances=self.allowances,
            read_only=accounts.read_only,
            problems=tuple(f"{one.file}: {one.reason}." for one in accounts.unusable),
            reading=True,
        )


async def read_wallet(
    wallet: LocalWallet,
    known: WalletSnapshot | None,
    control: SandboxControl | None,
    owned: Callable[[], Mapping[tuple[str, str], Sequence[Asset]]],
    *,
    heard: Callable[[WalletSnapshot], object],
    made: Callable[[int], object],
) -> WalletSnapshot:
    """All of it, after ``known``; ``heard`` is told of parts. ``control`` is the sandbox's, None
    live: new accounts are made there and filled by its faucet, and ``made`` is told how many.
    ``owned`` names smart accounts as :meth:`LocalWallet.smart_holdings` asks for them, and may
    raise JournalUnavailable. Raises WalletError and OSError."""
    sandbox = control if not wallet.live else None
    filling = begin_filling(wallet, sandbox) if sandbox is not None else None
    new = await wallet.prepare_sandbox()
    told = (known or WalletSnapshot()).anew(await wallet.accounts())
    told = replace(told, policy=await (await wallet.client()).policy())
    if known is None:
        heard(told)
    if new:
        made(len(new))
    if filling is not None:
        gifts = await outcome(filling)
        told = replace(told, problems=told.problems + gifts.problems)
    before = told

    def answered(holdings: tuple[ChainHoldings, ...]) -> None:
        """At the first reading each chain is told as it answers; later what was read before
        stands until all of them did."""
        if known is None or not known.holdings:
            heard(replace(before, holdings=holdings))

    told = replace(told, holdings=await wallet.holdings(heard=answered))
    try:
        smart = await wallet.smart_holdings(owned())
    except JournalUnavailable:
        # It knows of none, and says so by itself.
        smart = ()
    told = replace(told, smart=smart, reading=False)
    heard(told)
    return replace(told, allowances=await wallet.allowances())
