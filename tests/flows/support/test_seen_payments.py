"""Payments that the chains of a sandbox show and its service has not seen.

The exchanges of the sandbox cannot be reached, so that every order waits. A support desk that never
saw an order finds it over the service and the chains. What else becomes of an order is practised
(``cli.test_trigger``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec import Struct, field

from harness import Sandbox, running_sandbox, wait_for
from patience import PATIENCE
from plain_http import PLAIN
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.clock import SystemClock
from swapdesk.flows.connection import sandbox_connection
from swapdesk.flows.desk import Desk
from swapdesk.flows.support.diagnosis import Owner
from swapdesk.flows.support.order_search import OrderSearch, begun_here
from swapdesk.flows.support.pasted_text import read_pasted
from swapdesk.flows.support.support_case import facts_of, support_case
from swapdesk.paths import Home, private_directory, write_private
from swapdesk.sandbox.world import find_token
from swapdesk.settings import load_settings

QUICK, STILL = 600, 0.01
BTC, USDC, XRP = ("bitcoin", "BTC"), ("base", "USDC"), ("xrp", "XRP")
WORTH = {BTC: "0.1", USDC: "7000", XRP: "3000"}
NO_SUCH = "8f2c" * 16


class Paid(Struct, frozen=True):
    """What is sold, what is paid for it, and the rule that holds. ``reply`` is a part of what its
    customer is told who wrote ``message``, both with the facts of the order."""

    rule: str
    owner: Owner
    sold: tuple[str, str] = BTC
    pays: Mapping[str, Any] = field(default_factory=dict)
    """What the deposit has besides its order; ``token`` and ``chain`` of another one."""
    share: Decimal = Decimal(1)
    mined: bool = True
    message: str = "Where is it? {hash}"
    reply: str = "We keep an eye on it"

    @property
    def name(self) -> str:
        return f"{self.rule}, {self.sold[1]}"


PAYMENTS = (
    Paid("payment-as-asked", Owner.SERVICE),
    Paid("payment-as-asked", Owner.SERVICE, XRP),
    Paid("payment-as-asked", Owner.SERVICE, USDC),
    Paid("payment-not-in-a-block", Owner.CHAIN, mined=False),
    Paid(
        "payment-too-little", Owner.SERVICE, share=Decimal("0.5"),
        message="Hallo, versehentlich zu wenig gesendet: {hash}. Kommt das Geld zurück?",
        reply="which asked for {inAmount} BTC",
    ),
    Paid(
        "payment-too-much", Owner.SERVICE, share=Decimal(2),
        message="多付了一倍。订单：{serviceId}，哈希【{hash}】",
        reply="which asked for {inAmount} BTC",
    ),
    Paid(
        "payment-memo-missing", Owner.SUPPORT, XRP, {"memo": ""},
        message="Buenos días: envié los XRP pero olvidé la etiqueta. Transacción: {hash}",
        reply="without the memo",
    ),
    Paid(
        "payment-another-memo", Owner.SUPPORT, XRP, {"memo": "77"}, reply="with another memo",
    ),
    Paid(
        "payment-wrong-token", Owner.SUPPORT, USDC, {"chain": "base", "token": "WETH"},
        reply="2 WETH on Base",
    ),
    Paid(
        "payment-wrong-chain", Owner.SUPPORT, USDC, {"chain": "ethereum", "token": "USDC"},
        message="Ich habe USDC an {depositAddress} geschickt, Hash {hash}, nichts passiert.",
        reply="2 USDC arrived at the address, but on Ethereum",
    ),
    Paid(
        "payment-missing", Owner.CUSTOMER, share=Decimal(0),
        message=f"J'ai payé la commande {{serviceId}} : voici le hash {NO_SUCH}.",
        reply=f"does not know the transaction {NO_SUCH} of your payment",
    ),
)  # fmt: skip


class Played(Struct):
    """Each order as its partner reads it, with the ``hash`` of what was paid."""

    sandbox: Sandbox
    orders: dict[str, dict[str, Any]]
    offset: float
    """Seconds that the sandbox is ahead of this machine."""
    tokens: bytes = b""
    """The list of tokens as the first desk took it from the service."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with running_sandbox(tmp_path_factory.mktemp("practice"), speed=STILL) as sandbox:
        partner = sandbox.partner()
        api = httpx2.Client(
            base_url=sandbox.ready["url"],
            headers={"Authorization": f"{partner['apiKey']}:{partner['apiSecret']}"},
            trust_env=False,
            timeout=PATIENCE,
            verify=PLAIN,
        )
        # An exchange takes its time to quote.
        with api, ThreadPoolExecutor(len(PAYMENTS)) as side_by_side:
            made = side_by_side.map(lambda paid: ordered(api, paid), PAYMENTS)
            orders = {paid.name: order for paid, order in zip(PAYMENTS, made, strict=True)}
        for venue in {order["in"] for order in orders.values()}:
            sandbox.fault("venue_down", venue=venue)
        pay_all(sandbox, orders, mined=True)
        sandbox.control("POST", "/clock", {"speed": QUICK})
        wait_for(lambda: all(in_a_block(sandbox, one) for one in orders.values()), what="blocks")
        sandbox.control("POST", "/clock", {"speed": STILL})
        pay_all(sandbox, orders, mined=False)
        yield Played(sandbox, orders, float(sandbox.control("GET", "/state")["offset"]))


