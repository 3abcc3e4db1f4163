"""The chains of a profile: one client for each chain, and checks that each node is on the right
chain.

A client is opened at the first request. The node first states which chain it is on. Each answer is
checked as it is read.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from swapdesk.agent.gate.case import words_of
from swapdesk.chain.calldata.erc20 import DECIMALS, SYMBOL, read_symbol
from swapdesk.chain.deployments import SANDBOX_CHAIN_IDS
from swapdesk.chain.node_http import NodeError
from swapdesk.chain.rpc.evm import (
    Call,
    EvmClient,
    EvmRefused,
    Request,
    calling,
    digest,
    fields,
    octets,
    quantity,
)
from swapdesk.chain.rpc.solana import SolanaClient, require_value
from swapdesk.wallet.accounts import MAX_DECIMALS, Account, ChainLink, KeyOrigin, Kind
from swapdesk.wallet.protocol import Refused

T = TypeVar("T")
AT_ONCE = 25
"""The most calls in one request to a node. Each call executes a contract, and if a busy node misses
the deadline, all answers of the request are lost."""


def told(read: Callable[[Any], T], answer: Any) -> T | None:
    """Returns a node's answer, parsed by ``read``. None if the node refused the request or ``read``
    cannot parse the answer."""
    try:
        return None if isinstance(answer, EvmRefused) else read(answer)
    except NodeError:
        return None


def block_hash(answer: Any) -> str:
    return digest(fields(answer).get("hash"))


def words_in(answer: Any, count: int = 1) -> tuple[int, ...] | None:
    """Returns the numbers in a contract's answer of 32-byte words; None unless there are exactly
    ``count`` words."""
    return words_of(told(octets, answer), count)


TOKEN_PROGRAMS = (
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
)


async def token_accounts(client: SolanaClient, owner: str) -> list[Any]:
    """Returns the node's lists of the owner's token accounts, one for each token program."""
    options = {"encoding": "jsonParsed", "commitment": "confirmed"}
    return [
        require_value(
            await client.ask("getTokenAccountsByOwner", owner, {"programId": program}, options)
        )
        for program in TOKEN_PROGRAMS
    ]


async def program_of(client: SolanaClient, address: str) -> str | None:
    """Returns the address of the program that owns an account; None if the account does not
    exist."""
    account = require_value(await client.ask("getAccountInfo", address, {"encoding": "base64"}))
    return str(account.get("owner")) if isinstance(account, dict) else None


async def token_program(client: SolanaClient, mint: str) -> str:
    """Returns the address of the token program that owns a mint. Raises Refused if the owner is not
    a known token program."""
    program = await program_of(client, mint)
    if program not in TOKEN_PROGRAMS:
        raise Refused("bad_request", "this is no token of the chain")
    return program


MAINNET_SOLANA = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
"""The genesis hash of Solana's main network."""


_MINT_BYTES = 82
_MINT_DECIMALS = 44
"""The offset of the decimals in a mint account's data; it is the same in both token programs."""


async def _mint_decimals(client: SolanaClient, mint: str) -> int | None:
    account = require_value(await client.ask("getAccountInfo", mint, {"encoding": "base64"}))
    if not isinstance(account, dict) or account.get("owner") not in TOKEN_PROGRAMS:
        return None
    try:
        data = b64decode(account["data"][0], validate=True)
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return data[_MINT_DECIMALS] if len(data) >= _MINT_BYTES else None


