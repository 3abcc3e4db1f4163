"""Accounts of this wallet that can be paid on a chain, for whoever names a recipient."""

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
    """Those on the chains of ``tokens`` that the wallet has a node of: elsewhere it could not see
    what arrived. A wallet that made no key is not started for it. Raises WalletError."""
    chains = [one.chain_data for one in tokens]
    kinds = {
        KINDS[one.kind]
        for one in chains
        if one.kind in KINDS and desk.wallet.link(one.short_name) is not None
    }
    if not kinds or not has_keys(desk):
        return ()
    accounts = await desk.wallet.accounts()
    return tuple(one for one in accounts.accounts if one.kind in kinds)


class OwnBalance(Struct, frozen=True):
    """The most that one account of this wallet has of a token: of one a deposit is paid.
    ``spendable`` is that without the fee of the payment, where it is paid in the same coin."""

    amount: Decimal
    spendable: Decimal


NO_WALLET = "No wallet is open here that has {symbol}: write the amount in digits."
NO_NODE = "This desk has no node of {chain} and cannot see what you have: write the amount."
NOT_READ = "What your wallet has of {symbol} could not be read: write the amount in digits."


async def own_balance(desk: Desk, token: Token) -> OwnBalance | str:
    """What the wallet has of ``token``, or a sentence where nobody can say: no key was made, no
    node of the chain is there, or it did not answer. Only addresses are asked about, so the
    wallet may be locked. What the faucet of the sandbox sends is waited for, where it is on its
    way: nobody asks again when it comes.
    """
    await desk.wallet.filling.over()
    chain = token.chain_data
    link = desk.wallet.link(chain.short_name)
    if link is None:
        said = NO_NODE if chain.kind in KINDS and has_keys(desk) else NO_WALLET
        return said.format(symbol=token.symbol, chain=chain.name)
    asset = Asset(token.symbol, token.decimals, token.address)
    found: list[OwnBalance] = []
    try:
        accounts = await own_accounts(desk, token)
        for account in accounts:
            told = await _balances(desk, account, link, asset)
            for one in told.balances:
                if one.units is not None and one.asset.contract == asset.contract:
                    left = max(0, one.units - (told.fee or 0))
                    amounts = (from_base_units(at, one.asset.decimals) for at in (one.units, left))
                    found.append(OwnBalance(*map(short, amounts)))
    except (WalletError, OSError):
        return NOT_READ.format(symbol=token.symbol)
    if not accounts:
        return NO_WALLET.format(symbol=token.symbol)
    most = max(found, key=lambda one: one.amount, default=None)
    return NOT_READ.format(symbol=token.symbol) if most is None else most


async def _balances(desk: Desk, account: Account, link: ChainLink, asset: Asset) -> Balances:
    wallet, place = desk.wallet, (account.address, link.name, asset.contract)
    for _ in range(GIFT_LOOKS):
        client = await wallet.client()
        told = await client.balances(
            account.address, link.name, [asset], fee=asset.contract is None
        )
        if any(one.units for one in told.balances) or not wallet.awaits(*place):
            break
        await desk.clock.sleep(GIFT_SECONDS)
    wallet.came(*place)
    return told


async def account_address(desk: Desk, token: Token, named: str) -> str | None:
    """The address of an account by its name or address, on the chain of ``token``; None for none,
    and where the wallet cannot be asked."""
    wanted = named.lower()
    try:
        accounts = await own_accounts(desk, token)
    except WalletError:
        return None
    return next(
        (one.address for one in accounts if wanted in (one.name.lower(), one.address.lower())), None
    )


def has_keys(desk: Desk) -> bool:
    """Whether this profile's wallet has made or taken in a key, by its directory alone."""
    try:
        return any(desk.settings.places.keys.iterdir())
    except OSError:
        return False
