"""Each unhappy path played in a real terminal: cause, place of the money and who acts next.

One sandbox for all of them, with its control faults. A few run always, all with ``--full``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import Struct, field

from harness import Sandbox, running_sandbox
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.sandbox.venue_rows import STATIC_ADDRESSES, VENUE_ROWS
from tui.test_end_to_end import ENTER, STILL, DeskWindow, orders_of_the_service

REFUND = derive_address("bitcoin", b"f" * 32)
JARGON = re.compile(
    r"[a-z]+(Status|Amount|Address|Hash|Required|Id)\b|[A-Z]+_[A-Z_]+|\b(status|code) \d"
)
"""Field names, names of states and error codes, and bare numbers of states."""

ESCAPE = "\x1b"
CLEAR = b"\x15"
END = "\x1b[F"


class Path(Struct, frozen=True):
    """What is done to one order, and the cause, the money and the next step then told."""

    name: str
    cause: str
    funds: str
    then: str
    fault: str | None = None
    leg: str | None = None
    pays: float | None = None
    funded: bool = True
    late: bool = False
    fixed: str | None = None
    """The kind of fixed route; None for the best floating one."""
    provider: str = ""
    """Who the fixed route is of; the first one unless told."""
    always: bool = False


STUCK = "you: write to support with order"
ENDED = "nobody: nothing is left to do"
PATHS = [
    Path("kept after the deposit", "could not finish after", "with the service.", STUCK,
         "fail_after_deposit", always=True),
    Path("returned without a way back", "could not finish after", "with the service.", STUCK,
         "refund"),
    Path("refunded", r"That is 0\.\d+ BTC less than the order asked for",
         r"came back to .* on Bitcoin\.", ENDED, "refund", fixed="standard", always=True),
    Path("refunded whole", r"0\.5 BTC came back to .* on Bitcoin(?!.*less than the order)",
         r"came back to .* on Bitcoin\.", ENDED, "refund", fixed="standard", provider="Cobalt"),
    Path("private and fixed, stopped part-way", "stopped part-way", r"came back to .* on Bitcoin",
         ENDED, "refund", leg="out", fixed="private"),
    Path("held", r"holds the payment for a compliance check", r"held at \w+\.", STUCK,
         "hold"),
    Path("paid by fallback", "did not finish; the service paid it by another way",
         r"ETH arrived at @bob\.", ENDED, "fallback"),
    Path("rerouted", r"failed, \w+ finished it", r"ETH arrived at @bob\.", ENDED, "reroute"),
    Path("expired", r"No deposit came\. The order is closed\.",
         r"in your wallet, if you sent nothing\.", "nobody: do not send", "expire", funded=False),
    Path("deleted", "The service deleted the order", r"in your wallet, if you sent nothing\.",
         ENDED, "delete", funded=False, always=True),
    Path("short", r"It paid \S+ less than you confirmed\. The order asked for 0\.5 BTC",
         r"ETH arrived at @bob\.", ENDED,
         pays=0.4),
    Path("excess", r"It paid \S+ more than you confirmed\. The order asked for 0\.5 BTC",
         r"ETH arrived at @bob\.", ENDED,
         pays=0.7),
    Path("late", "The deposit came after the deadline", "is with the service", STUCK,
         funded=False, late=True),
]  # fmt: skip


class Refusal(Struct, frozen=True):
    """What a refused or lost request shows; ``fault`` is set on ``operation``."""

    name: str
    fault: str
    operation: str
    told: str
    then: str
    selector: dict[str, Any] = field(default_factory=dict)
    always: bool = False


REFUSALS = [
    Refusal("an internal error", "http_500", "get_quotes", "The service had an internal error.",
            "you: try again", always=True),
    Refusal("not available", "http_503", "get_quotes", "The service cannot answer right now.",
            "you: try again"),
    Refusal("no answer to read", "garbage", "get_quotes", "could not be used", "you: try again"),
    Refusal("half an answer", "truncate", "get_quotes", "cannot be reached", "you: try again"),
]  # fmt: skip


def chosen(cases: list[Any]) -> list[Any]:
    """A few in every run, the others with ``--full``."""
    marked = [() if case.always else (pytest.mark.long,) for case in cases]
    return [
        pytest.param(case, id=case.name, marks=marks)
        for case, marks in zip(cases, marked, strict=True)
    ]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with running_sandbox(tmp_path_factory.mktemp("home"), speed=600) as running:
        yield running


@pytest.fixture(scope="module")
def desk(sandbox: Sandbox) -> Iterator[DeskWindow]:
    """One desk; every path begins on its first screen."""
    window = DeskWindow(sandbox.home)
    window.ready()
    yield window
    window.close()


@pytest.fixture(autouse=True)
def home(desk: DeskWindow, sandbox: Sandbox) -> Iterator[None]:
    yield
    sandbox.control("DELETE", "/faults")
    for _ in range(5):
        desk.press(ESCAPE)
        desk.read_until_quiet(0.15)


def ask(desk: DeskWindow) -> None:
    desk.press("n")
    desk.read_until("What do you want to swap?")
    desk.press(CLEAR)
    desk.type("0.5 btc eth")
    desk.read_until("enter ask for quotes")
    desk.press(ENTER)


def bar(desk: DeskWindow) -> str:
    """The row under the cursor."""
    return next((row for row in desk.text.split("\n") if row.startswith("▌")), "")


def choose(desk: DeskWindow, kind: str, provider: str = "") -> None:
    """The cursor on the first fixed route of a kind, or of this provider's."""
    desk.press("f")
    desk.read_until("fixed")
    desk.read_until_quiet(STILL)
    for _ in range(80):
        row = bar(desk)
        if kind in row and provider in row and "fixed" in row:
            return
        desk.press("\x1b[B")
        desk.until(lambda row=row: bar(desk)[:30] != row[:30], "the next row")  # type: ignore[misc]
    raise AssertionError(f"no fixed {kind} route:\n{desk.text}")


