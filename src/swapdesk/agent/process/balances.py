"""What an account has on a chain, read in one batch."""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.agent.process.chain_answers import answers_of, units_in, words_in
from swapdesk.agent.process.solana_asking import asking, token_accounts
from swapdesk.chain.calldata import erc20
from swapdesk.chain.rpc.evm import Call, EvmClient, balance_of, calling
from swapdesk.chain.rpc.evm_wire import Request
from swapdesk.chain.rpc.solana_answers import read_holdings
from swapdesk.wallet.holdings import Balance, Balances
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.promise import Asset


async def evm_balances(
    client: EvmClient, link: ChainLink, genesis: str | None, account: str, assets: Sequence[Asset]
) -> Balances:
    """Raises Refusal when the node does not answer or is of another chain."""
    coin = balance_of(account)
    asked = [coin if one.contract is None else _holding(one, account) for one in assets]
    answers = await answers_of(client, link, genesis, asked)
    return Balances(
        link.name,
        account,
        tuple(
            Balance(one, _held(one, answer)) for one, answer in zip(assets, answers, strict=True)
        ),
    )


async def solana_balances(
    link: ChainLink, genesis: str | None, account: str, assets: Sequence[Asset]
) -> Balances:
    """Of the coin and of all token accounts of the owner together. Raises Refusal."""
    held: dict[str, int] = {}
    async with asking(link, genesis) as client:
        lamports = await client.balance(account)
        for told in await token_accounts(client, account):
            for one in read_holdings(told):
                held[one.mint] = held.get(one.mint, 0) + one.units
    return Balances(
        link.name,
        account,
        tuple(
            Balance(one, lamports if one.contract is None else held.get(one.contract, 0))
            for one in assets
        ),
    )


def _held(asset: Asset, answer: object) -> int | None:
    if asset.contract is None:
        return units_in(answer)
    words = words_in(answer)
    return None if words is None else words[0]


def _holding(asset: Asset, account: str) -> Request:
    return calling(Call(asset.contract or "", erc20.BALANCE_OF.call(account)))
