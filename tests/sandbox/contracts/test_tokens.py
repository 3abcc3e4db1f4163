"""The token contracts on an EVM of other hands, with signatures by eth_account."""

from __future__ import annotations

from typing import Any

import pytest
from eth_account.messages import encode_typed_data
from eth_utils import keccak

from sandbox.contracts.contract_world import (
    ALICE,
    BOB,
    CAROL,
    Bench,
    mirrored,
    permit_document,
    place,
    signed,
    typed,
)
from swapdesk.sandbox.evm_world.genesis import TokenContract, TokenContractKind

UNLIMITED = (1 << 256) - 1
ZERO = "0x" + "00" * 20
PLAIN, PERMIT, DOLLAR, TETHER, WRAPPED = (place(number) for number in range(5))
LONG_NAME = "The Extraordinarily Long Named Token of the Society for the Preservation of Names"
CONTRACTS = {
    PLAIN: (TokenContract(TokenContractKind.TOKEN, LONG_NAME), "LONG", 0),
    PERMIT: (TokenContract(TokenContractKind.PERMIT, "Aave Token", "1"), "AAVE", 18),
    DOLLAR: (TokenContract(TokenContractKind.DOLLAR, "USD Coin", "2"), "USDC", 6),
    TETHER: (TokenContract(TokenContractKind.TETHER, "Tether USD"), "USDT", 6),
    WRAPPED: (TokenContract(TokenContractKind.WRAPPED, "Wrapped Ether"), "WETH", 18),
}
HELD = 10**9


@pytest.fixture(scope="module")
def opened() -> Bench:
    bench = Bench()
    for address, (contract, symbol, decimals) in CONTRACTS.items():
        allowed = {(ALICE.address, CAROL.address): UNLIMITED}
        bench.put_token(address, contract, symbol, decimals, {ALICE.address: HELD}, allowed)
    return bench.open()


def permit_of(
    bench: Bench, token: str, *, units: int = 500, nonce: int = 0, deadline: int | None = None
) -> tuple[dict[str, Any], int]:
    end = bench.now + 600 if deadline is None else deadline
    contract = CONTRACTS[token][0]
    document = permit_document(
        bench, token, contract, ALICE.address, BOB.address, units, nonce, end
    )
    return document, end


@pytest.mark.parametrize("token", CONTRACTS)
def test_genesis_writes_what_a_constructor_would(bench: Bench, token: str) -> None:
    contract, symbol, decimals = CONTRACTS[token]
    functions = bench.at(token).functions
    for told, expected in (
        (functions.name(), contract.name),
        (functions.symbol(), symbol),
        (functions.decimals(), decimals),
        (functions.totalSupply(), HELD),
        (functions.balanceOf(ALICE.address), HELD),
        (functions.allowance(ALICE.address, CAROL.address), UNLIMITED),
        (functions.allowance(CAROL.address, ALICE.address), 0),
    ):
        assert told.call() == expected


@pytest.mark.parametrize("token", CONTRACTS)
def test_transfers_and_allowances(bench: Bench, token: str) -> None:
    contract = bench.at(token)
    functions = contract.functions
    receipt = bench.send(functions.transfer(BOB.address, 40))
    (event,) = bench.events(token, "Transfer", receipt)
    assert event == {"from": ALICE.address, "to": BOB.address, "value": 40}
    receipt = bench.send(functions.approve(ALICE.address, 30), BOB)
    (event,) = bench.events(token, "Approval", receipt)
    assert event == {"owner": BOB.address, "spender": ALICE.address, "value": 30}
    bench.refused(
        functions.transferFrom(BOB.address, CAROL.address, 31), "insufficient allowance", ALICE
    )
    bench.send(functions.transferFrom(BOB.address, CAROL.address, 25), ALICE)
    assert functions.allowance(BOB.address, ALICE.address).call() == 5
    # What was allowed without a bound is not used up.
    bench.send(functions.transferFrom(ALICE.address, CAROL.address, 100), CAROL)
    assert functions.allowance(ALICE.address, CAROL.address).call() == UNLIMITED
    held = [bench.balance(token, who.address) for who in (ALICE, BOB, CAROL)]
    assert held == [HELD - 140, 15, 125]
    if token != TETHER:
        for call in (functions.transfer, functions.approve):
            assert bench.ask(call(BOB.address, 1)) is True
        assert bench.ask(functions.transferFrom(ALICE.address, BOB.address, 1), CAROL) is True
    for call, words in (
        (functions.transfer(ALICE.address, 16), "amount exceeds balance"),
        (functions.transfer(ZERO, 1), "zero address"),
        (functions.approve(ZERO, 1), "zero address"),
    ):
        bench.refused(call, words, BOB)


def test_tether_answers_nothing_and_asks_for_a_reset(bench: Bench) -> None:
    tether = bench.at(TETHER)
    data = tether.encode_abi("transfer", args=[BOB.address, 1])
    assert bench.web3.eth.call({"from": ALICE.address, "to": TETHER, "data": data}) == b""
    bench.send(tether.functions.approve(BOB.address, 7))
    bench.refused(tether.functions.approve(BOB.address, 8))
    bench.refused(tether.functions.approve(BOB.address, 7))
    bench.send(tether.functions.approve(BOB.address, 0))
    bench.send(tether.functions.approve(BOB.address, 8))
    assert tether.functions.allowance(ALICE.address, BOB.address).call() == 8


