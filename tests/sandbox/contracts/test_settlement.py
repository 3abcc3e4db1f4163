"""Settlement of signed orders, the portal between chains, and Permit2 at its canonical address, on
an EVM of other hands.
"""

from __future__ import annotations

from typing import Any

import pytest
from eth_utils import keccak

from sandbox.contracts.contract_world import (
    ALICE,
    BOB,
    CAROL,
    KEEPER,
    ORDER,
    Bench,
    mirrored,
    permit_document,
    place,
    signed,
    typed,
)
from swapdesk.chain.deployments import PERMIT2
from swapdesk.sandbox.evm_world.genesis import TokenContract, TokenContractKind, addresses_storage

UNLIMITED = (1 << 256) - 1
DOLLAR, LINK, TETHER = (place(number) for number in range(3))
SETTLEMENT, PORTAL = (place(number) for number in range(10, 12))
USDC = TokenContract(TokenContractKind.DOLLAR, "USD Coin", "2")
SOLVER = RELAYER = KEEPER
ENDLESS = (1 << 160) - 1
TOKEN = place(3)
DOMAIN = {"name": "Permit2"}
DETAILS = "address token,uint160 amount,uint48 expiration,uint48 nonce"
PERMISSIONS = "address token,uint256 amount"
ORDER_TYPE = (
    "address owner,address sellToken,address buyToken,address receiver,uint256 sellAmount,"
    "uint256 buyAmount,uint256 feeAmount,uint32 validTo,uint256 nonce,bool partiallyFillable,"
    "bytes32 appData"
)


@pytest.fixture(scope="module")
def opened() -> Bench:
    bench = Bench()
    for address, contract, symbol in (
        (DOLLAR, USDC, "USDC"),
        (LINK, TokenContract(TokenContractKind.TOKEN, "Chainlink"), "LINK"),
        (TETHER, TokenContract(TokenContractKind.TETHER, "Tether USD"), "USDT"),
    ):
        units = {ALICE.address: 10**6, SOLVER.address: 10**6}
        allowed = {(SOLVER.address, SETTLEMENT): UNLIMITED, (RELAYER.address, PORTAL): UNLIMITED}
        bench.put_token(address, contract, symbol, 6, units, allowed)
    bench.put(SETTLEMENT, "Settlement", addresses_storage("Settlement", {"solver": SOLVER.address}))
    bench.put(PERMIT2, "Permit2", {})
    tether = TokenContract(TokenContractKind.TETHER, "Tether USD")
    allowed = {(ALICE.address, PERMIT2): UNLIMITED}
    bench.put_token(TOKEN, tether, "USDT", 6, {ALICE.address: 10**6}, allowed)
    bench.put(PORTAL, "Portal", addresses_storage("Portal", {"relayer": RELAYER.address}))
    return bench.open()


# Orders


def order_of(bench: Bench, **changed: Any) -> dict[str, Any]:
    return {
        "owner": ALICE.address,
        "sellToken": DOLLAR,
        "buyToken": LINK,
        "receiver": BOB.address,
        "sellAmount": 990,
        "buyAmount": 70,
        "feeAmount": 10,
        "validTo": bench.now + 600,
        "nonce": 7,
        "partiallyFillable": False,
        "appData": keccak(text="quote"),
        **changed,
    }


def document_of(bench: Bench, order: dict[str, Any]) -> dict[str, Any]:
    domain = {"name": "Isthmus Settlement", "version": "2"}
    return typed(bench, SETTLEMENT, domain, "Order", {"Order": ORDER_TYPE}, order)


def permit_of(bench: Bench, amount: int = 1_000, *, signer: Any = ALICE) -> tuple[Any, ...]:
    end = bench.now + 600
    document = permit_document(bench, DOLLAR, USDC, ALICE.address, SETTLEMENT, amount, 0, end)
    return (amount, end, *signed(document, signer))


def settle(
    bench: Bench,
    order: dict[str, Any],
    permit: tuple[Any, ...],
    bought: int = 70,
    *,
    signature: Any = None,
) -> Any:
    given = signature or signed(document_of(bench, order), ALICE)
    settlement = bench.at(SETTLEMENT)
    return settlement.functions.settle(tuple(order.values()), given, permit, bought)


