"""Finds the wallet's account that pays a swap on chains, and reads its balances.

The wallet agent is started when the first on-chain route is reviewed. In the sandbox the wallet
creates its accounts, and the faucet (which gives away test money) fills them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.client.errors import ClientError
from swapdesk.flows.dex.dex_plan import AT_ONCE, SwapPlan, ask_plan
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.wallet.chain_links import KINDS, no_node
from swapdesk.flows.wallet.local_wallet import GIFT_LOOKS, GIFT_SECONDS
from swapdesk.flows.wallet.wallet_words import sentence
from swapdesk.wallet.accounts import Account, Accounts, Kind
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.protocol import Refused
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk
    from swapdesk.wallet.accounts import ChainLink


class NoSwapAccount(Exception):
    """Raised if the wallet has no account or node to pay with. The message is for the trader."""


class SwapAccount(Struct, frozen=True):
    """The account that pays a swap. ``balance``, ``coin`` and ``plan`` (the swap's steps) are None
    as long as they are not read."""

    account: Account
    payee: Account | None
    """The wallet's first account for the payout's chain; None if there is none."""
    own: tuple[Account, ...]
    """All accounts of the wallet."""
    read_only: bool
    balance: Decimal | None = None
    """The balance of the token sold, in whole tokens."""
    coin: Decimal | None = None
    """The balance of the native coin, for gas, in whole coins."""
    unread: str | None = None
    """The reason why the balances cannot be read."""
    filling: bool = False
    """True while the faucet's money is under way."""
    plan: SwapPlan | None = None

    @property
    def name(self) -> str:
        return self.account.name or self.account.address

    def lack(self, amount: Decimal, symbol: str) -> str | None:
        """Returns why the account cannot pay ``amount`` whole tokens, without a full stop; None if
        no reason is known."""
        if self.read_only:
            return "another desk has the wallet; sign there, or close it"
        if self.unread is not None:
            return f"the balance of wallet {self.name} cannot be read: {self.unread}"
        if self.balance is None:
            return None
        if self.filling and self.balance < amount:
            return f"the faucet sends {symbol} to wallet {self.name}"
        if self.balance < amount:
            return f"wallet {self.name} has {exact_amount(self.balance)} {symbol}"
        return None


async def find_account(
    desk: Desk, sold: Token, bought: Token, *, payer: str = "", fill: bool = True
) -> AsyncIterator[SwapAccount]:
    """Yields the account that pays a swap, with more and more fields known. An empty ``payer``
    means the first account. With ``fill`` False, no account is created or filled. Raises
    NoSwapAccount and WalletError."""
    wallet = desk.wallet
    link = wallet.link(sold.chain_data.short_name)
    if link is None:
        raise NoSwapAccount(sentence(no_node(desk.settings, sold.chain_data)))
    made = await wallet.prepare_sandbox() if fill else ()
    accounts = await wallet.accounts()
    payer_account = _chosen(accounts, sold, bought, payer)
    yield payer_account
    payer_account = await _balances(desk, payer_account, link, sold)
    awaited = payer_account.coin == 0 or wallet.awaits(
        payer_account.account.address, link.name, sold.address
    )
    if fill and desk.connected and desk.link.control is not None and (made or awaited):
        payer_account = replace(payer_account, filling=True)
        yield payer_account
        async for account in _filled(desk, payer_account, link, sold):
            yield account
    else:
        yield payer_account


async def read_again(desk: Desk, found: SwapAccount, sold: Token) -> SwapAccount:
    """Returns ``found`` with its balances read anew; unchanged if its chain has no node. Raises
    WalletError."""
    link = desk.wallet.link(sold.chain_data.short_name)
    return found if link is None else await _balances(desk, found, link, sold)


async def with_plan(desk: Desk, found: SwapAccount, quote_id: str) -> SwapAccount:
    """Returns ``found`` with the steps that the service states for the swap; unchanged if the
    service does not answer."""
    if found.account.kind is Kind.SOLANA:
        return replace(found, plan=AT_ONCE)
    try:
        return replace(found, plan=await ask_plan(desk.link.api, quote_id, found.account.address))
    except ClientError:
        return found


def _chosen(accounts: Accounts, sold: Token, bought: Token, payer: str) -> SwapAccount:
    account = accounts.first(KINDS.get(sold.chain_data.kind), payer)
    payee = accounts.first(KINDS.get(bought.chain_data.kind))
    if account is None:
        chain = sold.chain_data.name
        if accounts.read_only:
            raise NoSwapAccount(
                f"This wallet has no account on {chain} yet. Another desk has the wallet, and may"
                " be making one: try again in a moment."
            )
        called = f" {payer}" if payer else ""
        raise NoSwapAccount(
            f"This wallet has no account{called} on {chain}. swapdesk wallet new makes one while no"
            " desk is open."
        )
    return SwapAccount(account, payee, accounts.accounts, accounts.read_only)


async def _balances(desk: Desk, found: SwapAccount, link: ChainLink, sold: Token) -> SwapAccount:
    coin = Asset("", 9 if link.kind is Kind.SOLANA else 18, None)
    token = Asset(sold.symbol, sold.decimals, sold.address)
    assets = [coin] if sold.address is None else [coin, token]
    client = await desk.wallet.client()
    try:
        answer = await client.balances(found.account.address, link.name, assets)
    except Refused as refused:
        return replace(found, balance=None, coin=None, unread=refused.words)
    held = {
        balance.asset.contract: None
        if balance.units is None
        else short(from_base_units(balance.units, balance.asset.decimals))
        for balance in answer.balances
    }
    return replace(found, balance=held.get(sold.address), coin=held.get(None), unread=None)


async def _filled(
    desk: Desk, found: SwapAccount, link: ChainLink, sold: Token
) -> AsyncIterator[SwapAccount]:
    from swapdesk.flows.wallet.wallet_reading import GIVEN, fill_wallet

    given = sold.address is None or sold.symbol in GIVEN
    control = desk.link.control
    if control is not None:
        await fill_wallet(desk.wallet, control)
    for _ in range(GIFT_LOOKS):
        found = await _balances(desk, found, link, sold)
        if found.coin and (found.balance or not given):
            break
        yield found
        await desk.clock.sleep(GIFT_SECONDS)
    yield replace(found, filling=False)