def ordered(api: httpx2.Client, paid: Paid) -> dict[str, Any]:
    sold, bought = find_token(*paid.sold), find_token("ethereum", "ETH")
    # Each has an amount of its own, so that it names one order.
    amount = Decimal(WORTH[paid.sold]) * (1 + Decimal(PAYMENTS.index(paid) + 1) / 1000)
    asked = {
        "from": sold.token_id,
        "to": bought.token_id,
        "amount": f"{amount.normalize():f}",
        "types": "standard",
    }
    quotes = api.get("/quotes", params=asked).json()["quotes"]
    quote = next(one for one in quotes if "error" not in one)
    receiver = derive_address("evm", hashlib.sha256(paid.name.encode()).digest())
    made = api.post("/exchanges", json={"quoteId": quote["quoteId"], "addressTo": receiver})
    order: dict[str, Any] = json.loads(made.text, parse_float=Decimal)
    return order


def pay_all(sandbox: Sandbox, orders: dict[str, dict[str, Any]], *, mined: bool) -> None:
    for paid in PAYMENTS:
        order = orders[paid.name]
        amount = float(Decimal(str(order["inAmount"])) * paid.share)
        if "token" in paid.pays:
            way, given = "/faucet", {"address": order["depositAddress"], "amount": 2}
        else:
            way, given = "/deposits", {"serviceId": order["serviceId"], "amount": amount}
        if paid.mined is mined and paid.share:
            order["hash"] = sandbox.control("POST", way, {**given, **paid.pays})["hash"]


def in_a_block(sandbox: Sandbox, order: dict[str, Any]) -> bool:
    """Or nothing was paid, or the faucet waited for it: embedded chains are in no ledger."""
    if "hash" not in order:
        return True
    found = sandbox.control("POST", "/transfers", {"hash": order["hash"]})["transfer"]
    return found is None or found["confirmations"] > 0


@asynccontextmanager
async def support_desk(played: Played, home: Path) -> AsyncIterator[Desk]:
    """With an empty journal."""
    settings = load_settings({}, Home.at(home))
    private_directory(settings.places.root)
    if played.tokens:
        write_private(settings.places.catalog, played.tokens)
    desk = Desk.open(settings, clock=SystemClock(played.offset))
    await desk.connect(sandbox_connection(played.sandbox.ready), follow=False)
    if not played.tokens:
        await desk.refresh_reference()
    desk.catalog.load()
    try:
        yield desk
    finally:
        await desk.close()
        # It is written while the desk is in use.
        played.tokens = settings.places.catalog.read_bytes()


async def searched(desk: Desk, text: str) -> OrderSearch:
    """Everywhere."""
    catalog = desk.catalog
    pasted = read_pasted(
        text, is_symbol=lambda word: bool(catalog.rows_of_symbol(word)), begun=begun_here(desk)
    )
    search = OrderSearch(desk, pasted)
    search.look_here()
    while search.next_cost is not None:
        async for _ in search.go_on():
            pass
    return search


@pytest.mark.parametrize("paid", PAYMENTS, ids=lambda paid: paid.name)
async def test_what_a_chain_shows_is_what_was_done(
    played: Played, paid: Paid, tmp_path: Path
) -> None:
    """First by what its customer writes, then by the id of the order alone."""
    order = played.orders[paid.name]
    name = order["serviceId"]
    async with support_desk(played, tmp_path) as desk:
        search = await searched(desk, paid.message.format_map(order))
        assert name in search.found, (search.searched, search.verdict)
        assert len(search.payments) == 1, "nodes and ledger told the same"
        case = support_case(facts_of(desk, name, search))
        assert (case.diagnosis.rule, case.diagnosis.owner) == (paid.rule, paid.owner)
        assert paid.reply.format_map(order) in case.reply
        # Made elsewhere, and this desk's business all the same.
        assert order["depositAddress"] in case.escalation
        assert "The customer names transaction" not in case.escalation
        # What a chain showed stays with its order; what no chain knows is not kept, and before its
        # transaction was named to this desk the service is believed.
        again = support_case(facts_of(desk, name, await searched(desk, name))).diagnosis
        kept = (paid.rule, paid.owner) if paid.share else ("waiting", Owner.CUSTOMER)
        assert (again.rule, again.owner) == kept
