"""Balances and allowances of an account, read in one batch a chain and believed word by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swapdesk.agent.process.refusal import Refusal
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata import erc20
from swapdesk.chain.deployments import PERMIT2, VenueContract
from swapdesk.chain.rpc.evm import Call, EvmClient, Request, balance_of, calling
from swapdesk.chain.rpc.evm_answers import digest, fields, items, octets, quantity, read_log
from swapdesk.chain.rpc.evm_errors import EvmError, EvmRefused
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.chain.rpc.solana_answers import read_holdings, require_value
from swapdesk.chain.rpc.solana_errors import SolanaError
from swapdesk.wallet.holdings import Allowance, Allowances, Balance, Balances, CallData
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.protocol import RefusalCode as Code

APPROVAL = "0x" + keccak(b"Approval(address,address,uint256)").hex()
LOG_ADDRESSES = 100
"""Contracts of one question for events."""
MOST_PAIRS = 1_000
"""Approvals that are looked at; somebody may fill the events with more."""
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
    answers = await _batch(client, link, genesis, asked)
    return Balances(
        link.name,
        account,
        tuple(
            Balance(one, _units(answer) if one.contract is None else _word(answer))
            for one, answer in zip(assets, answers, strict=True)
        ),
    )


async def evm_allowances(
    client: EvmClient,
    link: ChainLink,
    genesis: str | None,
    account: str,
    tokens: Sequence[Asset],
    venues: Sequence[VenueContract],
    spenders: Sequence[str],
) -> Allowances:
    """Of the known contracts and of whoever was ever approved. Raises Refusal."""
    by_contract = {checksummed(one.contract): one for one in tokens if one.contract is not None}
    names = {one.address: one.provider for one in venues}
    known = dict.fromkeys((*names, PERMIT2, *map(checksummed, spenders)))
    approved, complete = await _approved(client, link, genesis, account, list(by_contract))
    pairs = list(dict.fromkeys([(token, one) for token in by_contract for one in known] + approved))
    if len(pairs) > MOST_PAIRS:
        pairs, complete = pairs[:MOST_PAIRS], False
    answers = await _batch(client, link, genesis, [_allowed(*one, account) for one in pairs])
    found = []
    for (token, spender), answer in zip(pairs, answers, strict=True):
        units = _word(answer)
        if answer == "0x":
            # No contract stands there, or one without allowances: nobody can take anything.
            continue
        if units is None:
            complete = False
        elif units:
            endless = units >= erc20.UNLIMITED
            found.append(Allowance(by_contract[token], spender, units, endless, names.get(spender)))
    return Allowances(link.name, account, tuple(found), complete)


async def solana_balances(
    link: ChainLink, genesis: str | None, account: str, assets: Sequence[Asset]
) -> Balances:
    """Of the coin and of all token accounts of the owner together. Raises Refusal."""
    options = {"encoding": "jsonParsed", "commitment": "confirmed"}
    held: dict[str, int] = {}
    try:
        async with SolanaClient(link.rpc) as client:
            if genesis and await client.genesis_hash() != genesis:
                raise _another(link)
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


def revocation(token: str, spender: str) -> CallData:
    """The call that ends an allowance. Raises Refusal for what is no address."""
    try:
        data = erc20.APPROVE.call(spender, 0)
        erc20.BALANCE_OF.call(token)
        return CallData(checksummed(token), "0x" + data.hex())
    except ValueError:
        raise Refusal(Code.BAD_REQUEST, "a token and a spender are addresses") from None


async def _approved(
    client: EvmClient, link: ChainLink, genesis: str | None, account: str, tokens: list[str]
) -> tuple[list[tuple[str, str]], bool]:
    """(token, spender) of every approval of the account that the chain tells, and whether it
    told all."""
    owner = "0x" + "00" * 12 + account[2:].lower()
    asked = [
        Request(
            "eth_getLogs",
            (
                {
                    "address": tokens[at : at + LOG_ADDRESSES],
                    "topics": [APPROVAL, owner],
                    "fromBlock": "0x0",
                    "toBlock": "latest",
                },
            ),
        )
        for at in range(0, len(tokens), LOG_ADDRESSES)
    ]
    found: dict[tuple[str, str], None] = {}
    complete = True
    mine = set(tokens)
    for answer in await _batch(client, link, genesis, asked):
        try:
            if isinstance(answer, EvmRefused):
                raise answer
            logs = [read_log(one) for one in items(answer)]
        except EvmError:
            complete = False
            continue
        for log in logs:
            if len(log.topics) == 3 and log.topics[0] == APPROVAL and log.topics[1] == owner:
                token, spender = checksummed(log.address), checksummed("0x" + log.topics[2][-40:])
                if token in mine:
                    found[token, spender] = None
    return list(found), complete


async def _batch(
    client: EvmClient, link: ChainLink, genesis: str | None, asked: list[Request]
) -> list[Any]:
    """Answers of a node that first said which chain it is on."""
    identity = [Request("eth_chainId"), Request("eth_getBlockByNumber", ("0x0", False))]
    try:
        chain_id, block, *answers = await client.batch([*identity, *asked])
        if isinstance(chain_id, EvmRefused) or quantity(chain_id) != link.chain_id:
            raise _another(link)
        if genesis:
            told = None if isinstance(block, EvmRefused) else digest(fields(block).get("hash"))
            if told != genesis:
                raise _another(link)
    except EvmError as error:
        raise Refusal(Code.CHAIN_UNREACHABLE, f"{link.name}: {error}") from None
    return answers


def _another(link: ChainLink) -> Refusal:
    return Refusal(Code.OTHER_CHAIN, f"the node of {link.name} is on another chain")


def _holding(asset: Asset, account: str) -> Request:
    return calling(Call(asset.contract or "", erc20.BALANCE_OF.call(account)))


def _allowed(token: str, spender: str, account: str) -> Request:
    return calling(Call(token, erc20.ALLOWANCE.call(account, spender)))


def _units(answer: Any) -> int | None:
    try:
        return None if isinstance(answer, EvmRefused) else quantity(answer)
    except EvmError:
        return None


def _word(answer: Any) -> int | None:
    """A number that a contract returned; None unless it is exactly one word."""
    try:
        data = b"" if isinstance(answer, EvmRefused) else octets(answer)
    except EvmError:
        return None
    return int.from_bytes(data, "big") if len(data) == 32 else None