def test_coins_are_wrapped_and_come_back(bench: Bench) -> None:
    wrapped = bench.at(WRAPPED)
    bench.send(wrapped.functions.deposit(), BOB, value=70)
    sent = BOB.sign_transaction(
        {
            "to": WRAPPED,
            "value": 5,
            "nonce": bench.web3.eth.get_transaction_count(BOB.address),
            "gas": 100_000,
            "gasPrice": 10**10,
            "chainId": bench.chain_id,
        }
    )
    bench.web3.eth.send_raw_transaction(sent.raw_transaction)
    assert bench.balance(WRAPPED, BOB.address) == 75
    assert wrapped.functions.totalSupply().call() == HELD + 75 == bench.coins(WRAPPED)
    before = bench.coins(BOB.address)
    receipt = bench.send(wrapped.functions.withdraw(30), BOB)
    paid = receipt["gasUsed"] * receipt["effectiveGasPrice"]
    assert bench.coins(BOB.address) == before - paid + 30
    assert bench.events(WRAPPED, "Withdrawal", receipt) == [{"sender": BOB.address, "amount": 30}]
    bench.refused(wrapped.functions.withdraw(46), "exceeds balance", BOB)


@pytest.mark.parametrize("token", [PERMIT, DOLLAR])
def test_a_permit_is_the_signature_that_eth_account_makes(bench: Bench, token: str) -> None:
    contract = bench.at(token)
    document, end = permit_of(bench, token)
    encoded = encode_typed_data(full_message=document)
    assert contract.functions.DOMAIN_SEPARATOR().call() == encoded.header
    assert contract.functions.version().call() == CONTRACTS[token][0].version
    signature = signed(document, ALICE)
    permit = contract.functions.permit(ALICE.address, BOB.address, 500, end, *signature)
    receipt = bench.send(permit, CAROL)
    (event,) = bench.events(token, "Approval", receipt)
    assert event["value"] == 500
    assert contract.functions.allowance(ALICE.address, BOB.address).call() == 500
    assert contract.functions.nonces(ALICE.address).call() == 1
    bench.refused(permit, "invalid signature", CAROL)


@pytest.mark.parametrize("token", [PERMIT, DOLLAR])
def test_permits_that_are_refused(bench: Bench, token: str) -> None:
    permit = bench.at(token).functions.permit
    document, end = permit_of(bench, token)
    good = signed(document, ALICE)
    asked = (ALICE.address, BOB.address, 500, end)
    bench.ask(permit(*asked, *good))
    later, _ = permit_of(bench, token, nonce=1)
    elsewhere = {**document, "domain": {**document["domain"], "chainId": 1}}
    for terms, signature in (
        (asked, signed(document, BOB)),
        ((ALICE.address, BOB.address, 501, end), good),
        ((ALICE.address, CAROL.address, 500, end), good),
        ((ALICE.address, BOB.address, 500, end + 1), good),
        (asked, mirrored(good)),
        (asked, (29, *good[1:])),
        # What recovers to nobody is not the signature of the zero address.
        ((ZERO, BOB.address, 500, end), (29, *good[1:])),
        (asked, signed(later, ALICE)),
        (asked, signed(elsewhere, ALICE)),
    ):
        bench.refused(permit(*terms, *signature), "invalid signature")
    old, past = permit_of(bench, token, deadline=bench.now - 1)
    bench.refused(permit(*asked[:3], past, *signed(old, ALICE)), "permit expired")


TRANSFER_TYPE = (
    "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce"
)
NONCE = keccak(text="an authorization")


def authorization(bench: Bench, kind: str, **changed: Any) -> dict[str, Any]:
    contract = CONTRACTS[DOLLAR][0]
    message = {
        "from": ALICE.address,
        "to": BOB.address,
        "value": 60,
        "validAfter": 0,
        "validBefore": bench.now + 600,
        "nonce": NONCE,
        **changed,
    }
    domain = {"name": contract.name, "version": contract.version}
    return typed(bench, DOLLAR, domain, kind, {kind: TRANSFER_TYPE}, message)


def given(document: dict[str, Any]) -> list[Any]:
    return list(document["message"].values())


def test_a_dollar_moves_by_authorization_once(bench: Bench) -> None:
    dollar = bench.at(DOLLAR)
    document = authorization(bench, "TransferWithAuthorization")
    signature = signed(document, ALICE)
    said, transfer = "invalid signature", dollar.functions.transferWithAuthorization
    move = transfer(*given(document), *signature)
    bench.refused(transfer(*given(document), *mirrored(signature)), said)
    bench.refused(transfer(*given(document), *signed(document, BOB)), said)
    for changed, words in (
        ({"validAfter": bench.now + 300}, "not yet valid"),
        ({"validBefore": bench.now}, "expired"),
    ):
        other = authorization(bench, "TransferWithAuthorization", **changed)
        bench.refused(transfer(*given(other), *signed(other, ALICE)), words)
    bench.refused(
        dollar.functions.receiveWithAuthorization(*given(document), *signature), said, BOB
    )
    receipt = bench.send(move, CAROL)
    used = {"authorizer": ALICE.address, "nonce": NONCE}
    assert bench.events(DOLLAR, "AuthorizationUsed", receipt) == [used]
    assert bench.balance(DOLLAR, BOB.address) == 60
    assert dollar.functions.authorizationState(ALICE.address, NONCE).call() is True
    bench.refused(move, "used or canceled", CAROL)
