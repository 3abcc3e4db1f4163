"""Asking a Solana node that first said which chain it is on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from swapdesk.agent.process.chain_answers import another_chain
from swapdesk.agent.process.refusal import Refusal
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.chain.rpc.solana_answers import require_value
from swapdesk.chain.rpc.solana_errors import SolanaError
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.protocol import RefusalCode as Code

TOKEN_PROGRAMS = (
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
)


@asynccontextmanager
async def asking(link: ChainLink, genesis: str | None) -> AsyncIterator[SolanaClient]:
    """A client of the node. Raises Refusal when it does not answer or is of another chain."""
    try:
        async with SolanaClient(link.rpc) as client:
            if genesis and await client.genesis_hash() != genesis:
                raise another_chain(link)
            yield client
    except SolanaError as error:
        raise Refusal(Code.CHAIN_UNREACHABLE, f"{link.name}: {error}") from None


async def token_accounts(client: SolanaClient, owner: str) -> list[Any]:
    """What the node tells of the token accounts of an owner, by program."""
    options = {"encoding": "jsonParsed", "commitment": "confirmed"}
    return [
        require_value(
            await client.call("getTokenAccountsByOwner", owner, {"programId": program}, options)
        )
        for program in TOKEN_PROGRAMS
    ]


async def program_of(client: SolanaClient, address: str) -> str | None:
    """The program that owns an account; None where there is none."""
    found = require_value(await client.call("getAccountInfo", address, {"encoding": "base64"}))
    return str(found.get("owner")) if isinstance(found, dict) else None


async def token_program(client: SolanaClient, mint: str) -> str:
    """Of a token. Raises Refusal for what is none."""
    program = await program_of(client, mint)
    if program not in TOKEN_PROGRAMS:
        raise Refusal(Code.BAD_REQUEST, "this is no token of the chain")
    return program
