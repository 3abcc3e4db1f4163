"""The embedded chains as an unmodified web3 client sees them."""

from __future__ import annotations

from pathlib import Path

from sandbox.evm.evm_world import faucet, running, stranger


async def test_a_transfer_is_mined_and_survives_a_restart(tmp_path: Path) -> None:
    sender, receiver = faucet(), stranger(7)
    async with running(tmp_path) as world:
        web3 = world.web3("base")
        web3.eth.default_account = sender.address
        signed = sender.sign_transaction(
            {
                "chainId": await web3.eth.chain_id,
                "nonce": await web3.eth.get_transaction_count(sender.address),
                "to": receiver.address,
                "value": 10**18,
                "gas": 21_000,
                "maxFeePerGas": 10**10,
                "maxPriorityFeePerGas": 10**6,
            }
        )
        sent = await web3.eth.send_raw_transaction(signed.raw_transaction)
        receipt = await web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.01)
        assert receipt["status"] == 1
        assert await web3.eth.get_balance(receiver.address) == 10**18
        await web3.provider.disconnect()
    async with running(tmp_path) as world:
        web3 = world.web3("base")
        again = await web3.eth.get_transaction_receipt(sent)
        assert again == receipt
        assert await web3.eth.get_balance(receiver.address) == 10**18
        assert await web3.eth.get_transaction_count(sender.address) == 1
        assert (await web3.eth.get_block(receipt["blockNumber"]))["hash"] == receipt["blockHash"]
        await web3.provider.disconnect()
