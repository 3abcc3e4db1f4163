"""Cases of support, made by the faults of one sandbox, and the texts that lead to each.

The sandbox goes on only when its clock is moved. The stories that end late begin first; when all
stand where they belong the world is stopped, and what was paid last is seen on the chains alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import httpx2
from msgspec import Struct, field

from harness import Sandbox, wait_for
from patience import PATIENCE
from plain_http import PLAIN
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.support.diagnosis import Owner
from swapdesk.sandbox.world import find_token

CUSTOMER, SUPPORT, SERVICE, CHAIN, NOBODY = (
    Owner.CUSTOMER,
    Owner.SUPPORT,
    Owner.SERVICE,
    Owner.CHAIN,
    Owner.NOBODY,
)
FIRST, THEN, LAST = range(3)
"""Played to where it stands, stopped on its way, and begun when the world stands still."""
QUICK, SLOW, STILL = 600, 60, 0.01


class Story(Struct, frozen=True):
    """What is asked for, what goes wrong and what is paid; then the rule that holds, and who acts.

    ``paid`` is the share of the amount that is paid, None for nothing."""

    name: str
    rule: str
    owner: Owner
    begins: int = FIRST
    pair: tuple[tuple[str, str], tuple[str, str]] = (("bitcoin", "BTC"), ("ethereum", "ETH"))
    types: str = "standard"
    provider: str | None = "cb"
    query: dict[str, str] = field(default_factory=dict)
    refund: bool = False
    faults: tuple[dict[str, Any], ...] = ()
    paid: str | None = "1"
    memo: str | None = None
    late: bool = False
    """Paid once the order has expired."""
    gift: tuple[str, str] | None = None
    """Paid with this token of this chain instead, to the same address."""
    stops: bool = False
    """Its exchange cannot be reached once it has the deposit."""
    unmined: bool = False
    """Its payment is in no block yet."""
    held: int = 0
    """The leg status to wait for, where the order does not end."""
    group: int = 0
    """So many orders of a group."""
    only_id: bool = False
    """The service tells nothing else of it."""

    @property
    def unpaid(self) -> bool:
        """Whether it waits for its deadline."""
        return self.late or self.paid is None

    def address(self, kind: str, of: str) -> str:
        return derive_address(kind, hashlib.sha256(f"{self.name} {of}".encode()).digest())


def fault(name: str, leg: str | None = None) -> tuple[dict[str, Any], ...]:
    return ({"fault": name, **({"leg": leg} if leg else {})},)


FIXED = {"fixed": "true"}
USDC_BASE = (("base", "USDC"), ("bitcoin", "BTC"))
XRP = (("xrp", "XRP"), ("bitcoin", "BTC"))
SOL = (("solana", "SOL"), ("bitcoin", "BTC"))

STORIES = (
    # Over, or held up.
    Story("expired unpaid", "expired", NOBODY, paid=None),
    Story("expired private", "expired", NOBODY, paid=None, types="private", provider=None),
    Story("late to nobody", "late-stuck", SUPPORT, late=True),
    Story("late and returned", "refunded", NOBODY, late=True, refund=True),
    Story("expired by the exchange", "expired", NOBODY, paid=None, faults=fault("expire")),
    Story("completed", "completed", NOBODY),
    Story("completed by another exchange", "completed", NOBODY, provider="hy"),
    Story("completed private", "completed", NOBODY, types="private", provider=None),
    Story("completed on solana", "completed", NOBODY, pair=SOL, provider=None),
    Story("completed with a memo", "completed", NOBODY, pair=XRP, provider="cb"),
    Story("completed in tokens", "completed", NOBODY, pair=USDC_BASE, provider=None),
    Story("refunded", "refunded", NOBODY, refund=True, faults=fault("refund"), provider="hy"),
    Story(
        "refunded without an amount", "refunded", NOBODY, refund=True, faults=fault("refund"),
        provider="kt",
    ),
    Story("refund to nobody", "failed-stuck", SUPPORT, faults=fault("refund")),
    Story(
        "failed with the deposit", "failed-stuck", SUPPORT, refund=True,
        faults=fault("fail_after_deposit"),
    ),
    Story(
        "failed half way", "not-refundable", SUPPORT, types="private", provider=None,
        faults=fault("fail_after_deposit", "out"),
    ),
    Story(
        "fixed and failed half way", "refunded-first-token", NOBODY, types="private",
        provider=None, query=FIXED, refund=True, faults=fault("fail_after_deposit", "out"),
    ),
    Story("held", "held", SUPPORT, faults=fault("hold"), held=8),
    Story("held with a memo", "held", SUPPORT, pair=XRP, faults=fault("hold"), held=8),
    Story(
        "held in the second leg", "held", SUPPORT, types="private", provider=None,
        faults=fault("hold", "out"), held=8,
    ),
    Story("fallback", "paid-by-fallback", NOBODY, faults=fault("fallback")),
    Story(
        "fallback in the second leg", "paid-by-fallback", NOBODY, types="private", provider=None,
        faults=fault("fallback", "out"),
    ),
    Story("rerouted", "rerouted", NOBODY, faults=fault("reroute"), provider="hy"),
    Story(
        "first leg rerouted", "rerouted", NOBODY, types="private", provider=None,
        faults=fault("reroute", "in"),
    ),
    Story(
        "second leg rerouted", "rerouted", NOBODY, types="private", provider=None,
        faults=fault("reroute", "out"),
    ),
    Story("short and returned", "refunded", NOBODY, refund=True, paid="0.0001"),
    Story("short to nobody", "failed-stuck", SUPPORT, paid="0.0001"),
    Story("less than asked", "completed", NOBODY, paid="0.5"),
    Story("more than asked", "completed", NOBODY, paid="2"),
    Story(
        "more than a fixed rate takes", "part-returned", NOBODY, query=FIXED, refund=True,
        paid="2", provider="hy",
    ),
    Story("deleted", "deleted", NOBODY, paid=None, faults=fault("delete"), only_id=True),
    # On its way, far over its time.
    Story("stopped on its way", "late", SUPPORT, THEN, provider="ar", stops=True),
    # The service goes on no further.
    Story("waiting", "waiting", CUSTOMER, LAST, paid=None),
    Story("waiting private", "waiting", CUSTOMER, LAST, paid=None, types="private", provider=None),
    Story("waiting in a group", "waiting", CUSTOMER, LAST, paid=None, group=2),
    Story("paid in coins", "payment-as-asked", SERVICE, LAST),
    Story("paid just now", "payment-not-in-a-block", CHAIN, LAST, unmined=True),
    Story("paid too little", "payment-too-little", SERVICE, LAST, paid="0.5"),
    Story("paid too much", "payment-too-much", SERVICE, LAST, paid="2"),
    Story("paid with its memo", "payment-as-asked", SERVICE, LAST, pair=XRP),
    Story("paid without its memo", "payment-memo-missing", SUPPORT, LAST, pair=XRP, memo=""),
    Story("paid with another memo", "payment-another-memo", SUPPORT, LAST, pair=XRP, memo="77"),
    Story("paid in tokens", "payment-as-asked", SERVICE, LAST, pair=USDC_BASE, provider=None),
    Story(
        "paid in another token", "payment-wrong-token", SUPPORT, LAST, pair=USDC_BASE,
        provider=None, gift=("base", "WETH"),
    ),
    Story(
        "paid on another chain", "payment-wrong-chain", SUPPORT, LAST, pair=USDC_BASE,
        provider=None, gift=("ethereum", "USDC"),
    ),
)  # fmt: skip


class Told(Struct):
    """A story as it was played: the order as its partner reads it, and what was paid."""

    story: Story
    order: dict[str, Any]
    hash: str | None = None
    multi_id: str | None = None


class Practice:
    """Plays all stories over a sandbox whose clock it moves."""

    def __init__(self, sandbox: Sandbox, partner_number: int = 0) -> None:
        self._sandbox = sandbox
        partner = sandbox.partner("PRO", partner_number)
        self._api = httpx2.Client(
            base_url=sandbox.ready["url"],
            headers={"Authorization": f"{partner['apiKey']}:{partner['apiSecret']}"},
            trust_env=False,
            timeout=PATIENCE,
            verify=PLAIN,
        )
        self._told: dict[str, Told] = {}
        self.offset = 0.0
        """Seconds that the sandbox is ahead of this machine."""

    def play(self, stories: Sequence[Story] = STORIES) -> dict[str, Told]:
        for begins, speed in ((FIRST, QUICK), (THEN, SLOW)):
            self._sandbox.control("POST", "/clock", {"speed": speed})
            chosen = [story for story in stories if story.begins == begins]
            for story in chosen:
                self._begin(story)
            self._settle(chosen)
        # Far over the time that any exchange means to take.
        self._sandbox.control("POST", "/clock", {"advance": 2 * 3600, "speed": STILL})
        last = [story for story in stories if story.begins == LAST]
        for story in last:
            self._begin(story)
        self._pay_unseen([self._told[story.name] for story in last])
        for told in self._told.values():
            told.order = self._order(told.order["serviceId"])
        self._api.close()
        return self._told

    def begun(self, story: Story) -> Told:
        """A story of which nothing happens after it was asked for."""
        self._begin(story)
        self._api.close()
        return self._told[story.name]

    def _begin(self, story: Story) -> None:
        if story.group:
            self._told[story.name] = self._group(story)
            return
        quote = self._quote(story)
        sold, bought = (find_token(*place) for place in story.pair)
        body = {"quoteId": quote["quoteId"], "addressTo": story.address(bought.chain.kind, "to")}
        if story.refund:
            body["refundAddress"] = story.address(sold.chain.kind, "back")
        order = self._ask("POST", "/exchanges", json=body)
        told = self._told[story.name] = Told(story, order)
        for wrong in story.faults:
            self._sandbox.fault(**wrong, serviceId=order["serviceId"])
        if story.paid is not None and not story.late and story.begins != LAST:
            self._pay(told)

    def _group(self, story: Story) -> Told:
        sold, bought = find_token("ethereum", "ETH"), find_token("bitcoin", "BTC")
        orders = [
            {
                "from": sold.token_id,
                "to": bought.token_id,
                "amount": 0.71 + at / 100,
                "addressTo": story.address("bitcoin", f"to {at}"),
            }
            for at in range(story.group)
        ]
        made = self._ask("POST", "/exchanges/multi", json={"orders": orders})
        name = made["orders"][0]["order"]["serviceId"]
        # A group is set up in the background.
        ready = wait_for(lambda: self._set_up(name), what="the group")
        return Told(story, ready, multi_id=made["multiId"])

    def _set_up(self, service_id: str) -> dict[str, Any] | None:
        order = self._order(service_id)
        return order if order.get("depositAddress") else None

    def _quote(self, story: Story) -> dict[str, Any]:
        sold, bought = (find_token(*place) for place in story.pair)
        worth = {"BTC": "0.1", "USDC": "7000", "XRP": "3000", "SOL": "40"}[sold.row.symbol]
        # Each has an amount of its own, so that it names one order.
        amount = Decimal(worth) * (1 + Decimal(len(self._told) + 1) / 1000)
        asked = {
            "from": sold.token_id,
            "to": bought.token_id,
            "amount": f"{amount.normalize():f}",
            "types": story.types,
            **story.query,
        }
        quotes = self._ask("GET", "/quotes", params=asked)["quotes"]
        fit = [
            quote
            for quote in quotes
            if "error" not in quote and story.provider in (None, quote.get("swap"))
        ]
        assert fit, (story, quotes)
        found: dict[str, Any] = fit[0]
        return found

    def _pay(self, told: Told) -> None:
        story, name = told.story, told.order["serviceId"]
        if story.gift is not None:
            chain, symbol = story.gift
            given = {"chain": chain, "address": told.order["depositAddress"], "token": symbol}
            told.hash = self._sandbox.control("POST", "/faucet", {**given, "amount": 2})["hash"]
            return
        body: dict[str, Any] = {"serviceId": name}
        if story.paid != "1":
            places = Decimal(1).scaleb(-find_token(*story.pair[0]).row.decimals)
            amount = Decimal(str(told.order["inAmount"])) * Decimal(str(story.paid))
            body["amount"] = float(amount.quantize(places))
        if story.memo is not None:
            body["memo"] = story.memo
        told.hash = self._sandbox.control("POST", "/deposits", body)["hash"]

    def _pay_unseen(self, told: list[Told]) -> None:
        """Pay while the exchanges cannot be reached: the chains alone show it."""
        for venue in {one.order["in"] for one in told if "in" in one.order}:
            self._sandbox.fault("venue_down", venue=venue)
        for one in told:
            if one.story.paid is not None and not one.story.unmined:
                self._pay(one)
        self._sandbox.control("POST", "/clock", {"speed": QUICK})
        wait_for(lambda: all(map(self._mined, told)), what="blocks")
        self._sandbox.control("POST", "/clock", {"speed": STILL})
        for one in told:
            if one.story.unmined:
                self._pay(one)

    def _mined(self, told: Told) -> bool:
        """Whether a block has its payment; the faucet itself waits for those of embedded chains."""
        if told.hash is None:
            return True
        found = self._sandbox.control("POST", "/transfers", {"hash": told.hash})["transfer"]
        return found is None or found["confirmations"] > 0

    def _settle(self, chosen: list[Story]) -> None:
        """Move on until each is over, is held, or is stopped where it shall stand."""
        open_ = {story.name: story for story in chosen}

        def settled() -> bool:
            now = self._orders()
            for name, story in list(open_.items()):
                told, order = self._told[name], now[self._id(name)]
                if story.late and told.hash is None and order["status"] == 5:
                    self._pay(told)
                elif self._stands(story, order):
                    del open_[name]
                    if story.stops:
                        self._sandbox.fault("venue_down", venue=story.provider)
                elif story.stops and order["status"] >= 4:
                    # It was quicker than anybody looked: once more.
                    self._begin(story)
            if open_ and all(story.unpaid for story in open_.values()):
                # Only the deadline is waited for, which no speed brings nearer.
                self._sandbox.control("POST", "/clock", {"advance": 31 * 60})
            return not open_

        try:
            wait_for(settled, what="every story")
        except AssertionError:
            raise AssertionError(f"not over: {sorted(open_)}") from None

    def _stands(self, story: Story, order: dict[str, Any]) -> bool:
        if story.stops:
            return order["status"] in (1, 2)
        if story.held:
            return story.held in (order["inStatus"], order.get("outStatus"))
        if story.late:
            return order["status"] == 7 or bool(order.get("actionRequired"))
        return bool(order["status"] >= 4)

    def _id(self, name: str) -> str:
        return str(self._told[name].order["serviceId"])

    def _orders(self) -> dict[str, dict[str, Any]]:
        listed = self._ask("GET", "/orders")
        return {order["serviceId"]: order for order in listed["orders"]}

    def _order(self, service_id: str) -> dict[str, Any]:
        order: dict[str, Any] = self._ask("GET", f"/orders/{service_id}")
        return order

    def _ask(self, method: str, path: str, **options: Any) -> Any:
        answer = self._api.request(method, path, **options)
        assert answer.status_code == 200, (path, options, answer.text)
        return json.loads(answer.text, parse_float=Decimal)


def texts_to(told: Told) -> Iterator[tuple[str, str]]:
    """Every kind of text that a customer may have, and that leads to the order."""
    order, story = told.order, told.story
    name = order["serviceId"]
    yield "order id", name
    if story.only_id:
        return
    yield "beginning of the id", name[:7]
    yield "deposit address", order["depositAddress"]
    yield "receiver", order["receiverAddress"]
    if order.get("refundAddress"):
        yield "refund address", order["refundAddress"]
    if order.get("depositTag"):
        yield "memo", order["depositTag"]
    if told.multi_id:
        yield "group id", told.multi_id
    payout = order.get("outTransactionOutHash") or order.get("inTransactionOutHash")
    if payout:
        yield "payout", payout
    if order.get("refundHash"):
        yield "refund", order["refundHash"]
    amount = f"{order['inAmount']} {order['inSymbol']}"
    yield "amount", amount
    if told.hash:
        yield "transaction", told.hash
        yield "link", f"https://explorer.example/tx/{told.hash}?utm=mail"
        yield "e-mail", E_MAIL.format(told=f"The transaction is {told.hash}")
    else:
        yield "e-mail", E_MAIL.format(told=f"The order is {name}, over {amount}")
    yield "e-mail with an address", E_MAIL.format(told=f"I pay to {order['depositAddress']}!")


E_MAIL = """From: Alice <alice@example.com>
Message-ID: <1f2e3d4c5b6a7988@mail.example.com>
Subject: Where is my money?

Hello,

since two o'clock I wait for my coins. {told}.

Best regards, Alice
"""