def test_a_signed_order_is_settled_once_with_its_permit(bench: Bench) -> None:
    order = order_of(bench)
    call = settle(bench, order, permit_of(bench), 71)
    receipt = bench.send(call, SOLVER)
    (trade,) = bench.events(SETTLEMENT, "Trade", receipt)
    assert trade["buyAmount"] == 71
    assert trade["owner"] == ALICE.address
    assert (
        trade["orderDigest"]
        == bench.at(SETTLEMENT).functions.digestOf(tuple(order.values())).call()
    )
    assert bench.balance(DOLLAR, ALICE.address) == 10**6 - 1_000
    assert bench.balance(DOLLAR, SOLVER.address) == 10**6 + 1_000
    assert bench.balance(LINK, BOB.address) == 71
    assert bench.at(SETTLEMENT).functions.nonceUsed(ALICE.address, 7).call() is True
    bench.refused(call, "order used or invalidated", SOLVER)


def permit2_order_of(bench: Bench, order: dict[str, Any], **changed: Any) -> bytes:
    """The order as the witness of a transfer by Permit2, signed."""
    types = {
        "PermitWitnessTransferFrom": "TokenPermissions permitted,address spender,uint256 nonce,"
        "uint256 deadline,Order witness",
        "TokenPermissions": "address token,uint256 amount",
        "Order": ORDER_TYPE,
    }
    amount = order["sellAmount"] + order["feeAmount"]
    message = {
        "permitted": {"token": order["sellToken"], "amount": amount},
        "spender": SETTLEMENT,
        "nonce": order["nonce"],
        "deadline": order["validTo"],
        "witness": order,
        **changed,
    }
    document = typed(
        bench, PERMIT2, {"name": "Permit2"}, "PermitWitnessTransferFrom", types, message
    )
    v, r, s = signed(document, ALICE)
    return bytes(r) + bytes(s) + bytes([v])


def test_an_order_that_permit2_pays_is_settled_once_as_it_was_signed(bench: Bench) -> None:
    order = order_of(bench, sellToken=TETHER)
    settle_by = bench.at(SETTLEMENT).functions.settleWithPermit2
    signature = permit2_order_of(bench, order)
    call = settle_by(tuple(order.values()), signature, 71)
    bench.refused(call, "", SOLVER)
    bench.send(bench.at(TETHER).functions.approve(PERMIT2, 2_000), ALICE)
    bench.refused(call, "only the solver settles", BOB)
    for other in (
        {**order, "buyAmount": 1},
        {**order, "receiver": CAROL.address},
        {**order, "sellAmount": 991},
        {**order, "sellAmount": 980, "feeAmount": 20},
    ):
        bench.refused(settle_by(tuple(other.values()), signature, 71), "InvalidSigner", SOLVER)
    elsewhere = permit2_order_of(bench, order, spender=BOB.address)
    bench.refused(settle_by(tuple(order.values()), elsewhere, 71), "InvalidSigner", SOLVER)
    bench.refused(settle_by(tuple(order.values()), signature, 69), "below the limit", SOLVER)
    receipt = bench.send(call, SOLVER)
    (trade,) = bench.events(SETTLEMENT, "Trade", receipt)
    assert (trade["buyAmount"], trade["owner"]) == (71, ALICE.address)
    assert bench.balance(TETHER, ALICE.address) == 10**6 - 1_000
    assert bench.balance(TETHER, SOLVER.address) == 10**6 + 1_000
    assert bench.balance(LINK, BOB.address) == 71
    bench.refused(call, "order used or invalidated", SOLVER)


def test_a_permit_that_somebody_handed_in_before_still_settles(bench: Bench) -> None:
    permit = permit_of(bench)
    amount, end, *signature = permit
    functions = bench.at(DOLLAR).functions
    bench.send(functions.permit(ALICE.address, SETTLEMENT, amount, end, *signature), CAROL)
    bench.send(settle(bench, order_of(bench), permit), SOLVER)
    assert bench.balance(LINK, BOB.address) == 70


