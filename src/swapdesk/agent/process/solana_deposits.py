"""The transfer that pays an order's deposit on Solana, built of what was promised.

It is a proposal like any other payload: the gate reads it as if a stranger had made it.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from swapdesk.agent.process.chains import TOKEN_PROGRAMS, asking, program_of, token_program
from swapdesk.agent.process.request import RequestRefused
from swapdesk.wallet.holdings import SolanaDraft
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.promise import DepositPromise, Promise
from swapdesk.wallet.protocol import RefusalCode as Code

if TYPE_CHECKING:
    from solders.instruction import Instruction
    from solders.pubkey import Pubkey

    from swapdesk.chain.rpc.solana import SolanaClient


async def solana_deposit(link: ChainLink, genesis: str | None, promise: Promise) -> SolanaDraft:
    """Over the newest blockhash, the account pays the fee. The memo is the order's, else its id:
    two payments that are alike are never one transaction. Raises RequestRefused when the node does
    not answer or is of another chain, and for what cannot be paid."""
    from solders.hash import Hash
    from solders.message import MessageV0

    from swapdesk.chain.solana import Memo, unsigned

    deposit = promise.deposit
    if deposit is None or promise.chain_id is not None:
        raise RequestRefused(Code.BAD_REQUEST, "no deposit on Solana was promised")
    owner, payee = _key(promise.account), _key(deposit.address)
    async with asking(link, genesis) as client:
        paying = await _paying(client, promise, deposit, owner, payee)
        newest = await client.latest_blockhash()
    instructions = [*paying, Memo(deposit.tag or deposit.order_id).build()]
    message = MessageV0.try_compile(owner, instructions, [], Hash.from_string(newest.blockhash))
    return SolanaDraft(b64encode(bytes(unsigned(message))).decode(), newest.last_height)


async def _paying(
    client: SolanaClient,
    promise: Promise,
    deposit: DepositPromise,
    owner: Pubkey,
    payee: Pubkey,
) -> list[Instruction]:
    """The transfer; the token account of the deposit address is opened where there may be none,
    unless the address is a token account itself."""
    from swapdesk.chain.solana import (
        CreateTokenAccount,
        Transfer,
        TransferChecked,
        token_account,
    )

    if promise.sell.contract is None:
        return [Transfer(owner, payee, deposit.units).build()]
    mint = _key(promise.sell.contract)
    program = _key(await token_program(client, promise.sell.contract))
    holds_tokens = await program_of(client, deposit.address) in TOKEN_PROGRAMS
    transfer = TransferChecked(
        token_account(owner, mint, program),
        mint,
        payee if holds_tokens else token_account(payee, mint, program),
        owner,
        deposit.units,
        promise.sell.decimals,
        program,
    ).build()
    if holds_tokens:
        return [transfer]
    return [CreateTokenAccount(owner, payee, mint, program).build(), transfer]


def _key(address: str) -> Pubkey:
    from solders.pubkey import Pubkey

    try:
        return Pubkey.from_string(address)
    except ValueError:
        raise RequestRefused(Code.BAD_REQUEST, "this is no address of Solana") from None
