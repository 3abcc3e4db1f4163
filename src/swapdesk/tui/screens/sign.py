"""The page where the user signs: it shows the payload beside what the user confirmed, then the
steps that follow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

from msgspec import Struct, to_builtins
from textual import on
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget

from swapdesk.acts import State
from swapdesk.flows.intents.intent import COIN_DECIMALS
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.notation import countdown, exact_amount, grouped_address
from swapdesk.flows.orders.raw_json import raw_lines
from swapdesk.flows.signing.review_words import (
    NOTHING_SIGNED,
    Moved,
    Names,
    digest_groups,
    match_count,
    match_rows,
    moved,
)
from swapdesk.flows.signing.signing_session import FlowStep, SigningSession, Stage
from swapdesk.flows.transactions import Outcome
from swapdesk.tui.breakpoints import SHORT_BELOW
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Standings
from swapdesk.tui.commands.sign import (
    BACK,
    BUMP,
    CANCEL,
    COPY_DIGEST,
    GO_ON,
    RAW_FIELDS,
    READ_BACK,
    READ_ON,
    REFUSE,
    SIGN,
    UNLOCK,
)
from swapdesk.tui.glyphs import BECOMES, DOT, MOVING, REFUSED, RULE, TROUBLE, VALID, WAITING
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import (
    Line,
    LineLike,
    Span,
    cut,
    fill,
    joined,
    rule,
    ruled,
    width_of,
    wrapped,
)
from swapdesk.tui.widgets.detail_rows import Fact, fact_lines, facts_lines
from swapdesk.tui.widgets.frame import FrameState, MoneyState
from swapdesk.tui.widgets.lines_view import FittedLines, TextRows
from swapdesk.tui.widgets.match_lines import ADDRESS, LEAST_LABEL, match_heads, match_table
from swapdesk.tui.widgets.overlay import Question
from swapdesk.tui.widgets.text_field import PassphraseField
from swapdesk.wallet.answers import Match, Review, Severity, objections
from swapdesk.wallet.promise import (
    OperationPayload,
    SolanaPayload,
    TransactionPayload,
    TypedDataPayload,
)

_SIGNS = {
    State.DONE: (VALID, "status-done"),
    State.SENT: (MOVING, "status-moving"),
    None: (WAITING, "muted"),
    State.REFUSED: (REFUSED, "status-trouble"),
}
_JOINS = (f" {RULE * 3} ", f" {RULE} ", "  ")
READ_FIRST = "read to the end first"
URGENT_SECONDS = 15
LABEL = LEAST_LABEL + 2
LONG_MARK = 26
"""Width in cells of the longest text beside a digest."""
MOST = 3
_SAID = {
    Stage.REVIEW: (WAITING, "status-waiting", "waits for your signature. s shows it."),
    Stage.LOCKED: (WAITING, "status-waiting", "waits for the pass phrase. s asks for it."),
    Stage.WORKING: (MOVING, "status-moving", "is under way. s shows its steps."),
    Stage.STOPPED: (TROUBLE, "status-waiting", "stopped. s shows why, and goes on."),
}


class SignState(Struct, frozen=True):
    """How the page draws a signing session. ``roomy`` adds empty rows between the blocks;
    ``headed`` adds the heading."""

    session: SigningSession[Any]
    short: bool
    roomy: bool = False
    headed: bool = True


def step_spans(steps: Sequence[FlowStep], width: int) -> Line:
    """Returns the steps of a signing session in one row. Uses the longest form that fits into
    ``width`` or, if none fits, the shortest form."""
    line: Line = []
    for brief in (False, True):
        for join in _JOINS:
            line = _joined(steps, join, brief=brief)
            if width_of(line) <= width:
                return line
    return line


def _joined(steps: Sequence[FlowStep], join: str, *, brief: bool) -> Line:
    line: Line = []
    for step in steps:
        glyph, role = _SIGNS[step.state]
        now = step.state in (State.SENT, State.REFUSED)
        name = step.name if now or not brief else " ".join(step.name.split()[:2])
        if line:
            line.append(Span(join, "rule"))
        line += [Span(f"{glyph} ", role), Span(name, "foreground" if now else "muted", bold=now)]
    return line


class SignView(FittedLines):
    """A widget that shows the review of a payload or, without a review, the state of the signing
    session."""

    class LaidOut(Message):
        """Reports a new layout of the widget. The visible rows of the review are known only after
        this message."""

    def on_resize(self) -> None:
        self.post_message(self.LaidOut())


class SignScreen(Page):
    """The page where the user signs: what is about to be signed, beside what the user confirmed.
    Only the key ``s`` signs."""

    NAME = "Sign"
    SPENDS = "exchange"
    VERBS = (
        SIGN,
        REFUSE,
        GO_ON,
        BUMP,
        CANCEL,
        UNLOCK,
        READ_ON,
        RAW_FIELDS,
        COPY_DIGEST,
        READ_BACK,
        BACK,
    )
    AUTO_FOCUS: ClassVar[str | None] = ""
    DEFAULT_CSS = """
    SignScreen #steps { height: 1; margin: 0 0 1 0; }
    SignScreen.-short #steps, SignScreen.-tight #steps { margin: 0; }
    SignScreen #reading { height: 1fr; scrollbar-size: 0 0; background: $background; }
    SignScreen PassphraseField { display: none; margin: 1 0 0 0; }
    SignScreen.-locked PassphraseField { display: block; }
    SignScreen.-locked #reading { height: auto; }
    SignScreen .side { display: none; padding: 1 0; }
    SignScreen.-wide .side { display: block; }
    """

    def __init__(self, session: Session, signing: SigningSession[Any]) -> None:
        super().__init__(session, context=context_of(signing))
        self.signing = signing
        self._steps = FittedLines(id="steps")
        self._state = SignState(signing, short=False)
        """How the signing session is drawn at the present size of the page."""
        self._heading, self._view = FittedLines(), SignView()
        self._reading = VerticalScroll(self._view, id="reading", can_focus=False)
        self._phrase = PassphraseField()
        self._raw = TextRows()
        self._read: set[str] = set()
        """Ids of the reviews that the user has scrolled to their end. Only these may be signed."""
        self._drawn: str | None = None
        """Id of the review that is drawn; None if none is."""

    def compose_body(self) -> Iterable[Widget]:
        return (self._steps, self._heading, self._reading, self._phrase)

    def compose_side(self) -> Iterable[Widget]:
        return (VerticalScroll(self._raw, classes="side", can_focus=False),)

    # drawing

    @property
    def counting(self) -> bool:
        return not self.signing.over

    def frame_now(self) -> FrameState:
        return self.with_lock(super().frame_now())

    def on_tick(self) -> None:
        self.show()

    def swaps_changed(self) -> None:
        self.show()

    def on_resize(self) -> None:
        self._read.clear()
        self.show()

    def show(self) -> None:
        if not self.is_mounted:
            return
        signing = self.signing
        self.context = context_of(signing)
        locked = signing.stage is Stage.LOCKED
        self.set_class(locked, "-locked")
        if locked and self.focused is not self._phrase:
            self._phrase.focus()
        if not locked:
            self._phrase.forget()
            if self.focused is self._phrase:
                self.set_focus(None)
        self._say_steps()
        state = self._fitting()
        self.set_class(not state.roomy, "-tight")
        self._state = state
        self._heading.show(lambda width: sign_lines(state, width)[0])
        self._view.show(lambda width: sign_lines(state, width)[1])
        review = signing.review
        self._drawn = review.id if review is not None else None
        step = self._drawn or signing.stage.value
        if step != self.guard.step:
            self._reading.scroll_to(y=0, animate=False, immediate=True)
            self._raw.show(self.raw_lines())
        self.step_is(step)
        self.refresh_frame()
        self.call_after_refresh(self._see_end)

    def _fitting(self) -> SignState:
        session, short = self.signing, self.app.size.height < SHORT_BELOW
        review, width = session.review, self._reading.size.width
        if review is None:
            return SignState(session, short, roomy=not short)
        height = self._heading.size.height + self._reading.size.height
        # The row below the steps is empty on a roomy screen only.
        height += not short and not self.has_class("-tight")
        heading, body = review_lines(session, review, width)
        if not short and len(heading) + len(body) < height:
            return SignState(session, short, roomy=True)
        heading, body = review_lines(session, review, width, roomy=False)
        whole = len(body) <= height < len(heading) + len(body)
        return SignState(session, short, headed=not whole)

    def _say_steps(self) -> None:
        try:
            steps = self.signing.kind.steps(self.signing)
            where = self.signing.kind.whereabouts(self.signing)
        except JournalUnavailable as error:
            self.show_notice(f"{error}.", "error")
            return
        self._steps.show(lambda width: [step_spans(steps, width)])
        money = money_of(self.signing, where, self.now())
        self.set_money(
            money.where,
            money.next_,
            where_short=money.where_short,
            next_short=money.next_short,
            urgent=money.urgent,
        )

    @on(SignView.LaidOut)
    def _see_end(self) -> None:
        """Records whether the end of the review was visible, because the user may sign only
        then."""
        review, reading = self.signing.review, self._reading
        if not self.is_mounted:
            return
        if self._drawn is not None and self._fitting() != self._state:
            # How much room there is was not known when it was drawn.
            self.show()
            return
        if review is None or review.id in self._read:
            # Whether there is more to read is known once it is laid out.
            self.refresh_keys()
            return
        # The signing moves on by itself: what is on the screen may still be what stood before.
        shown = self._drawn == review.id and self._view.laid_out
        if shown and reading.scroll_y + reading.size.height >= self._view.size.height:
            self._read.add(review.id)
            # What makes the key work is a change of the screen, whatever made it.
            self.guard.changed(self.guard.step)
        self.refresh_keys()

    def raw_lines(self) -> list[str]:
        """Returns the payload as it was received, as lines of JSON in which unprintable characters
        are replaced by visible ones."""
        payload = self.signing.payload
        if payload is None:
            return []
        shown = payload.document if isinstance(payload, TypedDataPayload) else to_builtins(payload)
        return raw_lines(json.dumps(shown, default=str).encode())

    # keys

    def standings(self) -> Standings:
        signing, reading = self.signing, self._reading
        unlocked = signing.stage is not Stage.LOCKED
        return {
            **dict.fromkeys((verb for verb in self.verbs_here() if not verb.current), unlocked),
            UNLOCK: not unlocked,
            GO_ON: signing.stage is Stage.STOPPED,
            BUMP: signing.replaceable,
            CANCEL: signing.replaceable,
            READ_ON: unlocked and reading.max_scroll_y > reading.scroll_y,
            READ_BACK: unlocked and reading.scroll_y > 0,
            RAW_FIELDS: unlocked and signing.payload is not None,
            BACK: True,
            everywhere.KEYS: True,
        }

    @property
    def current(self) -> Review | None:
        return self.signing.review

    def standings_of(self, review: Review) -> Standings:
        return {SIGN: self._sign_standing(review)}

    def _sign_standing(self, review: Review) -> CommandState:
        left = self.signing.left(self.now())
        if not left:
            return HIDDEN
        if review.id not in self._read:
            return CommandState(locked=READ_FIRST)
        # What is signed off chain is handed in by another key.
        sends = not isinstance(self.signing.payload, TypedDataPayload | OperationPayload)
        return CommandState(verb="sign and send") if sends else READY

    def do_sign(self, review: Review) -> None:
        phrase = review.phrase
        if phrase is None:
            self.signing.agree(review.id)
            return
        heading = f"Not all of this is in the {self.signing.kind.promise}"
        asked = Question(heading, phrase_question(self.signing, review), phrase, "sign")
        self.confirm(asked, partial(self.signing.agree, review.id, phrase))

    def do_refuse(self, review: Review) -> None:
        self.signing.refuse(review.id)

    def do_go_on(self) -> None:
        self.controls.signing.go_on(self.signing)

    def do_replace(self, cancels: bool) -> None:
        self.controls.signing.replace(self.signing, cancels=cancels)

    @on(PassphraseField.Complete)
    def do_unlock(self) -> None:
        if not self._phrase.value:
            self.show_notice("Type the pass phrase of the wallet.", "warning")
            return
        self.signing.unlock(self._phrase.take())

    def do_scroll(self, direction: int) -> None:
        by = direction * max(1, self._reading.size.height - 1)
        at = min(max(0, self._reading.scroll_y + by), self._reading.max_scroll_y)
        self._reading.scroll_to(y=at, animate=False, immediate=True)
        self.call_after_refresh(self._see_end)
        self.refresh_keys()

    def do_raw_fields(self) -> None:
        from swapdesk.tui.screens.raw_order import RawPayloadScreen

        screen = RawPayloadScreen(self.session, subject_of(self.signing), self.raw_lines())
        self.app.push_screen(screen)

    def do_copy_digest(self, review: Review) -> None:
        self.controls.copy_value("digest", review.digest)

    def do_back(self) -> None:
        self._phrase.forget()
        self.post_message(self.Go(everywhere.BACK))


def context_of(session: SigningSession[Any]) -> str:
    """Returns the header's text after the page's name, as ``2 of 2 · 1,000 USDC → WETH``. The count
    is left out if there is only one signature."""
    place = session.place
    which = "" if place is None else f"{place[0]} of {place[1]} {DOT} "
    return which + subject_of(session)


def subject_of(session: SigningSession[Any]) -> str:
    """Returns what a signing session is about: ``1,000 USDC → WETH`` for a swap, ``1,000 USDC →
    order m1Xc7D`` for a deposit."""
    if session.called:
        return session.called
    return f"{_paid(session)} {BECOMES} {session.against}"


def _paid(session: SigningSession[Any]) -> str:
    return f"{exact_amount(session.amount)} {session.token.symbol}"


def sign_lines(state: SignState, width: int) -> tuple[list[Line], list[Line]]:
    """Returns two parts of the page: the rows of the heading, which does not scroll, and the rows
    of the body, which scrolls."""
    session = state.session
    review = session.review
    if review is not None:
        heading, body = review_lines(session, review, width, roomy=state.roomy)
        return (heading if state.headed else []), body
    if session.outcome is not None:
        return [], _end_lines(session, session.outcome, width, short=state.short)
    if session.stage is Stage.LOCKED:
        return [], _locked_lines(session, width)
    return [], wrapped(Span(session.doing), width)


def review_lines(
    session: SigningSession[Any], review: Review, width: int, *, roomy: bool = True
) -> tuple[list[Line], list[Line]]:
    """Returns the rows of a review in two parts: the heading, which does not scroll, and the body,
    which scrolls."""
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


def names_of(session: SigningSession[Any]) -> Names:
    provider, provider_name = session.provider
    return Names(
        session.wallet,
        provider,
        provider_name,
        session.coin,
        session.token.chain_name,
        COIN_DECIMALS.get(session.token.kind, 18),
    )


def _kind(session: SigningSession[Any]) -> str:
    payload = session.payload
    if isinstance(payload, TransactionPayload | SolanaPayload):
        return f"a transaction on {session.token.chain_name}, costs gas"
    if isinstance(payload, OperationPayload):
        return "an operation, ERC-4337, signed off chain, submitted by another key"
    return "typed data, EIP-712, signed off chain, costs no gas"


def _objections(review: Review, width: int) -> list[Line]:
    findings = review.findings
    spans = [Span(f"{REFUSED} {text}", "status-trouble") for text in objections(findings)]
    spans += [Span(f"{TROUBLE} {text}", "status-waiting")
             for text in objections(findings, Severity.WARN)]  # fmt: skip
    return [row for span in spans for row in wrapped(span, width, indent=2)]


def _happens(session: SigningSession[Any], review: Review, width: int) -> list[Line]:
    simulation = review.simulation
    if simulation is None:
        if isinstance(session.payload, TransactionPayload | SolanaPayload):
            sentence = "not simulated"
        else:
            sentence = "not simulated: a signature moves nothing by itself"
        return [ruled("What happens", sentence, width)]
    fact = f"simulated on block {simulation.height:,}"
    rows = [ruled("What happens", fact, width)]
    if simulation.failure is not None:
        sentence = f"{REFUSED} it would fail: {simulation.failure}"
        return rows + wrapped(Span(sentence, "status-trouble"), width, indent=2)
    changes = moved(review, names_of(session))
    for change in changes:
        # What others get and give is the other half of the swap, unless something is wrong.
        if change.yours or review.refused:
            rows += _moved(change, session.wallet, width)
    if not any(change.yours for change in changes):
        rows += _labelled(session.wallet or "wallet", [Span("nothing moves")], width)
    return rows


def _moved(change: Moved, wallet: str, width: int) -> list[Line]:
    name = (wallet or "wallet") if change.yours else "others"
    amounts = [[Span(f"{symbol} "), _signed(amount)] for amount, symbol in change.amounts]
    if change.yours:
        rest: Line = [Span(f"{VALID} ", "status-done"), Span("nothing else moves", "muted")]
        return _labelled(name, joined([*amounts, rest], " " * 5), width)
    holder = Span(grouped_address(change.holder), "muted")
    return _labelled(name, [*joined(amounts, " " * 5), Span("  "), holder], width)


def _signed(amount: Decimal) -> Span:
    sign, role = ("−", "amount-down") if amount < 0 else ("+", "amount-up")
    return Span(f"{sign}{exact_amount(amount.copy_abs())}", role, amount=True)


def _matched(session: SigningSession[Any], review: Review) -> Line:
    count = match_count(review, session.kind.promise)
    if any(line.match is Match.DIFFERS for line in review.lines) or review.refused:
        return [Span(f"{REFUSED} {count}", "status-trouble")]
    return [Span(f"{VALID} ", "status-done"), Span(count)]


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
    if review.agreed is None or not review.digest:
        return []
    verb = "agree" if review.agreed else "differ"
    words = f"desk {verb}s" if brief else f"desk and agent {verb}"
    if review.agreed:
        return [Span(f"  {VALID}  ", "status-done"), Span(words, "muted")]
    return [Span(f"  {REFUSED}  {words}", "status-trouble")]


def _labelled(label: str, content: LineLike, width: int) -> list[Line]:
    return fact_lines(Fact(label, content), width, LABEL)


def _locked_lines(session: SigningSession[Any], width: int) -> list[Line]:
    rows = wrapped(
        Span("The wallet is locked. Its pass phrase opens it until the desk ends."), width
    )
    if session.said:
        rows += wrapped(Span(f"{REFUSED} {session.said}", "status-trouble"), width, indent=2)
    return rows


def _end_lines(
    session: SigningSession[Any], outcome: Outcome, width: int, *, short: bool
) -> list[Line]:
    failure = outcome.failure
    if failure is None:
        return wrapped(Span(session.kind.done), width)
    glyph, role = (TROUBLE, "status-waiting") if outcome.open else (REFUSED, "status-trouble")
    rows = wrapped(Span(f"{glyph} {failure.cause}", role), width, indent=2)
    rows += [] if short else [[]]
    facts = [
        Fact("Funds", _sentence(failure.money)),
        Fact("Next", _sentence(failure.next)),
        Fact("Order", outcome.order_id or ""),
        Fact("Transaction", outcome.hash or ""),
        Fact("Code", outcome.code),
    ]
    rows += facts_lines([fact for fact in facts if fact.value], width, LABEL)
    refused = session.refused
    if refused is not None:
        rows += [[], [Span(NOTHING_SIGNED, bold=True)], []]
        fields = match_rows(refused, names_of(session))
        rows += [] if short else [match_heads(fields, width), rule(width)]
        rows += match_table(fields, width)
        rows += [[], *_objections(refused, width)]
    return rows


def _sentence(text: str) -> str:
    sentence = text[:1].upper() + text[1:]
    return sentence if sentence.endswith(".") else f"{sentence}."


def money_of(session: SigningSession[Any], where: str, now: datetime) -> MoneyState:
    """Returns where the money is and who acts next. ``where`` is the session's text about where the
    money is, without a full stop."""
    account = f" in wallet {session.wallet}" if session.wallet else " in your wallet"
    brief = session.kind.brief(session)
    at = account if brief is None else f" {brief}"
    funds = f"{_paid(session)}{at}." if not session.called else f"{where}."
    plain = where.partition(";")[0] == "in your wallet" and "may still" not in where
    whole = funds if plain and "signature" not in where else f"{where}."
    failure = session.outcome.failure if session.outcome is not None else None
    if failure is not None:
        return MoneyState(f"{failure.money}.", failure.next, funds)
    if session.over:
        return MoneyState(f"{where}.", session.kind.after, funds)
    left = session.left(now)
    if left is not None:
        if left <= 0:
            return MoneyState(whole, f"the desk: {session.kind.lapse(session)}", funds)
        return MoneyState(
            whole, f"you: sign or refuse in {countdown(left)}", funds, left < URGENT_SECONDS
        )
    if session.stage is Stage.LOCKED:
        return MoneyState(whole, "you: type the pass phrase", funds)
    if session.transaction is not None:
        executed = session.transaction.mined
        does = "confirms" if executed else "executes"
        next_ = f"the chain: it {does} the transaction"
        return MoneyState(whole, next_, funds, next_short=f"the chain: it {does} it")
    return MoneyState(whole, "the desk: it goes on by itself", funds)


def phrase_question(session: SigningSession[Any], review: Review) -> Sequence[str]:
    """Returns the sentences above the phrase that the user has to type: the title of the review,
    important fields that the user never confirmed, and warnings."""
    heavy = [line for line in review.lines if line.match is Match.UNMATCHED and line.weight]
    return [
        f"{review.title}.",
        *(
            f"{line.field}: {line.signed}. It is not in the {session.kind.promise}."
            for line in heavy
        ),
        *objections(review.findings, Severity.WARN),
    ]


def under_way(sessions: Sequence[SigningSession[Any]]) -> list[LineLike]:
    """Returns rows for the first :data:`MOST` sessions, beginning with sessions that wait for the
    user. A last row has the number of further sessions."""
    waiting_first = sorted(sessions, key=lambda session: not session.waits)
    rows = list(map(_under_way, waiting_first[:MOST]))
    more = len(sessions) - MOST
    return [*rows, Span(f"  and {more} more", "muted")] if more > 0 else rows


def _under_way(session: SigningSession[Any]) -> LineLike:
    glyph, role, words = _SAID[session.stage]
    name = Span(subject_of(session), bold=True)
    return [Span(f"{glyph} ", role), name, Span(f"  {words}", role)]
