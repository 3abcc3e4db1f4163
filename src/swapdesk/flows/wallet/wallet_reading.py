"""Reads the balances and allowances of the wallet, and reports each chain as soon as it answers. In
the sandbox the faucet first sends money to a new wallet."""

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
"""The symbols of the tokens that the faucet sends in addition to the native coin, on chains that
have them."""


async def fill_wallet(wallet: LocalWallet, control: SandboxControl) -> Gifts:
    """Creates a sandbox wallet's first accounts and has the faucet send money to those that have
    none. The work goes on if the caller is cancelled. Raises WalletError."""
    if wallet.live:
        return Gifts()
    return await outcome(begin_filling(wallet, control))


def begin_filling(wallet: LocalWallet, control: SandboxControl) -> asyncio.Task[Gifts]:
    return wallet.filling.begin(partial(_fill, wallet, control))


async def _fill(wallet: LocalWallet, control: SandboxControl) -> Gifts:
    await wallet.prepare_sandbox()
    held = await _first_holdings(wallet)
    unread = [
        f"{holdings.chain_name} could not be read: {holdings.problem}"
        for holdings in held
        if holdings.problem
    ]
    outcomes = await asyncio.gather(
        *(
            _give(wallet, control, holdings)
            for holdings in held
            if holdings.problem is None and not any(holding.amount for holding in holdings.holdings)
        )
    )
    return Gifts(
        sum(holdings.given for holdings in outcomes),
        (*unread, *(problem for holdings in outcomes for problem in holdings.problems)),
    )


async def _first_holdings(wallet: LocalWallet) -> list[ChainHoldings]:
    for _ in range(LOOKS):
        held = [holding for holding in await wallet.holdings() if is_first(holding.account)]
        if not any(holdings.problem for holdings in held):
            break
    return held


async def _give(wallet: LocalWallet, control: SandboxControl, held: ChainHoldings) -> Gifts:
    account, given = held.account, 0
    problems: list[str] = []
    tokens = await wallet.tokens.called(held.chain, GIVEN)
    wanted = [(COINS[account.kind], None), *((DOLLARS, token.contract) for token in tokens)]
    for amount, contract in wanted:
        try:
            await control.give(held.chain, account.address, amount, contract)
        except ClientError as error:
            problems.append(f"The faucet gave nothing on {held.chain_name}: {error}")
        else:
            given += 1
            wallet.given(held, contract)
    return Gifts(given, tuple(problems))


class WalletSnapshot(Struct, frozen=True):
    """The accounts, balances, policy and allowances of the wallet as last read."""

    accounts: tuple[Account, ...] = ()
    holdings: tuple[ChainHoldings, ...] = ()
    """In the order of the wallet's accounts, even while some chains have not answered."""
    allowances: tuple[ChainAllowances, ...] = ()
    read_only: bool = False
    """True if another desk has the wallet."""
    problems: tuple[str, ...] = ()
    reading: bool = False
    """True while balances are still missing."""
    smart: tuple[ChainHoldings, ...] = ()
    """The balances of smart accounts."""
    policy: PolicyStatus | None = None
    """The status of the spending policy; None until it is read."""

    def anew(self, accounts: Accounts) -> WalletSnapshot:
        """Returns the snapshot with which a new reading begins: the given accounts, no balances,
        and the allowances of this snapshot."""
        return WalletSnapshot(
            accounts.accounts,
            allowances=self.allowances,
            read_only=accounts.read_only,
            problems=tuple(f"{key.file}: {key.reason}." for key in accounts.unusable),
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
    """Reads the wallet. ``known`` is the last snapshot, or None. ``owned`` returns the smart
    accounts to read. ``heard`` gets partial results, ``made`` the number of accounts created.
    Without ``control`` there is no faucet. Raises WalletError and OSError."""
    sandbox = control if not wallet.live else None
    filling = begin_filling(wallet, sandbox) if sandbox is not None else None
    new = await wallet.prepare_sandbox()
    snapshot = (known or WalletSnapshot()).anew(await wallet.accounts())
    snapshot = replace(snapshot, policy=await (await wallet.client()).policy())
    if known is None:
        heard(snapshot)
    if new:
        made(len(new))
    if filling is not None:
        gifts = await outcome(filling)
        snapshot = replace(snapshot, problems=snapshot.problems + gifts.problems)
    before = snapshot

    def answered(holdings: tuple[ChainHoldings, ...]) -> None:
        if known is None or not known.holdings:
            heard(replace(before, holdings=holdings))

    snapshot = replace(snapshot, holdings=await wallet.holdings(heard=answered))
    try:
        smart = await wallet.smart_holdings(owned())
    except JournalUnavailable:
        # It knows of none, and says so by itself.
        smart = ()
    snapshot = replace(snapshot, smart=smart, reading=False)
    heard(snapshot)
    return replace(snapshot, allowances=await wallet.allowances())
