"""What an account has on a chain, read in one batch."""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.agent.process.chain_answers import another_chain, answers_of, units_in, words_in
from swapdesk.agent.process.refusal import Refusal
from swapdesk.chain.calldata import erc20
from swapdesk.chain.rpc.evm import Call, EvmClient, Request, balance_of, calling
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.chain.rpc.solana_answers import read_holdings, require_value
from swapdesk.chain.rpc.solana_errors import SolanaError
from swapdesk.wallet.holdings import Balance, Balances
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.protocol import RefusalCode as Code

_TOKEN_PROGRAMS = (
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
)


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
    options = {"encoding": "jsonParsed", "commitment": "confirmed"}
    held: dict[str, int] = {}
    try:
        async with SolanaClient(link.rpc) as client:
            if genesis and await client.genesis_hash() != genesis:
                raise another_chain(link)
            lamports = await client.balance(account)
            for program in _TOKEN_PROGRAMS:
                told = await client.call(
                    "getTokenAccountsByOwner", account, {"programId": program}, options
                )
                for one in read_holdings(require_value(told)):
                    held[one.mint] = held.get(one.mint, 0) + one.units
    except SolanaError as error:
        raise Refusal(Code.CHAIN_UNREACHABLE, f"{link.name}: {error}") from None
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
