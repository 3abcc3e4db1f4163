"""Calldata is encoded as the field encodes it and read only in its plain form."""

import pytest
from eth_abi.abi import encode

from rows import each_row
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.calldata.method import CalldataError, Method
from swapdesk.chain.deployments import ENTRY_POINT, MULTICALL3, PERMIT2, SANDBOX_VENUES
from swapdesk.sandbox.contracts.artefact import artefact

BOB = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
CAROL = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"

SELECTORS = {
    erc20.TRANSFER: "a9059cbb",
    erc20.APPROVE: "095ea7b3",
    erc20.PERMIT: "d505accf",
    permit2.APPROVE: "87517c45",
    permit2.PERMIT: "2b67b570",
    venues.SWAP_TOKENS: "38ed1739",
    venues.SWAP_NATIVE: "7ff36ab5",
    venues.SWAP_FOR_NATIVE: "18cbafe5",
    venues.AGGREGATE: "82ad56cb",
}


@each_row("method", SELECTORS, ids=lambda one: one.name)
def test_selectors_are_those_of_the_field(method):
    assert method.selector.hex() == SELECTORS[method]


def _selectors(name):
    def text(one):
        if one["type"].startswith("tuple"):
            inner = ",".join(text(part) for part in one["components"])
            return f"({inner}){one['type'].removeprefix('tuple')}"
        return one["type"]

    return {
        Method(item["name"], tuple(text(one) for one in item["inputs"]), ()).selector
        for item in artefact(name).abi
        if item["type"] == "function"
    }


@each_row(
    ("contract", "methods"),
    [
        ("PermitToken", [erc20.TRANSFER, erc20.APPROVE, erc20.PERMIT, erc20.NONCES]),
        ("WrappedNative", [erc20.DEPOSIT, erc20.WITHDRAW]),
        ("Permit2", [permit2.APPROVE, permit2.PERMIT, permit2.ALLOWANCE, permit2.NONCE_BITMAP]),
        ("Router", [venues.SWAP_TOKENS, venues.SWAP_NATIVE, venues.SWAP_FOR_NATIVE]),
        ("PermitRouter", [venues.SWAP_WITH_PERMIT]),
        ("Settlement", [venues.SETTLE, venues.NONCE_USED]),
        ("Portal", [venues.SEND, venues.FULFIL]),
        ("Arbitrage", [venues.SYNC]),
        ("Multicall", [venues.AGGREGATE]),
        ("Pool", [venues.RESERVES]),
    ],
)
def test_the_contracts_answer_these_calls(contract, methods):
    assert {method.selector for method in methods} <= _selectors(contract)


def test_a_call_is_read_as_it_was_made():
    data = venues.SWAP_TOKENS.call(5, 4, (BOB, CAROL), BOB.lower(), 9)
    call = venues.SWAP_TOKENS.read(data)
    assert call == {
        "amount": 5,
        "least": 4,
        "path": (BOB, CAROL),
        "to": BOB,
        "deadline": 9,
    }


PLAIN = erc20.TRANSFER.call(BOB, 7)


@each_row(
    "data",
    [
        b"",
        PLAIN[:3],
        PLAIN[:4],
        PLAIN[:-1],
        PLAIN + b"\0",
        PLAIN + b"\0" * 32,
        erc20.APPROVE.call(BOB, 7),
        # A set bit above an address's 20 bytes.
        PLAIN[:4] + b"\x01" + PLAIN[5:],
    ],
)
def test_what_is_no_exact_call_is_refused(data):
    with pytest.raises(CalldataError):
        erc20.TRANSFER.read(data)


def test_another_layout_of_the_same_values_is_refused():
    # The list lies a word further than it would by the rules: the same values, other bytes.
    head = encode(["uint256", "uint256"], [5, 4])
    tail = encode(["address", "uint256"], [BOB, 9])
    moved = head + (192).to_bytes(32, "big") + tail + b"\0" * 32 + (0).to_bytes(32, "big")
    with pytest.raises(CalldataError):
        venues.SWAP_TOKENS.read(venues.SWAP_TOKENS.selector + moved)


@each_row("arguments", [(BOB,), (BOB, -1), (BOB, 1 << 256), ("0x12", 1), (BOB, "x")])
def test_values_that_do_not_fit_are_not_encoded(arguments):
    with pytest.raises(CalldataError):
        erc20.TRANSFER.call(*arguments)


def test_every_address_has_its_checksum():
    addresses = [PERMIT2, MULTICALL3, ENTRY_POINT, *(one.address for one in SANDBOX_VENUES)]
    assert [checksummed(address) for address in addresses] == addresses
    assert len({address.lower() for address in addresses}) == len(addresses)
