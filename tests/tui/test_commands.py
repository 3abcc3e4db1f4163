"""One row per verb: binding, footer, palette, help and keymap come from it."""

from __future__ import annotations

import pytest
from textual.keys import _character_to_key

from swapdesk.clock import ManualClock
from swapdesk.tui.base_screen import STILL_SECONDS, KeyRefusal, StillnessGuard
from swapdesk.tui.commands import all_commands, everywhere_commands, pages_of_verbs
from swapdesk.tui.commands.command import CommandState, Verb
from swapdesk.tui.commands.key_names import FORBIDDEN, key_name, shown_key, split_keys
from swapdesk.tui.commands.keymap import checked_keymap
from swapdesk.tui.commands.orders import ORDERS
from swapdesk.tui.widgets.frame import KeyHint
from swapdesk.tui.widgets.help_overlay import PaletteEntry, ranked

COPY_ADDRESS = Verb("copy-address", "y", "copy address", "Copy the deposit address.")


def test_everything_comes_from_the_row() -> None:
    binding = COPY_ADDRESS.binding()
    assert (binding.key, binding.action) == ("y", "command('copy-address')")
    assert binding.id == COPY_ADDRESS.id == "copy-address"
    assert COPY_ADDRESS.help() == "Copy the deposit address."
    assert COPY_ADDRESS.text == "Copy address"
    assert COPY_ADDRESS.method == "do_copy_address"
    assert COPY_ADDRESS.hint(CommandState(cost="1 read")) == KeyHint("y", "copy address", "1 read")
    assert COPY_ADDRESS.hint(CommandState(locked="no order")).text == "copy address, no order"


RESERVED_LETTERS = set("ia")
"""Of no page either, beside the keys of every page."""


def test_no_key_of_any_verb_is_one_a_terminal_sends_as_another() -> None:
    for verb in all_commands():
        for key in split_keys(verb.key):
            assert key not in FORBIDDEN, verb
            assert key_name(key) == key, verb


def test_a_letter_of_everywhere_has_no_second_meaning() -> None:
    everywhere = {key: verb.id for verb in everywhere_commands() for key in split_keys(verb.key)}
    # esc leaves whatever is open, under the word of the place.
    assert len(everywhere) == sum(len(split_keys(verb.key)) for verb in everywhere_commands())
    for verb in all_commands():
        for key in split_keys(verb.key):
            if verb in everywhere_commands() or everywhere.get(key) == verb.id or key == "escape":
                continue
            # The notice about unfinished business says the global verb in its own words.
            # Looking into an order is what the letter of looking into anything does there.
            # Who presents goes one stage back with it, and begins no batch meanwhile.
            own = (("unfinished", "o"), ("order", "i"), ("demo", "b"))
            if (pages_of_verbs()[verb], key) in own:
                continue
            assert key not in everywhere, verb
            assert key not in RESERVED_LETTERS, verb


def test_keys_have_the_toolkits_names() -> None:
    for mark in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~":
        assert key_name(mark) == _character_to_key(mark), mark
        assert shown_key(str(key_name(mark))) == mark
    assert key_name("Y") == "Y"
    assert key_name(" f3 ") == "f3"
    assert key_name("ctrl+?") == "ctrl+question_mark"
    assert [key_name(text) for text in ("", "yy", "f25", "hyper+x", "ctrl+ctrl+x", "ä", "")] == [
        None
    ] * 7


VERBS = [*everywhere_commands(), COPY_ADDRESS]


def test_a_keymap_is_checked() -> None:
    keymap, problems = checked_keymap(
        {"copy-address": "c, ctrl+t", "order": "f2", "quit": "ctrl+m", "tokens": "ctrl+tt"}, VERBS
    )
    assert keymap == {"copy-address": "c,ctrl+t"}
    assert [(one.key, one.nearest) for one in problems] == [
        ("keys.order", "orders"),
        ("keys.quit", None),
        ("keys.tokens", None),
    ]
    assert "terminals as enter" in str(problems[1])
    assert "no key" in str(problems[2])


@pytest.mark.parametrize("key", sorted(FORBIDDEN))
def test_no_key_that_means_another_is_taken(key: str) -> None:
    keymap, (problem,) = checked_keymap({"copy-address": shown_key(key)}, VERBS)
    assert keymap == {}
    assert FORBIDDEN[key] in str(problem)


@pytest.mark.parametrize("key", ["j", "5", "=", "enter", "ctrl+u", "space", "ctrl+c", "escape"])
def test_keys_with_a_meaning_of_their_own_stay_with_it(key: str) -> None:
    keymap, (problem,) = checked_keymap({"copy-address": key}, VERBS)
    assert keymap == {}
    assert "is needed by" in str(problem)


def test_a_taken_key_names_its_owner() -> None:
    keymap, (problem,) = checked_keymap({"copy-address": ORDERS.key}, VERBS)
    assert keymap == {}
    assert str(problem) == ("environment: keys.copy-address wants o, which belongs to orders")


def test_a_verb_of_everywhere_takes_no_key_of_any_screen() -> None:
    keymap, (problem,) = checked_keymap({"orders": "y"}, VERBS)
    assert keymap == {}
    assert "belongs to copy-address" in str(problem)


def test_two_verbs_may_change_their_keys() -> None:
    assert checked_keymap({"orders": "y", "copy-address": "o"}, VERBS)[1] == []
    keymap, (problem,) = checked_keymap({"orders": "z", "tokens": "z"}, VERBS)
    assert keymap == {"orders": "z"}
    assert "belongs to orders" in str(problem)


def test_when_one_entry_falls_its_old_key_is_taken_again() -> None:
    keymap, problems = checked_keymap({"orders": "n", "copy-address": "o"}, VERBS)
    assert keymap == {}
    assert len(problems) == 2


def test_an_id_stands_for_its_verb_on_every_screen() -> None:
    keymap, problems = checked_keymap({"refresh": "ctrl+r"}, all_commands())
    assert problems == []
    assert keymap == {"refresh": "ctrl+r"}
    # On the deposit card c accepts less output.
    keymap, (problem,) = checked_keymap({"copy-address": "c"}, all_commands())
    assert "belongs to accept-lower" in str(problem)


def test_a_money_key_needs_a_still_screen_and_the_same_step() -> None:
    clock = ManualClock()
    guard = StillnessGuard(clock)
    assert guard.refusal("") is KeyRefusal.MOVING
    guard.changed("create quote a")
    clock.advance(STILL_SECONDS - 0.01)
    assert guard.refusal("create quote a") is KeyRefusal.MOVING
    clock.advance(0.02)
    assert guard.refusal("create quote a") is None
    guard.changed("create quote b")
    clock.advance(10)
    assert guard.refusal("create quote a") is KeyRefusal.OTHER_STEP
    assert guard.refusal("create quote b") is None


def test_the_palette_ranks_beginnings_first() -> None:
    entries = [
        PaletteEntry("1", "Copy order"),
        PaletteEntry("2", "Orders"),
        PaletteEntry("3", "Border"),
        PaletteEntry("4", "Quit", "leaves open orders"),
        PaletteEntry("5", "Tokens"),
    ]
    assert [entry.key for entry in ranked(entries, " order ")] == ["2", "1", "3", "4"]
    assert ranked(entries, "") == entries