def test_orders_that_are_refused(bench: Bench) -> None:
    order, permit = order_of(bench), permit_of(bench)
    honest = signed(document_of(bench, order), ALICE)
    bench.refused(settle(bench, order, permit), "only the solver", ALICE)
    bench.refused(settle(bench, order, permit, 69), "below the limit", SOLVER)
    for changed, words in (
        ({"validTo": bench.now - 1}, "order expired"),
        ({"partiallyFillable": True}, "all or nothing"),
    ):
        bench.refused(settle(bench, order_of(bench, **changed), permit), words, SOLVER)
    # Whatever is changed after the signature, nobody signed it.
    for changed in (
        {"owner": CAROL.address},
        {"sellToken": LINK},
        {"buyToken": TETHER},
        {"receiver": SOLVER.address},
        {"sellAmount": 991},
        {"buyAmount": 1},
        {"feeAmount": 11},
        {"validTo": bench.now + 601},
        {"nonce": 8},
        {"appData": keccak(text="another quote")},
    ):
        other = order_of(bench, **changed)
        bench.refused(settle(bench, other, permit, signature=honest), "invalid signature", SOLVER)
    for signature in (signed(document_of(bench, order), BOB), mirrored(honest), (29, *honest[1:])):
        bench.refused(
            settle(bench, order, permit, signature=signature), "invalid signature", SOLVER
        )
    forged = permit_of(bench, signer=BOB)
    bench.refused(settle(bench, order, forged), "insufficient allowance", SOLVER)
    bench.refused(settle(bench, order, permit_of(bench, 999)), "insufficient allowance", SOLVER)
    bench.send(settle(bench, order, permit), SOLVER)


# Between chains


def send_call(bench: Bench, **changed: Any) -> Any:
    given = {
        "token": TETHER,
        "amount": 500,
        "destination": 1_337_008_453,
        "tokenOut": DOLLAR,
        "least": 480,
        "receiver": BOB.address,
        "deadline": bench.now + 600,
        **changed,
    }
    return bench.at(PORTAL).functions.send(*given.values())


def test_a_portal_takes_tokens_and_the_fee(bench: Bench) -> None:
    bench.refused(send_call(bench), "insufficient allowance")
    bench.send(bench.at(TETHER).functions.approve(PORTAL, 1_000))
    bench.refused(send_call(bench, deadline=bench.now - 1), "expired")
    bench.refused(send_call(bench, destination=bench.chain_id), "same chain")
    bench.refused(send_call(bench, receiver="0x" + "00" * 20), "no receiver")
    coins = bench.coins(RELAYER.address)
    first = bench.send(send_call(bench), value=77)
    second = bench.send(send_call(bench))
    sent = [bench.events(PORTAL, "Sent", receipt)[0] for receipt in (first, second)]
    assert sent[0]["transferId"] != sent[1]["transferId"]
    assert [each["fee"] for each in sent] == [77, 0]
    assert sent[0]["sender"] == ALICE.address
    assert (sent[0]["tokenOut"], sent[0]["leastOut"]) == (DOLLAR, 480)
    assert bench.coins(RELAYER.address) == coins + 77
    assert bench.coins(PORTAL) == 0
    assert bench.balance(TETHER, RELAYER.address) == 10**6 + 1_000


def test_a_portal_pays_out_once(bench: Bench) -> None:
    fulfil = bench.at(PORTAL).functions.fulfil
    transfer = keccak(text="a transfer")
    call = fulfil(transfer, DOLLAR, 490, BOB.address)
    bench.refused(call, "only the relayer", ALICE)
    receipt = bench.send(call, RELAYER)
    (event,) = bench.events(PORTAL, "Fulfilled", receipt)
    assert event["transferId"] == transfer
    assert bench.balance(DOLLAR, BOB.address) == 490
    assert bench.at(PORTAL).functions.fulfilled(transfer).call() is True
    bench.refused(call, "fulfilled", RELAYER)


# Permit2