def frozen(desk: DeskWindow, fixed: str | None, provider: str = "") -> None:
    """The form, with everything decided."""
    ask(desk)
    desk.read_until("enter review")
    if fixed is not None:
        choose(desk, fixed, provider)
    desk.press(ENTER)
    desk.read_until("Create")
    desk.type("@bob")
    desk.press(ENTER)
    if fixed is not None:
        desk.read_until("Refund address")
        desk.read_until_quiet(STILL)
        desk.paste(REFUND)
        desk.read_until("Bitcoin address, checksum correct")
        desk.read_until_quiet(STILL)
        desk.press(ENTER)
    desk.read_until("c create")
    desk.read_until_quiet(STILL)


def created(desk: DeskWindow, sandbox: Sandbox, fixed: str | None, provider: str = "") -> str:
    """The id of a new order whose deposit card is on the screen."""
    frozen(desk, fixed, provider)
    desk.press("c")
    desk.read_until("f fund", " left, until ")
    return orders_of_the_service(sandbox.ready)[0]


def told_line(desk: DeskWindow, word: str) -> str:
    return next((row for row in desk.text.split("\n") if word in row), "")


def told_by_the_form(desk: DeskWindow) -> str:
    """The panel at the right of the form as running text."""
    return " ".join(" ".join(row[60:].split()) for row in desk.text.split("\n"))


def sentences(desk: DeskWindow) -> str:
    """The screen as running text, so that a sentence over two rows is one."""
    return " ".join(desk.text.split())


@pytest.mark.parametrize("path", chosen(PATHS))
def test_an_unhappy_path_is_told(desk: DeskWindow, sandbox: Sandbox, path: Path) -> None:
    order = created(desk, sandbox, path.fixed, path.provider)
    if path.fault is not None:
        leg = {} if path.leg is None else {"leg": path.leg}
        sandbox.fault(path.fault, serviceId=order, **leg)
    if path.late:
        sandbox.control("POST", "/clock", {"advance": 1900})
        desk.read_until("Expired")
    if path.pays is not None or path.late:
        paid = {} if path.pays is None else {"amount": path.pays}
        sandbox.control("POST", "/deposits", {"serviceId": order, **paid})
    elif path.funded:
        desk.fund()
    if not path.late:
        desk.until(lambda: "left, until" not in desk.text, "the order to move")
    desk.read_until_quiet(STILL)
    assert "The money is still yours." not in desk.text
    desk.press(ENTER)
    desk.read_until("Order id")
    if path.late:
        # Ended orders are looked at twice a minute.
        sandbox.control("POST", "/clock", {"advance": 60})
    desk.until(lambda: re.search(path.cause, sentences(desk)), path.cause)
    desk.until(lambda: re.search(path.funds, told_line(desk, "  Funds ")), path.funds)
    desk.until(lambda: path.then in told_line(desk, "Next "), path.then)
    assert not JARGON.search(desk.text), desk.text


