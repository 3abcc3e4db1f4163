"""The review of a payload and the progress of signing sessions, as lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from swapdesk.flows.intents.intent import COIN_DECIMALS
from swapdesk.flows.notation import countdown, exact_amount, grouped_address
from swapdesk.flows.signing.review_words import (
    NOTHING_SIGNED,
    Moved,
    Names,
    digest_groups,
    match_count,
    match_rows,
    moved,
    objections,
)
from swapdesk.flows.signing.signing_session import SigningSession, Stage
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.tui.glyphs import BECOMES, DOT, MOVING, REFUSED, TROUBLE, VALID, WAITING
from swapdesk.tui.spans import (
    Line,
    LineLike,
    Span,
    cut,
    fill,
    line_of,
    rule,
    ruled,
    width_of,
    wrapped,
)
from swapdesk.tui.widgets.frame import MoneyState
from swapdesk.tui.widgets.match_lines import ADDRESS, LEAST_LABEL, match_heads, match_table
from swapdesk.wallet.payload import OperationPayload, SolanaPayload, TransactionPayload
from swapdesk.wallet.review import Match, Review, Severity
from swapdesk.wallet.transactions import TransactionState

URGENT_SECONDS = 15
LABEL = LEAST_LABEL + 2
LONG_MARK = 26
"""Cells of the mark beside a digest."""


class SignState(Struct, frozen=True):
    """``short``: a screen of few rows; ``roomy``: one that has the rows for empty ones;
    ``headed``: one that has a row for the heading, or is read on below it."""

    session: SigningSession
    short: bool
    roomy: bool = False
    headed: bool = True


def context_of(session: SigningSession) -> str:
    """``2 of 2 · 1,000 USDC → WETH``, with the chain of what is bought where it is another."""
    place = session.place
    which = "" if place is None else f"{place[0]} of {place[1]} {DOT} "
    return which + subject_of(session)


def subject_of(session: SigningSession) -> str:
    """``1,000 USDC → WETH`` of a swap, ``1,000 USDC → order m1Xc7D`` of a deposit."""
    if session.called:
        return session.called
    return f"{_paid(session)} {BECOMES} {session.against}"


def _paid(session: SigningSession) -> str:
    return f"{exact_amount(session.amount)} {session.token.symbol}"


def sign_lines(state: SignState, width: int) -> list[Line]:
    """The body under the steps; of a review what is read on and back below its heading."""
    session = state.session
    review = session.review
    if review is not None:
        return review_lines(session, review, width, roomy=state.roomy)[1]
    if session.outcome is not None:
        return _end_lines(session, session.outcome, width, short=state.short)
    if session.stage is Stage.LOCKED:
        return _locked_lines(session, width)
    return wrapped(Span(session.doing), width)


def heading_lines(state: SignState, width: int) -> list[Line]:
    """What is signed and what its columns are called: it stays while the rest is read."""
    review = state.session.review
    if review is None or not state.headed:
        return []
    return review_lines(state.session, review, width, roomy=state.roomy)[0]


def state_for(
    session: SigningSession, width: int, height: int, *, short: bool, gap: int
) -> SignState:
    """How what is signed is drawn in ``height`` rows, of which a roomy screen has ``gap`` more
    empty: with all that is empty, else without it, and without its heading only where nothing is
    left to be read on then."""
    if session.review is None:
        return SignState(session, short, roomy=not short)
    heading, body = review_lines(session, session.review, width)
    if not short and len(heading) + len(body) <= height - gap:
        return SignState(session, short, roomy=True)
    heading, body = review_lines(session, session.review, width, roomy=False)
    whole = len(body) <= height < len(heading) + len(body)
    return SignState(session, short, headed=not whole)


def review_lines(
    session: SigningSession, review: Review, width: int, *, roomy: bool = True
) -> tuple[list[Line], list[Line]]:
    """One review: the title with the heads of the columns; and the match table, what happens, the
    count, the digest."""
    gap: list[Line] = [[]] if roomy else []
    fields = match_rows(review, names_of(session))
    title: Line = [Span(review.title, bold=True), Span(f"  {_kind(session)}", "muted")]
    if width_of(title) > width and not roomy:
        title = cut([Span(review.title, bold=True)], width)
    head = [*wrapped(title, width), *gap, match_heads(fields, width)]
    head += [rule(width)] if roomy else []
    rows = match_table(fields, width)
    rows += [*gap, *_objections(review, width), *_happens(session, review, width)]
    rows += [*_labelled("Match", _matched(session, review), width), *gap]
    return head, rows + _digest(review, width, one_row=not roomy)


def names_of(session: SigningSession) -> Names:
    provider, provider_name = session.provider
    return Names(
        session.wallet,
        provider,
        provider_name,
        session.coin,
        session.token.chain_name,
        COIN_DECIMALS.get(session.token.kind, 18),
    )


def _kind(session: SigningSession) -> str:
    payload = session.payload
    if isinstance(payload, TransactionPayload | SolanaPayload):
        return f"a transaction on {session.token.chain_name}, costs gas"
    if isinstance(payload, OperationPayload):
        return "an operation, ERC-4337, signed off chain, submitted by another key"
    return "typed data, EIP-712, signed off chain, costs no gas"


def _objections(review: Review, width: int) -> list[Line]:
    rows: list[Line] = []
    for said in objections(review, Severity.REFUSE):
        rows += wrapped(Span(f"{REFUSED} {said}", "status-trouble"), width, indent=2)
    for said in objections(review, Severity.WARN):
        rows += wrapped(Span(f"{TROUBLE} {said}", "status-waiting"), width, indent=2)
    return rows


def _happens(session: SigningSession, review: Review, width: int) -> list[Line]:
    simulation = review.simulation
    if simulation is None:
        if isinstance(session.payload, TransactionPayload | SolanaPayload):
            said = "not simulated"
        else:
            said = "not simulated: a signature moves nothing by itself"
        return [ruled("What happens", said, width)]
    fact = f"simulated on block {simulation.height:,}"
    rows = [ruled("What happens", fact, width)]
    if simulation.failure is not None:
        said = f"{REFUSED} it would fail: {simulation.failure}"
        return rows + wrapped(Span(said, "status-trouble"), width, indent=2)
    changes = moved(review, names_of(session))
    for one in changes:
        # What others get and give is the other half of the swap, unless something is wrong.
        if one.yours or review.refused:
            rows += _moved(one, session.wallet, width)
    if not any(one.yours for one in changes):
        rows += _labelled(session.wallet or "wallet", [Span("nothing moves")], width)
    return rows


def _moved(one: Moved, wallet: str, width: int) -> list[Line]:
    name = (wallet or "wallet") if one.yours else "others"
    line: Line = []
    for amount, symbol in one.amounts:
        if line:
            line.append(Span("     "))
        line += [Span(f"{symbol} "), Span(_signed(amount), _role(amount), amount=True)]
    if one.yours:
        line += [
            Span("     "),
            Span(f"{VALID} ", "status-done"),
            Span("nothing else moves", "muted"),
        ]
    else:
        line += [Span("  "), Span(grouped_address(one.holder), "muted")]
    return _labelled(name, line, width)


def _signed(amount: Decimal) -> str:
    return f"{'−' if amount < 0 else '+'}{exact_amount(amount.copy_abs())}"


def _role(amount: Decimal) -> str:
    return "amount-down" if amount < 0 else "amount-up"


def _matched(session: SigningSession, review: Review) -> Line:
    said = match_count(review, session.PROMISE)
    if any(one.match is Match.DIFFERS for one in review.lines) or review.refused:
        return [Span(f"{REFUSED} {said}", "status-trouble")]
    return [Span(f"{VALID} ", "status-done"), Span(said)]


def _digest(review: Review, width: int, *, one_row: bool) -> list[Line]:
    first, second = digest_groups(review.digest)
    mark = _agreement(review, brief=width < LABEL + len(first) + LONG_MARK)
    if one_row and LABEL + len(first) + 1 + len(second) + width_of(mark) <= width:
        return [[*fill(Span("Digest", "muted"), LABEL), Span(f"{first} {second}"), *mark]]
    # Under the marks of the fields, where there is room.
    at = LABEL + max(len(first), min(ADDRESS, width - LABEL - width_of(mark)))
    return [
        [*fill([*fill(Span("Digest", "muted"), LABEL), Span(first)], at), *mark],
        [Span(" " * (LABEL + 3)), Span(second)],
    ]


def _agreement(review: Review, *, brief: bool) -> Line:
    """Whether the desk, which hashed by itself what is shown here, came to the same."""
    if review.agreed is None or not review.digest:
        return []
    if review.agreed:
        said = "desk agrees" if brief else "desk and agent agree"
        return [Span(f"  {VALID}  ", "status-done"), Span(said, "muted")]
    said = "desk differs" if brief else "desk and agent differ"
    return [Span(f"  {REFUSED}  {said}", "status-trouble")]


def _labelled(label: str, content: LineLike, width: int) -> list[Line]:
    rows = wrapped(line_of(content), max(20, width - LABEL))
    heads = [fill(Span(label, "muted"), LABEL), *([Span(" " * LABEL)] for _ in rows[1:])]
    return [[*head, *row] for head, row in zip(heads, rows, strict=True)]


def _locked_lines(session: SigningSession, width: int) -> list[Line]:
    rows = wrapped(
        Span("The wallet is locked. Its pass phrase opens it until the desk ends."), width
    )
    if session.said:
        rows += wrapped(Span(f"{REFUSED} {session.said}", "status-trouble"), width, indent=2)
    return rows


def _end_lines(session: SigningSession, outcome: Outcome, width: int, *, short: bool) -> list[Line]:
    failure = outcome.failure
    if failure is None:
        return wrapped(Span(session.DONE), width)
    glyph, role = (TROUBLE, "status-waiting") if outcome.open else (REFUSED, "status-trouble")
    rows = wrapped(Span(f"{glyph} {failure.cause}", role), width, indent=2)
    rows += [] if short else [[]]
    rows += _labelled("Funds", _sentence(failure.money), width)
    rows += _labelled("Next", _sentence(failure.next), width)
    if outcome.order_id is not None:
        rows += _labelled("Order", outcome.order_id, width)
    if outcome.hash is not None:
        rows += _labelled("Transaction", outcome.hash, width)
    rows += _labelled("Code", outcome.code, width)
    refused = session.refused
    if refused is not None:
        rows += [[], [Span(NOTHING_SIGNED, bold=True)], []]
        fields = match_rows(refused, names_of(session))
        rows += [] if short else [match_heads(fields, width), rule(width)]
        rows += match_table(fields, width)
        rows += [[], *_objections(refused, width)]
    return rows


def _sentence(text: str) -> str:
    said = text[:1].upper() + text[1:]
    return said if said.endswith(".") else f"{said}."


def money_of(session: SigningSession, where: str, now: datetime) -> MoneyState:
    """Where the money is and who acts next. ``where``: as the session has it, without a point."""
    account = f" in wallet {session.wallet}" if session.wallet else " in your wallet"
    at = account if session.brief is None else f" {session.brief}"
    funds = f"{_paid(session)}{at}." if not session.called else f"{where}."
    plain = where.partition(";")[0] == "in your wallet" and "may still" not in where
    whole = funds if plain and "signature" not in where else f"{where}."
    failure = session.outcome.failure if session.outcome is not None else None
    if failure is not None:
        return MoneyState(f"{failure.money}.", failure.next, funds)
    if session.over:
        return MoneyState(f"{where}.", session.AFTER, funds)
    left = session.left(now)
    if left is not None:
        if left <= 0:
            return MoneyState(whole, f"the desk: {session.lapse}", funds)
        return MoneyState(
            whole, f"you: sign or refuse in {countdown(left)}", funds, left < URGENT_SECONDS
        )
    if session.stage is Stage.LOCKED:
        return MoneyState(whole, "you: type the pass phrase", funds)
    if session.transaction is not None:
        executed = session.transaction.state is TransactionState.MINED
        does = "confirms" if executed else "executes"
        next_ = f"the chain: it {does} the transaction"
        return MoneyState(whole, next_, funds, next_short=f"the chain: it {does} it")
    return MoneyState(whole, "the desk: it goes on by itself", funds)


def phrase_question(session: SigningSession, review: Review) -> Sequence[str]:
    """The sentences before a phrase is typed: what nobody promised."""
    heavy = [one for one in review.lines if one.match is Match.UNMATCHED and one.weight]
    return [
        f"{review.title}.",
        *(f"{one.field}: {one.signed}. It is not in the {session.PROMISE}." for one in heavy),
        *objections(review, Severity.WARN),
    ]


MOST = 3
_SAID = {
    Stage.REVIEW: (WAITING, "status-waiting", "waits for your signature. s shows it."),
    Stage.LOCKED: (WAITING, "status-waiting", "waits for the pass phrase. s asks for it."),
    Stage.WORKING: (MOVING, "status-moving", "is under way. s shows its steps."),
    Stage.STOPPED: (TROUBLE, "status-waiting", "stopped. s shows why, and goes on."),
}


def under_way(sessions: Sequence[SigningSession]) -> list[LineLike]:
    """One row each, those first that wait for the trader."""
    found = sorted(sessions, key=lambda one: not one.waits)
    rows: list[LineLike] = []
    for one in found[:MOST]:
        glyph, role, said = _SAID[one.stage]
        rows.append(
            [Span(f"{glyph} ", role), Span(subject_of(one), bold=True), Span(f"  {said}", role)]
        )
    if len(found) > MOST:
        rows.append(Span(f"  and {len(found) - MOST} more", "muted"))
    return rows
