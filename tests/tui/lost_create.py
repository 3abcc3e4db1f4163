"""A create that was carried out, and no answer for as long as the desk looks for its order."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import httpx2

from swapdesk.tui.screens.create import CreateScreen
from swapdesk.tui.screens.unfinished import CandidatesScreen
from swapdesk.wire.exchanges import ExchangeRequest
from tui.desk_run import DeskRun, Market

SILENCE = timedelta(minutes=5)


def unheard(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """No answer about an order arrives."""
    if request.url.path.startswith(("/v2/exchanges", "/v2/orders")):
        raise httpx2.RemoteProtocolError("gone", request=request)
    return response


def answers_are_lost(market: Market) -> None:
    """From the second create on nothing is heard of orders for :data:`SILENCE`."""
    creates: list[datetime] = []

    def lost(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if request.url.path == "/v2/exchanges":
            creates.append(market.clock.now())
        silent = len(creates) > 1 and market.clock.now() - creates[1] < SILENCE
        return unheard(request, response) if silent else response

    market.network.after = lost


async def looked_for_in_vain(run: DeskRun) -> str:
    """The end of the look for the order of a create; its intent."""
    screen = run.screen(CreateScreen)
    await run.in_time(lambda: screen.state.step == "unknown", "the end of the look")
    return screen.state.sent_intent


async def to_candidates(run: DeskRun) -> None:
    """The orders that may be it: another program's, made meanwhile, and the desk's own."""
    await run.to_form()
    screen = run.screen(CreateScreen)
    bob = run.app.session.desk.book.entry("bob")
    kind = screen.state.row.quote.type
    others = [one for one in screen.state.result.ranking.rows if one.quote.type == kind]
    other = next(one for one in others if one.quote_id != screen.state.row.quote_id)
    await run.app.session.desk.link.api.create_exchange(
        ExchangeRequest(quote_id=other.quote_id, address_to=bob.address)
    )
    await run.enter("@bob")
    await run.press_still("c", sees="The service did not answer.")
    clock = run.clock
    sent_at = clock.now()
    intent = await looked_for_in_vain(run)
    clock.advance(SILENCE.total_seconds())
    await run.app.push_screen(CandidatesScreen(run.app.session, intent))
    # The desk looks by itself too, and the user waits meanwhile.
    while "2 orders since then may be this one." not in run.text:
        clock.advance(5)
        await run.press("r")
        assert clock.now() - sent_at < timedelta(hours=1), run.text
    await run.calm()


def without_order_ids(run: DeskRun, text: str) -> str:
    """The text with the ids of the orders, which are drawn at random, replaced."""
    look = run.screen(CandidatesScreen).look
    for at, one in enumerate(look.candidates if look is not None else ()):
        text = re.sub(re.escape(one.service_id[:6]), "XXXXX" + "AB"[at % 2], text)
    return text
