"""Which verbs of the comparison work now, and what they cost; pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from swapdesk.flows.notation import countdown
from swapdesk.flows.quotes.quote_order import Arrangement
from swapdesk.flows.quotes.quote_request import cost_in_words
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.commands.quotes import (
    AllIn,
    AllRoutes,
    Back,
    DexOnly,
    Explain,
    FixedToo,
    MoreRoutes,
    NextQuote,
    Options,
    PreviousQuote,
    PrivateOnly,
    Refresh,
    Review,
    SortRows,
    StandardOnly,
)
from swapdesk.tui.quote_question import QuoteQuestion
from swapdesk.wire.quotes import RouteType

_TYPE_OF: dict[type[Command], RouteType] = {
    StandardOnly: RouteType.STANDARD,
    PrivateOnly: RouteType.PRIVATE,
    DexOnly: RouteType.DEX,
}


@dataclass(frozen=True)
class QuoteState:
    """What the standing of a verb depends on. ``explained``: a panel stands beside the rows that
    can be closed. ``wait`` is seconds until the budget allows; ``again`` says when the desk asks
    by itself, ``most`` how many calls one may become."""

    question: QuoteQuestion
    board: QuoteResult | None
    row: RankedQuote | None
    arrangement: Arrangement
    asking: bool
    explained: bool
    wait: float | None
    now: datetime
    again: str = ""
    most: int = 1


def standing_of(verb: type[Command], state: QuoteState) -> CommandState:
    """Cost, lock and visibility of one verb."""
    board, row = state.board, state.row
    rows = board.ranking.rows if board is not None else ()
    if verb is Review:
        return HIDDEN if row is None or row.expired(state.now) else READY
    if verb is Back:
        return CommandState(verb="close") if state.explained else READY
    if verb is Explain:
        if row is None:
            return HIDDEN
        return CommandState(verb="close") if state.explained else READY
    if verb is Refresh:
        cost = cost_in_words(state.question.wish, state.most)
        return _asking(state) or CommandState(cost=cost)
    if verb is FixedToo:
        if board is None or state.question.wish.fixed:
            return HIDDEN
        return _asking(state) or CommandState(cost="1 quote")
    if verb is Options:
        return HIDDEN if state.asking else READY
    if verb in _TYPE_OF:
        return _narrowing(verb, state)
    if verb is AllRoutes:
        return READY if state.arrangement.only is not None else HIDDEN
    if verb is MoreRoutes:
        return _folding(state)
    if verb in (NextQuote, PreviousQuote):
        return READY if len(rows) > 1 else HIDDEN
    if verb in (SortRows, AllIn):
        if len(rows) < 2:
            return HIDDEN
        back = verb is AllIn and state.arrangement.all_in
        return CommandState(verb="net ranking") if back else READY
    return READY


def _folding(state: QuoteState) -> CommandState:
    if state.board is None:
        return HIDDEN
    arrangement = state.arrangement
    folded = arrangement.unfolded(False)
    if not folded.left_out(folded.arrange(state.board.ranking, state.now)):
        return HIDDEN
    return CommandState(verb="fewer routes") if arrangement.whole else READY


def _asking(state: QuoteState) -> CommandState | None:
    if state.asking:
        return CommandState(locked="asked already")
    if state.again:
        return CommandState(locked=state.again)
    if state.wait:
        return CommandState(locked=f"next one in {countdown(state.wait)}")
    return None


def _narrowing(verb: type[Command], state: QuoteState) -> CommandState:
    kind, board = _TYPE_OF[verb], state.board
    if state.arrangement.only is kind:
        return CommandState(verb="all routes")
    if board is None:
        return HIDDEN
    ranking = board.ranking
    quotes = [*(r.quote for r in ranking.rows), *(entry.quote for entry in ranking.unusable)]
    of_kind = sum(quote.type == kind for quote in quotes)
    return READY if 0 < of_kind < len(quotes) else HIDDEN
