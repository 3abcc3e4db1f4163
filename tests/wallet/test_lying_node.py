"""Nodes that lie, forget or are behind: nothing is paid twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from swapdesk.agent.transactions.delivery import EvmDelivery
from swapdesk.agent.transactions.file import RecordsFile
from swapdesk.agent.transactions.records import Records
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.rpc.evm import EvmClient
from swapdesk.chain.rpc.evm_answers import TransactionReceipt
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.transactions import TransactionState
from wallet.signing import CHAIN, DEPOSIT, USDC, Trader

State = TransactionState
pytestmark = pytest.mark.asyncio(loop_scope="module")


def tokens(units: int) -> TransactionPayload:
    data = "0x" + TRANSFER.call(DEPOSIT, units).hex()
    return TransactionPayload(Purpose.DEPOSIT, USDC.contract, data, 0)


@pytest.mark.parametrize("coins", [True, False])
async def test_a_forged_failure_ends_nothing(someone: Trader, coins: bool) -> None:
    intent = f"forged {coins}"
    promise = someone.deposit(intent) if coins else someone.deposit(intent, 10**6, sell=USDC)
    payload = someone.payment() if coins else tokens(10**6)
    async with someone.agent() as agent:
        one = await someone.signed(agent, payload, promise)
        await agent.broadcast(one.hash)
        await someone.world.node.confirmed(CHAIN, bytes.fromhex(one.hash[2:]))
        someone.world.faults.add(CHAIN, "forged_receipt", 1)
        told = await agent.resolve(one.hash)
        assert told.state is State.SENT
        assert "the node tells a failure" in told.problem
        with pytest.raises(Refused):
            await someone.signed(agent, payload, promise)
        assert (await someone.settled(agent, one)).problem is None


async def test_a_receipt_of_what_is_not_mined_is_not_believed(someone: Trader) -> None:
    async with someone.agent() as agent:
        one = await someone.signed(agent, someone.payment(), someone.deposit("early"))
        someone.world.faults.add(CHAIN, "drop_transaction", 1)
        assert (await agent.broadcast(one.hash)).state is State.SENT
        # The node has forgotten it, so it gets the same bytes again.
        assert (await agent.resolve(one.hash)).state in (State.SENT, State.MINED)
        await someone.settled(agent, one)


class _Late(EvmClient):
    """A node whose answer about a receipt is older than what it says next: between the two the
    transaction is executed, with as many blocks behind it as count."""

    executed: Callable[[], Awaitable[None]] | None = None

    async def receipt(self, transaction_hash: str) -> TransactionReceipt | None:
        found = await super().receipt(transaction_hash)
        if self.executed is not None:
            executed, self.executed = self.executed, None
            await executed()
        return found


async def test_what_is_executed_while_the_node_is_asked_is_not_lost(someone: Trader) -> None:
    chain = someone.world.chain(CHAIN)
    async with someone.agent() as agent:
        one = await someone.signed(agent, someone.payment(), someone.deposit("late"))
    records = Records(RecordsFile(Path(someone.place.directory), writable=True))
    try:
        records.move(one.hash, State.SENT, among=frozenset({State.SIGNED}))

        async def executed() -> None:
            chain.submit(records.raw(one.hash))
            await someone.world.node.confirmed(CHAIN, bytes.fromhex(one.hash[2:]))
            mined = await client.receipt(one.hash)
            while await client.height() < mined.block + 2:
                pass

        async with _Late(someone.world.url(CHAIN)) as client:
            client.executed = executed
            sent = records.find(one.hash)
            told = await EvmDelivery(client, records, 2).resolve(sent)
        assert told.state is State.SUCCEEDED, told
    finally:
        records.close()


async def test_a_nonce_that_was_used_elsewhere_is_noticed(someone: Trader) -> None:
    """The key is also in another wallet: what was signed here can never be executed."""
    from eth_account import Account as EthAccount

    from swapdesk.wallet.accounts import export_phrase
    from wallet.agents import PASSPHRASE
    from wallet.signing import CHAIN_ID

    async with someone.agent() as agent:
        one = await someone.signed(agent, someone.payment(), someone.deposit("overtaken"))
        key = await agent.export(someone.address, export_phrase(someone.address), PASSPHRASE)
        elsewhere = EthAccount.from_key(key.reveal().decode()).sign_transaction(
            {
                "type": 2,
                "chainId": CHAIN_ID,
                "nonce": one.nonce,
                "to": someone.address,
                "value": 0,
                "gas": 21_000,
                "maxFeePerGas": 10**10,
                "maxPriorityFeePerGas": 10**6,
            }
        )
        someone.world.chain(CHAIN).submit(bytes(elsewhere.raw_transaction))
        await someone.world.node.confirmed(CHAIN, bytes(elsewhere.hash))
        with pytest.raises(Refused) as refused:
            await agent.broadcast(one.hash)
        assert refused.value.code is Code.CHAIN_REFUSED
        # It may still be executed until the other one can no longer be unwound.
        while (told := await agent.resolve(one.hash)).state is not State.LOST:
            assert told.state is State.SENDING
        # Nobody knows here what the other one paid, so the same intent pays no more.
        with pytest.raises(Refused):
            await someone.signed(agent, someone.payment(), someone.deposit("overtaken"))