def single(bench: Bench, **changed: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A PermitSingle as the contract takes it, and its document."""
    details = {
        "token": TOKEN,
        "amount": 500,
        "expiration": bench.now + 3_600,
        "nonce": 0,
        **{name: changed[name] for name in changed if name != "sigDeadline"},
    }
    end = changed.get("sigDeadline", bench.now + 600)
    message = {"details": details, "spender": BOB.address, "sigDeadline": end}
    types = {
        "PermitSingle": "PermitDetails details,address spender,uint256 sigDeadline",
        "PermitDetails": DETAILS,
    }
    document = typed(bench, PERMIT2, DOMAIN, "PermitSingle", types, message)
    return (tuple(details.values()), BOB.address, end), document


def packed(document: dict[str, Any], signer: Any) -> bytes:
    return bytes(signer.sign_typed_data(full_message=document).signature)


def allowance(bench: Bench) -> list[int]:
    found: list[int] = (
        bench.at(PERMIT2).functions.allowance(ALICE.address, TOKEN, BOB.address).call()
    )
    return found


def test_an_allowance_by_signature_is_used_up_and_ends(bench: Bench) -> None:
    functions = bench.at(PERMIT2).functions
    given, document = single(bench)
    call = functions.permit(ALICE.address, given, packed(document, ALICE))
    bench.send(call, CAROL)
    assert allowance(bench) == [500, given[0][2], 1]
    bench.refused(call, "InvalidNonce", CAROL)
    move = functions.transferFrom(ALICE.address, CAROL.address, 300, TOKEN)
    bench.refused(move, "AllowanceExpired", CAROL)
    bench.send(move, BOB)
    assert bench.balance(TOKEN, CAROL.address) == 300
    assert allowance(bench)[0] == 200
    bench.refused(move, "InsufficientAllowance", BOB)
    bench.travel(3_601)
    bench.refused(
        functions.transferFrom(ALICE.address, CAROL.address, 1, TOKEN), "AllowanceExpired", BOB
    )


def test_signatures_over_allowances_that_are_refused(bench: Bench) -> None:
    permit = bench.at(PERMIT2).functions.permit
    given, document = single(bench)
    good = packed(document, ALICE)
    bench.ask(permit(ALICE.address, given, good))
    s = ORDER - int.from_bytes(good[32:64], "big")
    high = good[:32] + s.to_bytes(32, "big") + bytes([55 - good[64]])
    more = ((TOKEN, 501, *given[0][2:]), *given[1:])
    other, _ = single(bench, nonce=1)
    late, expired = single(bench, sigDeadline=bench.now - 1)
    for asked, signature, words in (
        (given, packed(document, BOB), "InvalidSigner"),
        (given, good[:64], "InvalidSignatureLength"),
        (given, good[:64] + b"\x1d", "InvalidSignature"),
        (given, high, "InvalidSignature"),
        (more, good, "InvalidSigner"),
        (other, good, "InvalidNonce"),
        (late, packed(expired, ALICE), "SignatureExpired"),
    ):
        bench.refused(permit(ALICE.address, asked, signature), words)


def test_an_allowance_by_transaction_may_be_endless_and_is_taken_back(bench: Bench) -> None:
    functions = bench.at(PERMIT2).functions
    bench.send(functions.approve(TOKEN, BOB.address, ENDLESS, bench.now + 3_600))
    bench.send(functions.transferFrom(ALICE.address, BOB.address, 10, TOKEN), BOB)
    assert allowance(bench)[0] == ENDLESS
    bench.send(functions.lockdown([(TOKEN, BOB.address)]))
    bench.refused(
        functions.transferFrom(ALICE.address, BOB.address, 1, TOKEN),
        "InsufficientAllowance",
        BOB,
    )


def transfer_document(bench: Bench, nonce: int, end: int) -> dict[str, Any]:
    message = {
        "permitted": {"token": TOKEN, "amount": 400},
        "spender": BOB.address,
        "nonce": nonce,
        "deadline": end,
    }
    fields = "TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline"
    types = {"PermitTransferFrom": fields, "TokenPermissions": PERMISSIONS}
    return typed(bench, PERMIT2, DOMAIN, "PermitTransferFrom", types, message)


def test_a_transfer_by_signature_happens_once_and_for_its_spender(bench: Bench) -> None:
    transfer = bench.at(PERMIT2).functions.permitTransferFrom
    nonce, end = (1 << 200) + 300, bench.now + 600
    signature = packed(transfer_document(bench, nonce, end), ALICE)

    def call(amount: int = 350, to: str = CAROL.address, by: bytes = signature) -> Any:
        return transfer(((TOKEN, 400), nonce, end), (to, amount), ALICE.address, by)

    bench.refused(call(401), "InvalidAmount", BOB)
    bench.refused(call(), "InvalidSigner", CAROL)
    wrong = packed(transfer_document(bench, nonce, end), CAROL)
    bench.refused(call(by=wrong), "InvalidSigner", BOB)
    bench.send(call(), BOB)
    assert bench.balance(TOKEN, CAROL.address) == 350
    bitmap = bench.at(PERMIT2).functions.nonceBitmap(ALICE.address, nonce >> 8).call()
    assert bitmap == 1 << (nonce & 255)
    bench.refused(call(), "InvalidNonce", BOB)
    # Another bit of the same word is another nonce.
    other = packed(transfer_document(bench, nonce + 1, end), ALICE)
    bench.send(
        transfer(((TOKEN, 400), nonce + 1, end), (BOB.address, 1), ALICE.address, other), BOB
    )
    past = bench.now - 1
    late = packed(transfer_document(bench, 1, past), ALICE)
    bench.refused(
        transfer(((TOKEN, 400), 1, past), (BOB.address, 1), ALICE.address, late),
        "SignatureExpired",
        BOB,
    )
