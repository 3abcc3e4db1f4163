"""What the wallet has for a plan: on each chain the account that pays, its tokens, its coin.

Asked of the wallet's process once a plan is known; nothing of it
keeps a row from being created, because what is missing can still be sent to the account.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from swapdesk.flows.batch.plan import BatchPlan, Total
from swapdesk.flows.catalog.coin_price import native_coin
from swapdesk.flows.dex.swap_account import NoSwapAccount, SwapAccount, find_account
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.wallet.errors import WalletError
from swapdesk.wire.encoding.numbers import MONEY

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk


class Means(Struct, frozen=True):
    """The paying account of one chain, by the chain's short name.

    ``held`` are amounts in whole tokens by token id, None where one could not be read; a token
    that is not in it is still to be read. ``coin`` is what gas is paid from. ``filling``: the
    sandbox's faucet sends money there. ``problem`` is a sentence why nothing can be paid there.
    """

    chain: str
    wallet: str = ""
    address: str = ""
    held: Mapping[str, Decimal | None] = field(default_factory=dict)
    coin: Decimal | None = None
    coin_symbol: str = ""
    filling: bool = False
    problem: str = ""

    def missing(self, total: Total) -> Decimal | None:
        """How much of a total is not there, in whole tokens; None for nothing, or not known."""
        has = self.held.get(total.token.id)
        if has is None or self.filling or has >= total.amount:
            return None
        return MONEY.subtract(total.amount, has)


async def means_of(desk: Desk, plan: BatchPlan) -> AsyncIterator[tuple[Means, ...]]:
    """All chains of a plan in its order, told again with everything that becomes known.

    Raises nothing of the wallet: a chain that cannot be read says why.
    """
    found: dict[str, Means] = {}
    for chain, totals in _by_chain(plan.totals).items():
        coin = native_coin(desk.catalog, chain)
        means = Means(chain, coin_symbol=coin.symbol if coin is not None else "")
        if desk.wallet.link(chain) is None:
            # Asking for an account would start the wallet's process for nothing.
            name = totals[0].token.chain_data.name
            found[chain] = replace(means, problem=f"No node of {name} is connected.")
            continue
        for total in totals:
            async for read in _read(desk, means, total):
                found[chain] = means = read
                yield tuple(found.values())
            if means.problem:
                break
    yield tuple(found.values())


async def _read(desk: Desk, means: Means, total: Total) -> AsyncIterator[Means]:
    token = total.token
    try:
        async for account in find_account(desk, token, token):
            means = _with(means, token.id, account)
            yield means
    except NoSwapAccount as error:
        yield replace(means, problem=str(error))
    except WalletError as error:
        yield replace(means, problem=failure_of_wallet(error).cause)


def _with(means: Means, token_id: str, account: SwapAccount) -> Means:
    held = means.held
    if account.balance is not None or account.unread is not None:
        held = {**held, token_id: account.balance}
    unread = f"It could not be read: {account.unread}." if account.unread is not None else ""
    return replace(
        means,
        wallet=account.name,
        address=account.account.address,
        held=held,
        coin=account.coin if account.coin is not None else means.coin,
        filling=account.filling,
        problem=unread,
    )


def _by_chain(totals: Sequence[Total]) -> dict[str, list[Total]]:
    chains: dict[str, list[Total]] = {}
    for total in totals:
        chains.setdefault(total.token.chain_data.short_name, []).append(total)
    return chains
