"""Finds the user's own accounts that can be offered as recipients on a chain, and their balances
there."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct

from swapdesk.flows.wallet.chain_links import KINDS
from swapdesk.flows.wallet.local_wallet import GIFT_LOOKS, GIFT_SECONDS
from swapdesk.wallet.accounts import Account, ChainLink
from swapdesk.wallet.answers import Balances
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.protocol import WalletError
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk


async def own_accounts(desk: Desk, *tokens: Token) -> tuple[Account, ...]:
    """Returns the wallet's accounts that can receive one of ``tokens``. Tokens on chains without a
    node are ignored. Starts no agent if there are no keys. Raises WalletError."""
    chains = [token.chain_data for token in tokens]
    kinds = {
        KINDS[chain.kind]
        for chain in chains
        if chain.kind in KINDS and desk.wallet.link(chain.short_name) is not None
    }
    if not kinds or not has_keys(desk):
        return ()
    accounts = await desk.wallet.accounts()
    return tuple(account for account in accounts.accounts if account.kind in kinds)


class OwnBalance(Struct, frozen=True):
    """The largest balance that a single account has, in whole tokens. ``spendable`` is this balance
    without the payment's network fee, if that is paid in the same token."""

    amount: Decimal
    spendable: Decimal


NO_WALLET = "No wallet is open here that has {symbol}: write the amount in digits."
NO_NODE = "This desk has no node of {chain} and cannot see what you have: write the amount."
NOT_READ = "What your wallet has of {symbol} could not be read: write the amount in digits."


async def own_balance(desk: Desk, token: Token) -> OwnBalance | str:
    """Returns the wallet's balance of ``token``, even if the wallet is locked. If the balance is
    unknown, returns a sentence that says why. First waits until the faucet has finished."""
    await desk.wallet.filling.over()
    chain = token.chain_data
    link = desk.wallet.link(chain.short_name)
    if link is None:
        reason = NO_NODE if chain.kind in KINDS and has_keys(desk) else NO_WALLET
        return reason.format(symbol=token.symbol, chain=chain.name)
    asset = Asset(token.symbol, token.decimals, token.address)
    balances: list[OwnBalance] = []
    try:
        accounts = await own_accounts(desk, token)
        for account in accounts:
            answer = await _balances(desk, account, link, asset)
            for balance in answer.balances:
                if balance.units is not None and balance.asset.contract == asset.contract:
                    left = max(0, balance.units - (answer.fee or 0))
                    amounts = (
                        from_base_units(at, balance.asset.decimals) for at in (balance.units, left)
                    )
                    balances.append(OwnBalance(*map(short, amounts)))
    except (WalletError, OSError):
        return NOT_READ.format(symbol=token.symbol)
    if not accounts:
        return NO_WALLET.format(symbol=token.symbol)
    most = max(balances, key=lambda one: one.amount, default=None)
    return NOT_READ.format(symbol=token.symbol) if most is None else most


async def _balances(desk: Desk, account: Account, link: ChainLink, asset: Asset) -> Balances:
    wallet, place = desk.wallet, (account.address, link.name, asset.contract)
    for _ in range(GIFT_LOOKS):
        client = await wallet.client()
        answer = await client.balances(
            account.address, link.name, [asset], fee=asset.contract is None
        )
        if any(balance.units for balance in answer.balances) or not wallet.awaits(*place):
            break
        await desk.clock.sleep(GIFT_SECONDS)
    wallet.came(*place)
    return answer


async def account_address(desk: Desk, token: Token, named: str) -> str | None:
    """Returns the address of the account with the name or address ``named``, ignoring case; None if
    it cannot receive ``token`` or the wallet is unreachable."""
    wanted = named.lower()
    try:
        accounts = await own_accounts(desk, token)
    except WalletError:
        return None
    return next(
        (
            account.address
            for account in accounts
            if wanted in (account.name.lower(), account.address.lower())
        ),
        None,
    )


def has_keys(desk: Desk) -> bool:
    """True if this profile's key directory is not empty. Starts no agent."""
    try:
        return any(desk.settings.places.keys.iterdir())
    except OSError:
        return False