class Chains:
    """The chains of a profile, by short name. ``genesis`` returns the recorded hash of a chain's
    first block, None if none is recorded. Methods may raise Refused if a node does not answer or is
    on another chain."""

    def __init__(
        self, links: Iterable[ChainLink], genesis: Callable[[str], str | None] = lambda _: None
    ) -> None:
        self._links = {link.name: link for link in links}
        self._genesis = genesis
        self._evm: dict[str, EvmClient] = {}
        self._solana: dict[str, SolanaClient] = {}

    def link(self, name: str, kind: Kind) -> ChainLink:
        """Returns the chain with this short name. Raises Refused if the profile has no such chain
        of this kind."""
        link = self._links.get(name)
        if link is None or link.kind is not kind:
            raise Refused("other_chain", f"this profile has no node of the chain {name[:32]!r}")
        return link

    def known(self, name: str, chain_id: int | None) -> ChainLink | None:
        """Returns the chain with this short name and this EVM id (None means Solana); None if the
        profile has no such chain."""
        link = self._links.get(name)
        return link if link is not None and link.chain_id == chain_id else None

    def with_id(self, chain_id: int | None) -> ChainLink | None:
        """Returns the chain with this EVM id (None means Solana); None if the profile has no such
        chain."""
        return next((link for link in self._links.values() if link.chain_id == chain_id), None)

    def evm(self, link: ChainLink) -> EvmClient:
        if link.name not in self._evm:
            self._evm[link.name] = EvmClient(link.rpc)
        return self._evm[link.name]

    def solana(self, link: ChainLink) -> SolanaClient:
        if link.name not in self._solana:
            self._solana[link.name] = SolanaClient(link.rpc)
        return self._solana[link.name]

    async def answers(self, link: ChainLink, asked: Sequence[Request]) -> list[Any]:
        """Returns the node's answers in the order of the requests. The answer to a request that the
        node refused is an EvmRefused."""
        client, genesis = self.evm(link), self._genesis(link.name)
        identity = [Request("eth_chainId"), Request("eth_getBlockByNumber", ("0x0", False))]
        try:
            chain_id, block, *answers = await client.batch([*identity, *asked[:AT_ONCE]])
            if isinstance(chain_id, EvmRefused) or quantity(chain_id) != link.chain_id:
                raise _another_chain(link)
            if genesis and told(block_hash, block) != genesis:
                raise _another_chain(link)
            for at in range(AT_ONCE, len(asked), AT_ONCE):
                answers += await client.batch(asked[at : at + AT_ONCE])
        except NodeError as error:
            raise Refused("chain_unreachable", f"{link.name}: {error}") from None
        return answers

    @asynccontextmanager
    async def asking(self, link: ChainLink) -> AsyncIterator[SolanaClient]:
        """Yields a client for the node of a Solana chain."""
        genesis = self._genesis(link.name)
        try:
            if genesis and await self.solana(link).genesis_hash() != genesis:
                raise _another_chain(link)
            yield self.solana(link)
        except NodeError as error:
            raise Refused("chain_unreachable", f"{link.name}: {error}") from None

    async def decimals(self, link: ChainLink, tokens: Sequence[str]) -> list[int | None]:
        """Returns the decimals that the chain states for each token, None for a token without
        stated decimals."""
        if link.kind is Kind.SOLANA:
            async with self.asking(link) as client:
                return [await _mint_decimals(client, token) for token in tokens]
        asked = [calling(Call(token, DECIMALS.call())) for token in tokens]
        words = [words_in(answer) for answer in await self.answers(link, asked)]
        return [
            answer[0] if answer is not None and answer[0] <= MAX_DECIMALS else None
            for answer in words
        ]

    async def symbol(self, link: ChainLink, token: str) -> str | None:
        """Returns the symbol that a token's EVM contract states; None if the contract states no
        symbol."""
        (answer,) = await self.answers(link, [calling(Call(token, SYMBOL.call()))])
        return read_symbol(told(octets, answer) or b"")


def _another_chain(link: ChainLink) -> Refused:
    return Refused("other_chain", f"the node of {link.name} is on another chain")


def refuse_foreign_chain(account: Account, link: ChainLink, genesis: str | None) -> None:
    """Raises Refused if a live key would sign for an EVM chain of the sandbox, an imported sandbox
    key for a real EVM chain id, or any sandbox key for Solana's main network."""
    if link.kind is Kind.SOLANA:
        if account.sandboxed and genesis == MAINNET_SOLANA:
            raise Refused("other_chain", "a key of the sandbox never signs for the main network")
        return
    of_sandbox = (link.chain_id or 0) >= SANDBOX_CHAIN_IDS
    if account.sandboxed and not of_sandbox and account.origin is not KeyOrigin.CREATED:
        raise Refused("other_chain", "an imported key of the sandbox never signs for real ids")
    if not account.sandboxed and of_sandbox:
        raise Refused("other_chain", "a live key never signs for a chain of the sandbox")
