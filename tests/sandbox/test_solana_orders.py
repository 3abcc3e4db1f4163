"""Orders from and to Solana in a running sandbox: every payment is one on the chain, asked of its
node as any client would."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from eth_account import Account
from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from patience import PATIENCE
from sandbox.chain_money import SolanaChain, solana_of, wallet
from sandbox.running import Running, create_order, ended, until
from sandbox.test_chain_payments import equal, pay
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.sandbox.node.issued_world import PAYER, hot_wallet_name
from swapdesk.sandbox.venue_rows import PAYOUT_WALLETS, VENUE_ROWS
from swapdesk.sandbox.world import find_token

BTC, SOL, USDC = (
    find_token(*one) for one in (("bitcoin", "BTC"), ("solana", "SOL"), ("solana", "USDC"))
)
ETH_BASE = find_token("base", "ETH")
BOB = checksummed("0x" + Account.from_key(bytes([8]) * 32).address[2:])
BITCOIN = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"


@pytest.fixture(scope="module")
def control(running: Running) -> Iterator[httpx2.Client]:
    with running.control() as client:
        yield client


@pytest.fixture(scope="module")
def api(running: Running) -> Iterator[httpx2.Client]:
    with running.api() as client:
        yield client


@pytest.fixture
def chain(running: Running) -> SolanaChain:
    return solana_of(running)


def hot_wallets(running: Running) -> set[str]:
    names = [hot_wallet_name(v.code, n) for v in VENUE_ROWS for n in range(PAYOUT_WALLETS)]
    return {wallet(running, name, "solana") for name in names}


def executed(chain: SolanaChain, signature: str) -> dict[str, Any]:
    found = until(lambda: chain.executed(signature), what="the transaction")
    assert found["meta"]["err"] is None
    return found


def payer_of(found: dict[str, Any]) -> str:
    return str(found["transaction"]["message"]["accountKeys"][0])


def test_tokens_are_paid_out_and_refunded_to_who_never_held_any(
    running: Running, api: httpx2.Client, control: httpx2.Client, chain: SolanaChain
) -> None:
    payee, back = (str(Keypair().pubkey()) for _ in range(2))
    bought = create_order(api, BTC.token_id, USDC.token_id, "0.01", payee)
    pay(control, bought)
    sold = create_order(api, USDC.token_id, BTC.token_id, "80", BITCOIN, refundAddress=back)
    asked = {"serviceId": sold["serviceId"], "fault": "refund"}
    assert control.post("/faults", json=asked).status_code == 200
    paid = pay(control, sold)
    assert pay(control, sold) == paid, "a deposit is paid once, however often it is asked for"
    end = ended(api, bought["serviceId"])
    assert end["status"] == 4, end
    executed(chain, end["inTransactionOutHash"])
    assert Decimal(chain.balance(USDC, payee)).scaleb(-6) == Decimal(str(end["outAmount"]))
    end = ended(api, sold["serviceId"])
    assert (end["status"], end["refundChain"]) == (7, "solana")
    assert payer_of(executed(chain, end["refundHash"])) in hot_wallets(running)
    assert 79 * 10**6 < chain.balance(USDC, back) <= 80 * 10**6
    assert payer_of(executed(chain, paid)) == wallet(running, PAYER, "solana")
    equal(running)


def test_a_group_is_paid_by_its_transactions_and_paid_out_row_by_row(
    running: Running, api: httpx2.Client, control: httpx2.Client, chain: SolanaChain
) -> None:
    sender, payees = Keypair(), [str(Keypair().pubkey()) for _ in range(3)]
    for gift in ({"amount": 1}, {"token": "USDC", "amount": 500}):
        asked = {"chain": "solana", "address": str(sender.pubkey()), **gift}
        assert control.post("/faucet", json=asked).status_code == 200
    rows = [
        {"from": USDC.token_id, "to": SOL.token_id, "amount": 60 + at, "addressTo": payee}
        for at, payee in enumerate(payees)
    ]
    created = api.post("/exchanges/multi", json={"orders": rows}, timeout=PATIENCE).json()
    assert all("order" in each for each in created["orders"]), created
    path = f"/exchanges/multi/{created['multiId']}"

    def payable() -> dict[str, Any] | None:
        told = api.get(f"{path}/tx", params={"sender": str(sender.pubkey())})
        return told.json() if told.status_code == 200 else None

    built = until(payable, what="the transactions of the group")
    assert built is not None
    ids = [one for each in built["transactions"] for one in each["serviceIds"]]
    assert sorted(ids) == sorted(each["order"]["serviceId"] for each in created["orders"])
    for each in built["transactions"]:
        half = VersionedTransaction.from_bytes(b64decode(each["txData"]["data"]))
        whole = b64encode(bytes(VersionedTransaction(half.message, [sender]))).decode()
        chain("sendTransaction", whole, {"encoding": "base64", "skipPreflight": True})
    for service_id in ids:
        assert ended(api, service_id)["status"] == 4
    for payee in payees:
        (paid,) = until(lambda payee=payee: chain.history(payee), what="a payout") or []
        assert payer_of(executed(chain, paid["signature"])) in hot_wallets(running)
    assert chain.balance(USDC, str(sender.pubkey())) == (500 - 60 - 61 - 62) * 10**6
    equal(running)