@pytest.mark.long
def test_a_released_hold_goes_on(desk: DeskWindow, sandbox: Sandbox) -> None:
    order = created(desk, sandbox, None)
    sandbox.fault("hold", serviceId=order)
    desk.fund()
    desk.press(ENTER)
    desk.read_until("Order id", "On hold")
    sandbox.fault("release", serviceId=order)
    desk.read_until("arrived at @bob.", ENDED)


@pytest.mark.parametrize("refusal", chosen(REFUSALS))
def test_a_refusal_is_told(desk: DeskWindow, sandbox: Sandbox, refusal: Refusal) -> None:
    # Reading calls are asked again: all of them meet the fault.
    sandbox.fault(refusal.fault, operation=refusal.operation, times=6)
    ask(desk)
    desk.read_until("No quotes.", refusal.told)
    assert "Funds in your wallet" in desk.text
    assert refusal.then in told_line(desk, "Next ")


@pytest.mark.long
def test_a_lost_answer_of_a_create_is_found_again(desk: DeskWindow, sandbox: Sandbox) -> None:
    before = set(orders_of_the_service(sandbox.ready))
    sandbox.fault("lost_response", operation="create_exchange", times=1)
    created(desk, sandbox, None)
    assert len(set(orders_of_the_service(sandbox.ready)) - before) == 1


@pytest.mark.long
@pytest.mark.parametrize("fault", ["garbage", "truncate"])
def test_an_order_whose_answer_cannot_be_read_is_found_again(
    desk: DeskWindow, sandbox: Sandbox, fault: str
) -> None:
    before = set(orders_of_the_service(sandbox.ready))
    sandbox.fault(fault, operation="create_exchange", times=1)
    frozen(desk, None)
    desk.press("c")
    desk.read_until("f fund", " left, until ", "It was not created twice.")
    assert len(set(orders_of_the_service(sandbox.ready)) - before) == 1


@pytest.mark.long
def test_a_service_that_cannot_say_is_asked_for_a_minute(
    desk: DeskWindow, sandbox: Sandbox
) -> None:
    before = orders_of_the_service(sandbox.ready)
    sandbox.fault("http_503", operation="create_exchange", times=1)
    frozen(desk, None)
    desk.press("c")
    desk.until(lambda: "It may have created the order." in told_by_the_form(desk), "the doubt")
    desk.until(lambda: "the desk: it looks for the order" in told_line(desk, "Next "), "Next")
    assert "Funds in your wallet; nothing was paid." in desk.text
    desk.until(lambda: "cannot answer right now" in told_by_the_form(desk), "the end of it")
    desk.until(lambda: "you: try again" in told_line(desk, "Next "), "Next")
    assert "Funds in your wallet." in desk.text
    assert orders_of_the_service(sandbox.ready) == before


@pytest.mark.long
def test_an_exchange_without_a_free_address_is_told(desk: DeskWindow, sandbox: Sandbox) -> None:
    for _ in range(STATIC_ADDRESSES):
        created(desk, sandbox, "standard", "Saxby")
    frozen(desk, "standard", "Saxby")
    desk.press("c")
    desk.until(
        lambda: "has no free deposit address for this route" in told_by_the_form(desk), "the reason"
    )
    desk.until(lambda: "you: take another route, or wait" in told_line(desk, "Next "), "Next")
    assert "Funds in your wallet." in desk.text


@pytest.mark.long
def test_exchanges_that_are_slow_are_named_and_others_offered(
    desk: DeskWindow, sandbox: Sandbox
) -> None:
    for venue in ("hy", "cb"):
        sandbox.fault("venue_slow", venue=venue, seconds=300)
    ask(desk)
    desk.read_until("enter review", "usable routes")
    desk.press(END)
    for name in ("Halyard", "Cobalt"):
        desk.until(lambda name=name: "no answer within" in told_line(desk, name), name)  # type: ignore[misc]


@pytest.mark.long
def test_when_all_are_slow_the_amount_is_not_to_blame(desk: DeskWindow, sandbox: Sandbox) -> None:
    for venue in (row.code for row in VENUE_ROWS if row.enabled):
        sandbox.fault("venue_slow", venue=venue, seconds=300)
    ask(desk)
    desk.read_until("No route takes 0.5 BTC now. The amount is not the reason", "r refresh")
    desk.until(lambda: "you: ask again, or change" in told_line(desk, "Next "), "Next")
    assert "Funds in your wallet." in desk.text
