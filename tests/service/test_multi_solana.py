"""Groups on Solana: their deposits as transactions of measured size (contract 9.15)."""

from __future__ import annotations

import base64
from typing import Any

import httpx2
import pytest
from solders.pubkey import Pubkey

from service import groups
from service.orders_fixtures import venues_at
from service.venue import PlainVenue
from service.world import AS_SECOND, SOL, TOKENS, USDC_SOL
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.chain.rpc.solana import Blockhash, SolanaUnreachable
from swapdesk.chain.solana import (
    PACKET_BYTES,
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    Memo,
    ReadMessage,
    Transfer,
    TransferChecked,
    read_message,
    read_transaction,
    token_account,
)
from swapdesk.clock import ManualClock
from swapdesk.service.app import Onchain
from swapdesk.service.handlers import ServiceParts
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.multi import MultiTransactions
from swapdesk.wire.tokens import Token

SENDER = derive_address("sol", b"s" * 32)
HASH = "4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM"
BUNDLED = [token.model_copy(update={"has_bundler": True}) for token in TOKENS]


class OneHash:
    """The newest blockhash of a chain, unless it does not answer."""

    silent = False

    async def latest_blockhash(self) -> Blockhash:
        if self.silent:
            raise SolanaUnreachable("no connection")
        return Blockhash(HASH, 150)


@pytest.fixture
def node() -> OneHash:
    return OneHash()


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


@pytest.fixture
def token_list() -> list[Token]:
    return BUNDLED


@pytest.fixture
def onchain(node: OneHash) -> Onchain:
    return Onchain(solana={"solana": node})


def row(amount: float, token: str = SOL.id) -> dict[str, Any]:
    return {**groups.row(amount), "from": token}


async def set_up(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, *rows: dict[str, Any]
) -> tuple[str, dict[str, dict[str, Any]]]:
    """A group that was set up: its id and its orders."""
    multi_id, _ = await groups.set_up(api, service, clock, *rows)
    now = (await api.get(f"/exchanges/multi/{multi_id}")).json()
    return multi_id, {each["serviceId"]: each for each in now["orders"]}


async def asked(api: httpx2.AsyncClient, multi_id: str, sender: str = SENDER) -> dict[str, Any]:
    answer = (
        await api.get(f"/exchanges/multi/{multi_id}/tx", params={"sender": sender})
    ).raise_for_status()
    decode(MultiTransactions, answer.content, side="client")
    return answer.json()


def messages(told: dict[str, Any]) -> list[ReadMessage]:
    found = []
    for each in told["transactions"]:
        raw = base64.b64decode(each["txData"]["data"])
        assert len(raw) <= PACKET_BYTES
        found.append(read_message(read_transaction(raw).message))
    return found


@pytest.mark.proves("input get_multi_transactions multiId", "input get_multi_transactions sender")
async def test_deposits_in_sol(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    rows = [row(20 + number) for number in range(25)]
    multi_id, orders = await set_up(api, service, clock, *rows)
    told = await asked(api, multi_id)
    assert told.keys() == {"multiId", "chain", "transactions"}
    assert told["chain"] == "solana"
    assert [len(each["serviceIds"]) for each in told["transactions"]] == [10, 10, 5]
    assert [one for each in told["transactions"] for one in each["serviceIds"]] == list(orders)
    for each, message in zip(told["transactions"], messages(told), strict=True):
        assert str(message.payer) == SENDER
        assert len(message.signers) == 1
        limit, price, memo, *paid = message.instructions
        assert isinstance(limit, ComputeLimit)
        assert isinstance(price, ComputePrice)
        assert memo == Memo(multi_id)
        assert paid == [
            Transfer(
                Pubkey.from_string(SENDER),
                Pubkey.from_string(orders[one]["depositAddress"]),
                int(orders[one]["inAmount"] * 10**9),
            )
            for one in each["serviceIds"]
        ]


async def test_deposits_in_tokens_open_the_accounts_they_need(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    rows = [row(2000 + number, USDC_SOL.id) for number in range(25)]
    multi_id, orders = await set_up(api, service, clock, *rows)
    told = await asked(api, multi_id)
    assert [len(each["serviceIds"]) for each in told["transactions"]] == [9, 9, 7]
    payer, mint = Pubkey.from_string(SENDER), Pubkey.from_string(str(USDC_SOL.address))
    for each, message in zip(told["transactions"], messages(told), strict=True):
        paid = message.instructions[3:]
        for place, service_id in enumerate(each["serviceIds"]):
            receiver = Pubkey.from_string(orders[service_id]["depositAddress"])
            opened, sent = paid[2 * place : 2 * place + 2]
            assert opened == CreateTokenAccount(payer, receiver, mint)
            assert sent == TransferChecked(
                token_account(payer, mint),
                mint,
                token_account(receiver, mint),
                payer,
                int(orders[service_id]["inAmount"] * 10**6),
                6,
            )


async def test_the_build_of_some_orders_is_the_same(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    multi_id, orders = await set_up(api, service, clock, row(20), row(2000, USDC_SOL.id), row(30))
    path = f"/exchanges/multi/{multi_id}/tx/build"
    whole = await api.post(path, json={"sender": SENDER})
    assert whole.json() == await asked(api, multi_id)
    ids = list(orders)
    some = await api.post(path, json={"sender": SENDER, "serviceIds": [ids[2], ids[0]]})
    assert [each["serviceIds"] for each in some.json()["transactions"]] == [[ids[0], ids[2]]]
    now = (await api.get(f"/exchanges/multi/{multi_id}")).json()
    assert "bundleStatus" not in now, "there are no bundles on Solana"
    nothing = await api.post(
        f"/exchanges/multi/{multi_id}/tx", json={"signatures": ["0x" + "ab" * 65]}
    )
    assert nothing.status_code == 404


@pytest.mark.proves("input get_multi_transactions multiId", "input get_multi_transactions sender")
async def test_what_cannot_be_asked_for(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, node: OneHash
) -> None:
    multi_id, _ = await set_up(api, service, clock, row(20))
    path = f"/exchanges/multi/{multi_id}/tx"
    for sender in ("0x" + "ab" * 20, SENDER[:-1], "1" * 44):
        answer = await api.get(path, params={"sender": sender})
        assert (answer.status_code, list(answer.json()["fields"])) == (422, ["sender"])
    foreign = await api.get(path, params={"sender": SENDER}, headers=AS_SECOND)
    assert foreign.status_code == 404
    node.silent = True
    silent = await api.get(path, params={"sender": SENDER})
    assert (silent.status_code, silent.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
