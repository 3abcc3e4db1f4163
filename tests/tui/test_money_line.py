"""A notice in the money line of a low screen: whole sentences, and never at the cost of Next."""

from __future__ import annotations

import pytest

from swapdesk.tui.spans import Span, plain_text, width_of
from swapdesk.tui.widgets.frame import MoneyState, money_line, whole_sentences

SAID = "34 usable routes, 1 not. Nothing has moved."
STATE = MoneyState("in your wallet.", "you: choose a route in 0:58")


@pytest.mark.parametrize(
    ("width", "shown"),
    [(80, SAID), (77, SAID), (76, "34 usable routes, 1 not. …"), (50, "34 usable route…")],
)
def test_what_does_not_fit_ends_with_a_sentence(width: int, shown: str) -> None:
    line = plain_text(money_line(STATE, width, SAID))
    assert line.startswith(f"{shown}  ")
    assert line.endswith("Next you: choose a route in 0:58")


def test_sentences_are_left_out_from_the_end() -> None:
    said = [Span("One is said. Two is said. Three is said.", "status-waiting")]
    shown = {plain_text(whole_sentences(said, width)) for width in range(2, 45)}
    assert {"One is said. …", "One is said. Two is said. …", plain_text(said)} < shown
    for width in range(1, 45):
        assert width < 14 or not plain_text(whole_sentences(said, width)).endswith("d…")
        assert width_of(whole_sentences(said, width)) <= width
    assert whole_sentences(said, 20)[0].role == "status-waiting"


def test_a_notice_takes_the_short_step_beside_it() -> None:
    state = MoneyState(
        "on its way.", "the exchanges: they pay; o shows", next_short="the exchanges"
    )
    line = plain_text(money_line(state, 63, SAID))
    assert line == f"{SAID}  Next the exchanges"


def test_without_room_the_next_step_is_what_is_left() -> None:
    assert plain_text(money_line(STATE, 20, SAID)).startswith("Next you: choose")


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, ("Funds with Cobalt, after its payout began.", "Next Cobalt: it pays out")),
        (60, ("Funds with Cobalt.", "Next Cobalt: it pays out")),
        (40, ("Funds with Cobalt.", "Next Cobalt")),
    ],
)
def test_the_place_is_shortened_before_the_step_and_neither_is_cut(
    width: int, shown: tuple[str, str]
) -> None:
    state = MoneyState(
        "with Cobalt, after its payout began.", "Cobalt: it pays out", "with Cobalt.",
        next_short="Cobalt",
    )  # fmt: skip
    line = plain_text(money_line(state, width))
    assert (line.startswith(f"{shown[0]}  "), line.endswith(f"  {shown[1]}")) == (True, True)


def test_the_place_is_never_cut_where_who_acts_can_be_said_beside_it() -> None:
    next_ = "the desk: it goes on where it stopped when it is started again"
    state = MoneyState(
        "in your wallet; nothing was swapped.", next_, "1,000 USDC in wallet trading."
    )
    line = plain_text(money_line(state, 76))
    assert line.startswith("Funds in your wallet; nothing was swapped.  ")
    assert line.endswith("  Next the desk")


@pytest.mark.parametrize("width", [40, 76, 80])
def test_the_longest_step_leaves_the_word_for_the_place(width: int) -> None:
    state = MoneyState("with " + "Cobalt" * 20, "Cobalt" * 40 + ": it pays out", "with Cobalt.")
    line = plain_text(money_line(state, width))
    assert line.startswith("Funds …  Next Cobalt")
    assert len(line) == width


def test_a_step_alone_has_the_whole_row() -> None:
    said = "Next you: " + "x" * 30
    assert plain_text(money_line(MoneyState("", said[5:]), 40)) == said
