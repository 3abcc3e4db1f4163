"""Every case that a sandbox can be brought to, by every text that leads to it.

The cases are made once (``stories``), by faults and payments; then a support desk that never saw
their orders is asked, text by text. The first text of a case finds its order over the service and
the chains, the next ones in the journal. Every run takes some texts of each case, others of the
next; with ``--full`` all are taken, and each is the first once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec import Struct

from flows.support.stories import LAST, STORIES, Practice, Story, Told, texts_to
from harness import Sandbox, running_sandbox
from plain_http import PLAIN
from swapdesk.clock import SystemClock
from swapdesk.flows.connection import sandbox_connection
from swapdesk.flows.desk import Desk
from swapdesk.flows.support.diagnosis import Owner
from swapdesk.flows.support.order_search import OrderSearch
from swapdesk.flows.support.pasted_text import read_pasted
from swapdesk.flows.support.replies import NO_SECRETS
from swapdesk.flows.support.support_case import facts_of, support_case
from swapdesk.paths import Home, private_directory, write_private
from swapdesk.settings import load_settings

SAMPLE = 5
"""Texts of each case in every run."""


class Played(Struct):
    sandbox: Sandbox
    cases: dict[str, Told]
    offset: float
    """Seconds that the sandbox is ahead of this machine."""
    tokens: bytes = b""
    """The list of tokens as the first desk took it from the service."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with running_sandbox(tmp_path_factory.mktemp("practice"), speed=600) as sandbox:
        cases = Practice(sandbox).play()
        offset = float(sandbox.control("GET", "/state")["offset"])
        yield Played(sandbox, cases, offset)


class CountedNetwork(httpx2.AsyncBaseTransport):
    """The network of this machine, which counts what the service is asked."""

    def __init__(self) -> None:
        self._inner = httpx2.AsyncHTTPTransport(verify=PLAIN)
        self.asked = self.all = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.all += 1
        self.asked += request.url.path.startswith("/v2/")
        return await self._inner.handle_async_request(request)


class Support(Struct):
    """A desk with an empty journal, and the requests that it sent."""

    desk: Desk
    network: CountedNetwork

    async def look(self, text: str, name: str) -> tuple[OrderSearch, int]:
        """Search until ``name`` is found; the search with the requests that went out."""
        pasted = read_pasted(
            text, is_symbol=lambda word: bool(self.desk.catalog.rows_of_symbol(word))
        )
        assert not pasted.problem, (text, pasted)
        search = OrderSearch(self.desk, pasted)
        before, all_before = self.network.asked, self.network.all
        search.look_here()
        assert self.network.all == all_before, "what is here costs nothing"
        while (cost := search.next_cost) is not None:
            spent = self.network.asked
            async for _ in search.go_on():
                pass
            assert self.network.asked - spent <= cost.reads, (text, cost)
        assert name in search.found, (text, search.searched, search.verdict)
        return search, self.network.asked - before


@asynccontextmanager
async def support_desk(played: Played, home: Path) -> AsyncIterator[Support]:
    settings = load_settings({}, Home.at(home))
    private_directory(settings.places.root)
    if played.tokens:
        write_private(settings.places.catalog, played.tokens)
    network = CountedNetwork()
    desk = Desk.open(settings, clock=SystemClock(played.offset), transport=network)
    await desk.connect(sandbox_connection(played.sandbox.ready), follow=False)
    if played.tokens:
        desk.catalog.load()
    else:
        await desk.refresh_reference()
        desk.catalog.load()
    try:
        yield Support(desk, network)
    finally:
        await desk.close()
        if not played.tokens:
            played.tokens = settings.places.catalog.read_bytes()


def wanted(story: Story, *, looked: bool) -> tuple[str, Owner]:
    """What a chain shows is known once its transaction was named to this desk; before, the service
    is believed."""
    if story.begins == LAST and not looked:
        return "waiting", Owner.CUSTOMER
    return story.rule, story.owner


