"""Permit2 at its canonical address, on an EVM of other hands."""

from __future__ import annotations

from typing import Any

import pytest
from eth_utils import keccak

from sandbox.contracts.contract_world import (
    ALICE,
    BOB,
    CAROL,
    ORDER,
    Bench,
    place,
    typed,
)
from swapdesk.chain.deployments import PERMIT2
from swapdesk.sandbox.evm_world.genesis import TokenContract, TokenContractKind

UNLIMITED = (1 << 256) - 1
ENDLESS = (1 << 160) - 1
TOKEN = place(0)
DOMAIN = {"name": "Permit2"}
DETAILS = "address token,uint160 amount,uint48 expiration,uint48 nonce"
PERMISSIONS = "address token,uint256 amount"


@pytest.fixture(scope="module")
def opened() -> Bench:
    bench = Bench()
    tether = TokenContract(TokenContractKind.TETHER, "Tether USD")
    allowed = {(ALICE.address, PERMIT2): UNLIMITED}
    bench.put_token(TOKEN, tether, "USDT", 6, {ALICE.address: 10**6}, allowed)
    bench.put(PERMIT2, "Permit2", {})
    return bench.open()


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


def transfer_document(
    bench: Bench, nonce: int, end: int, witness: bytes | None = None
) -> dict[str, Any]:
    message = {
        "permitted": {"token": TOKEN, "amount": 400},
        "spender": BOB.address,
        "nonce": nonce,
        "deadline": end,
    }
    fields = "TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline"
    types = {"TokenPermissions": PERMISSIONS}
    if witness is None:
        types = {"PermitTransferFrom": fields, **types}
        return typed(bench, PERMIT2, DOMAIN, "PermitTransferFrom", types, message)
    types = {
        "PermitWitnessTransferFrom": f"{fields},Note witness",
        "Note": "bytes32 quote",
        **types,
    }
    noted = {**message, "witness": {"quote": witness}}
    return typed(bench, PERMIT2, DOMAIN, "PermitWitnessTransferFrom", types, noted)


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


def test_a_nonce_is_taken_back(bench: Bench) -> None:
    functions = bench.at(PERMIT2).functions
    end = bench.now + 600
    signature = packed(transfer_document(bench, 5, end), ALICE)
    call = functions.permitTransferFrom(
        ((TOKEN, 400), 5, end), (BOB.address, 1), ALICE.address, signature
    )
    bench.ask(call, BOB)
    bench.send(functions.invalidateUnorderedNonces(0, 1 << 5))
    bench.refused(call, "InvalidNonce", BOB)


def test_a_witness_is_part_of_what_was_signed(bench: Bench) -> None:
    transfer = bench.at(PERMIT2).functions.permitWitnessTransferFrom
    end, quote = bench.now + 600, keccak(text="quote")
    signature = packed(transfer_document(bench, 9, end, quote), ALICE)
    note = keccak(keccak(text="Note(bytes32 quote)") + quote)
    words = "Note witness)Note(bytes32 quote)TokenPermissions(address token,uint256 amount)"

    def call(witness: bytes = note, kind: str = words) -> Any:
        return transfer(
            ((TOKEN, 400), 9, end), (CAROL.address, 400), ALICE.address, witness, kind, signature
        )

    bench.refused(call(witness=keccak(text="another")), "InvalidSigner", BOB)
    bench.refused(call(kind=words.replace("quote", "price")), "InvalidSigner", BOB)
    bench.refused(call(), "InvalidSigner", CAROL)
    bench.send(call(), BOB)
    assert bench.balance(TOKEN, CAROL.address) == 400
    bench.refused(call(), "InvalidNonce", BOB)
