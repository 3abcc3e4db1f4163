"""The same signed transactions on our chain and on eth-tester: the same receipts and state.

eth-tester has one chain id of its own, so that our chain takes that one here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eth_account import Account
from eth_tester import EthereumTester, PyEVMBackend
from eth_utils import to_checksum_address
from msgspec.structs import replace
from web3 import Web3

from sandbox.evm.evm_world import stranger
from swapdesk.clock import SystemClock
from swapdesk.sandbox.node.evm.blocks import receipt_document
from swapdesk.sandbox.node.evm.chain import Beat, EvmChain
from swapdesk.sandbox.node.evm.genesis import Allocation, Genesis
from swapdesk.sandbox.node.evm.mempool import read_candidate
from swapdesk.sandbox.tables import chain_terms

ETH_TESTER_CHAIN = 131277322940537
GWEI = 10**9


def cases(signer: Any, created: str, abi: Any) -> list[dict[str, Any]]:
    """Transfers, a deployment, calls, reverts, out of gas, access lists, the old forms."""
    contract = Web3().eth.contract(abi=abi, address=to_checksum_address(created))

    def call(name: str, *values: Any) -> dict[str, Any]:
        return {"to": contract.address, "data": contract.encode_abi(name, args=list(values))}

    words = ["0x" + f"{slot:064x}" for slot in (0, 1)]
    return [
        call("bump", 5),
        call("bump", 6),
        {**call("bump", 500)},
        {**call("bump", 5), "gas": 22_500},
        {**call("spin"), "gas": 90_000},
        {**call("give", stranger(40).address), "value": 10**9},
        {"to": stranger(41).address, "value": 5},
        {"to": stranger(41).address, "value": 5, "data": "0x" + "00ff" * 300, "gas": 60_000},
        {**call("bump", 1), "accessList": [{"address": contract.address, "storageKeys": words}]},
        {**call("bump", 1), "old": True},
        {"to": signer.address, "value": 1, "old": True},
        {**call("refuse")},
        {"data": "0x60016000fe", "gas": 100_000},
        {"data": "0x600160005560026000556001600055", "gas": 100_000},
        {"data": "0x", "gas": 60_000},
    ]


def signed(signer: Any, chain_id: int, nonce: int, case: dict[str, Any]) -> bytes:
    given = {"gas": 200_000, "value": 0, **case}
    price = {"maxFeePerGas": 5 * GWEI, "maxPriorityFeePerGas": GWEI}
    if given.pop("old", False):
        price = {"gasPrice": 5 * GWEI}
    fields = {"chainId": chain_id, "nonce": nonce, **price, **given}
    return bytes(signer.sign_transaction(fields).raw_transaction)


def test_receipts_gas_and_state_are_equal(tmp_path: Path) -> None:
    import vyper

    source = (Path(__file__).parent / "counter.vy").read_text()
    compiled = vyper.compile_code(source, output_formats=["abi", "bytecode"])
    signer = Account.from_key("0x" + "31" * 32)
    tester = EthereumTester(PyEVMBackend())
    rich = tester.get_accounts()[0]
    tester.send_transaction({"from": rich, "to": signer.address, "value": 10**21, "gas": 21_000})

    terms = replace(chain_terms()["base"], chain_id=ETH_TESTER_CHAIN)
    genesis = Genesis({bytes.fromhex(signer.address[2:]): Allocation(balance=10**21)})
    chain = EvmChain(tmp_path, terms, genesis, Beat(1_700_000_000, 0), SystemClock())

    created = ""
    nonce = 0
    every = [{"data": compiled["bytecode"], "gas": 1_000_000}]
    while every:
        case = every.pop(0)
        raw = signed(signer, ETH_TESTER_CHAIN, nonce, case)
        theirs = tester.get_transaction_receipt(tester.send_raw_transaction("0x" + raw.hex()))
        candidate = read_candidate(raw, terms)
        mined, refused = chain.mine([candidate], Beat(1_700_000_100 + nonce, nonce + 1))
        assert not refused
        chain.add(mined)
        ours = receipt_document(chain.head, 0)
        assert int(ours["status"], 16) == theirs["status"], case
        assert int(ours["gasUsed"], 16) == theirs["gas_used"], case
        assert int(ours["cumulativeGasUsed"], 16) == theirs["cumulative_gas_used"]
        assert ours["type"] == theirs["type"]
        if theirs["status"]:  # of a creation that failed, geth and we name the address
            assert ours["contractAddress"] == (theirs["contract_address"] or None)
        assert [(log["data"], log["topics"]) for log in ours["logs"]] == [
            (log["data"], list(log["topics"])) for log in theirs["logs"]
        ]
        if nonce == 0:
            created = ours["contractAddress"]
            every = cases(signer, created, compiled["abi"])
        nonce += 1

    accounts = chain.states.at(chain.head.number)
    for address in (created, stranger(40).address, stranger(41).address, signer.address):
        octets = bytes.fromhex(address[2:])
        assert accounts.get_nonce(octets) == tester.get_nonce(address)
        assert "0x" + accounts.get_code(octets).hex() == tester.get_code(address)
        if address != signer.address:  # who paid for gas, at another base fee
            assert accounts.get_balance(octets) == tester.get_balance(address)
    slot = int(tester.get_storage_at(created, "0x0"), 16)
    assert accounts.get_storage(bytes.fromhex(created[2:]), 0) == slot == 13
    chain.close()
