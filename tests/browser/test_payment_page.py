"""The page of the answer 402, as the service serves it to somebody who opens an address of it."""

from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from browser.conftest import Open
from corpus.texts import web_texts
from service.loopback import serving
from service.new_store import open_new
from service.orders_fixtures import venues_at
from service.test_paid_calls import TERMS, ScriptedFacilitator
from service.world import CHAINS, INTERMEDIARIES, PARTNERS, TOKENS
from swapdesk.clock import SystemClock
from swapdesk.service.app import Onchain, assemble
from swapdesk.service.observation import Call
from swapdesk.service.payments import CallTerms, PaymentNeeded
from swapdesk.service.store.records import StoredOrder
from swapdesk.web_page import LONGEST_TEXT
from swapdesk.wire.encoding.text import safe_text
from swapdesk.wire.price_tiers import PriceTier
from web_documents import hold_sealed

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Calls:
    """What the service was asked."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def answered(self, call: Call) -> None:
        self.seen.append((call.operation, call.status))

    def moved(self, order: StoredOrder, before: int | None) -> None:
        raise AssertionError("nobody creates an order")


@contextlib.asynccontextmanager
async def paid_service(terms: CallTerms, directory: Path) -> AsyncIterator[tuple[str, Calls]]:
    """The address of its tokens, and what it was asked."""
    calls, store = Calls(), open_new(directory / "service.db")
    parts = assemble(
        SystemClock(),
        random.Random(7),
        store,
        CHAINS,
        TOKENS,
        venues_at(),
        PARTNERS,
        INTERMEDIARIES,
        onchain=Onchain(payments=(terms, ScriptedFacilitator())),
        observers=(calls,),
    )
    async with serving(parts) as base:
        yield f"{base}/tokens", calls
    await store.close()


async def test_a_person_is_told_what_a_call_costs(visit: Open, tmp_path: Path) -> None:
    async with paid_service(TERMS, tmp_path) as (address, calls):
        seen = await visit(address, status=402)
        await seen.look_everywhere("payment")
        assert await seen.page.title() == "Payment required"
        told = await seen.page.locator("dd").all_inner_texts()
        assert told == [
            "eip155:8453",
            f"USD Coin, {TERMS.asset}",
            "100 in its smallest unit",
            TERMS.pay_to,
        ]
        assert calls.seen == [("list_tokens", 402)], "not even an icon is asked for"


async def test_texts_of_the_terms_stay_texts(visit: Open, tmp_path: Path) -> None:
    """Each hostile text in one of the three fields."""
    texts = web_texts()
    page = PaymentNeeded(TERMS.entry(PriceTier.READ), {}).page()
    elements = len(hold_sealed(page).elements)
    for at in range(0, len(texts), 3):
        some = (texts * 2)[at : at + 3]
        terms = replace(TERMS, name=some[0], asset=some[1], pay_to=some[2])
        async with paid_service(terms, tmp_path) as (address, calls):
            seen = await visit(address, status=402)
            await seen.look(f"payment-hostile-{at}", (360, 740), "light", judged=not at)
            assert await seen.page.title() == "Payment required"
            told = await seen.page.locator("dd").all_text_contents()
            assert told[1] == safe_text(f"{some[0]}, {some[1]}", LONGEST_TEXT)
            assert told[3] == safe_text(some[2], LONGEST_TEXT)
            assert await seen.page.locator("*").count() == elements
            assert len(calls.seen) == 1
            await seen.leave()