@pytest.mark.parametrize("story", STORIES, ids=[story.name for story in STORIES])
async def test_every_text_leads_to_the_case_its_rule_and_who_acts(
    played: Played, story: Story, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    told = played.cases[story.name]
    texts = list(texts_to(told))
    name = told.order["serviceId"]
    # Another kind of text is the first in each case, so that all of them are.
    turn = STORIES.index(story) % len(texts)
    full = pytestconfig.getoption("--full")
    starts, count = (range(len(texts)), len(texts)) if full else ((turn,), SAMPLE)
    for start in starts:
        async with support_desk(played, tmp_path / str(start)) as support:
            looked = False
            for kind, text in (texts[start:] + texts[:start])[:count]:
                search, spent = await support.look(text, name)
                facts = facts_of(support.desk, name, search)
                assert facts is not None
                case = support_case(facts)
                found = case.diagnosis
                looked = looked or bool(search.payments)
                expected = wanted(story, looked=looked)
                assert (found.rule, found.owner) == expected, (kind, text, found)
                assert spent <= 40, (kind, spent)
                assert case.reply.count(NO_SECRETS) == 1
                assert name in case.escalation


def test_there_are_at_least_forty_cases_of_every_kind() -> None:
    assert len(STORIES) >= 40
    assert len({story.rule for story in STORIES}) >= 20
    assert {story.owner for story in STORIES} == set(Owner)


def test_texts_of_every_kind_lead_to_cases(played: Played) -> None:
    kinds: dict[str, int] = {}
    for told in played.cases.values():
        for kind, _ in texts_to(told):
            kinds[kind] = kinds.get(kind, 0) + 1
    assert kinds.keys() == {
        "order id", "beginning of the id", "deposit address", "receiver", "refund address", "memo",
        "group id", "payout", "refund", "amount", "transaction", "link", "e-mail",
        "e-mail with an address",
    }  # fmt: skip
    assert sum(kinds.values()) >= 300


async def test_what_a_chain_shows_is_what_was_done(played: Played, tmp_path: Path) -> None:
    """Amount, token, chain and memo of a payment, as its reader may compare them."""
    shown: dict[str, str] = {}
    async with support_desk(played, tmp_path) as support:
        for name, told in played.cases.items():
            if told.hash is None or told.story.begins != LAST:
                continue
            search, _ = await support.look(told.hash, told.order["serviceId"])
            payment = search.payment_of(told.order["serviceId"])
            assert payment is not None, name
            assert len(search.payments) == 1, "nodes and ledger told the same"
            shown[name] = payment.what + " on " + payment.chain_name
    half: Any = played.cases["paid too little"].order["inAmount"] / 2
    assert shown["paid too little"].startswith(f"{half.normalize():f}"[:6])
    assert shown["paid in another token"] == "2 WETH on Base"
    assert shown["paid on another chain"] == "2 USDC on Ethereum"


class Message(Struct, frozen=True):
    """What a customer writes about a story, and the rule that answers it. ``{id}`` and the other
    names are of the order; an empty ``rule`` is rightly not here."""

    story: str
    rule: str
    text: str
    replies: tuple[str, ...] = ()
    """What the reply has besides the id of the order."""


ELSEWHERE = Story("of another partner", "", Owner.SUPPORT, LAST, paid=None, provider=None)
NEVER = "h8Kq2PdT5mXcVbN3wRtY7z"
NO_SUCH = "8f2c" * 16

MESSAGES = (
    Message("held", "held", "Hi, my order {id} has been stuck since noon. Is my money gone?"),
    Message(
        "waiting in a group", "waiting", "Hello, we pay {group} tomorrow, is that still in time?"
    ),
    Message(
        "of another partner", "",
        "Hello,\n\nI wait for order {id}. Nothing has come.\n\nRegards, Alice",
        ("{id}", "If you have paid, send us the transaction hash"),
    ),
    Message(
        "completed", "completed",
        "Hola, el pedido {id} dice completado y no veo nada en mi monedero.",
        ("{payout}", "Your order is complete"),
    ),
    Message(
        "paid without its memo", "payment-memo-missing",
        "Buenos días: envié los XRP pero olvidé la etiqueta. Transacción: {hash}",
    ),
    Message(
        "deleted", "deleted", "¿Qué pasó con mi orden {short}? Ya no aparece.", ("was deleted",)
    ),
    Message(
        "late to nobody", "late-stuck",
        "Guten Tag, ich habe zu spät bezahlt. Bestellung „{id}“, Transaktion {hash}. Was nun?",
        ("Tell us the address",),
    ),
    Message(
        "paid too little", "payment-too-little",
        "Hallo, versehentlich zu wenig gesendet: {hash}. Kommt das Geld zurück?",
    ),
    Message(
        "paid on another chain", "payment-wrong-chain",
        "Ich habe USDC an {deposit} geschickt, Hash {hash}, aber nichts passiert.",
        ("on Ethereum", "USDC on Base"),
    ),
    Message(
        "refunded", "refunded",
        "Bonjour, ma commande «{id}» est remboursée, mais où est l'argent ?",
        ("{refunded} BTC went back to", "gives no reason", "{refund}"),
    ),
    Message(
        "expired unpaid", "payment-missing",
        f"J'ai payé la commande {{id}} : voici le hash {NO_SUCH}.",
        (f"does not know the transaction {NO_SUCH} of your payment",),
    ),
    Message(
        "held in the second leg", "held", "Ma commande n°{short} reste bloquée au second échange."
    ),
    Message("failed with the deposit", "failed-stuck", "您好，我的订单{id}失败了，钱在哪里？"),
    Message(
        "rerouted", "rerouted", "订单：{id}。显示完成，收款地址【{receiver}】没有到账。",
        ("{payout}",),
    ),
    Message(
        "never", "", f"请查一下订单“{NEVER}”，付款哈希：0x{NO_SUCH}。",
        (NEVER, NO_SUCH, "We pass this on to the exchange service"),
    ),
)  # fmt: skip


async def test_fifteen_messages_in_five_languages_are_answered_rightly(
    played: Played, tmp_path: Path
) -> None:
    """Found or rightly said not to be here, with the right diagnosis; nothing that was given is
    asked for again."""
    cases = {
        **played.cases,
        ELSEWHERE.name: Practice(played.sandbox, 1).begun(ELSEWHERE),
        "never": Told(ELSEWHERE, {"serviceId": NEVER}),
    }
    wrong: list[object] = []
    async with support_desk(played, tmp_path) as support:
        for message in MESSAGES:
            told = cases[message.story]
            names = names_of(told)
            pasted = read_pasted(
                message.text.format_map(names),
                is_symbol=lambda word: bool(support.desk.catalog.rows_of_symbol(word)),
            )
            search = OrderSearch(support.desk, pasted)
            search.look_here()
            while search.next_cost is not None:
                async for _ in search.go_on():
                    pass
            reply, escalation, rules = search.reply, search.escalation, {""}
            if search.found:
                facts = (facts_of(support.desk, name, search) for name in search.found)
                found = [support_case(one) for one in facts if one is not None]
                rules = {case.diagnosis.rule for case in found}
                reply, escalation = found[0].reply, found[0].escalation
                # Made elsewhere, and this desk's business all the same.
                assert told.order.get("depositAddress", "") in escalation
            here = set(search.found) if message.rule else {names["id"]}
            wanted = [text.format_map(names) for text in message.replies]
            if rules != {message.rule} or names["id"] not in here:
                wrong.append((message, rules, search.found, search.searched))
            wrong += [(message, text, reply) for text in wanted if text not in reply]
            assert "Not of this desk" not in reply + escalation
            assert not message.rule or "The customer names transaction" not in escalation
            given = {"{id}": "order id", "{hash}": "transaction hash", NO_SUCH: "transaction hash"}
            wrong += [
                (message, asked, reply)
                for name, asked in given.items()
                if name in message.text and asked in reply
            ]
    assert wrong == []
    assert len(MESSAGES) == 15


def names_of(told: Told) -> dict[str, str]:
    order = told.order
    payout = order.get("outTransactionOutHash") or order.get("inTransactionOutHash")
    return {
        "id": order["serviceId"],
        "short": order["serviceId"][:6],
        "group": told.multi_id or "",
        "hash": told.hash or "",
        "deposit": order.get("depositAddress", ""),
        "receiver": order.get("receiverAddress", ""),
        "payout": payout or "",
        "refund": order.get("refundHash", ""),
        "refunded": str(order.get("refundAmount", "")),
    }
