"""One class per verb: binding, footer, palette, help and keymap come from it."""

from __future__ import annotations

from swapdesk.clock import ManualClock
from swapdesk.tui.commands.command import Command, Standing
from swapdesk.tui.commands.everywhere import EVERYWHERE, Orders
from swapdesk.tui.commands.keymap import FORBIDDEN, checked_keymap
from swapdesk.tui.stillness import STILL_SECONDS, Refusal, StillnessGuard
from swapdesk.tui.widgets.key_bar import KeyHint
from swapdesk.tui.widgets.palette_overlay import PaletteEntry, ranked


class CopyAddress(Command):
    """Copy the deposit address.

    More about it.
    """

    KEY = "y"
    VERB = "copy address"


def test_everything_comes_from_the_class() -> None:
    binding = CopyAddress.binding()
    assert (binding.key, binding.action) == ("y", "command('copy-address')")
    assert binding.id == CopyAddress.id() == "copy-address"
    assert CopyAddress.help() == "Copy the deposit address."
    assert CopyAddress.text() == "Copy address"
    assert CopyAddress.method() == "do_copy_address"
    assert CopyAddress.hint(Standing(cost="1 read")) == KeyHint("y", "copy address", "1 read")
    assert CopyAddress.hint(Standing(locked="no order")).text == "copy address, no order"


def test_no_verb_of_everywhere_uses_a_key_a_terminal_cannot_send() -> None:
    keys = [key for verb in EVERYWHERE for key in verb.KEY.split(",")]
    assert not FORBIDDEN & set(keys)
    assert len(keys) == len(set(keys))


def test_a_keymap_is_checked() -> None:
    verbs = [*EVERYWHERE, CopyAddress]
    keymap, problems = checked_keymap({"copy-address": "c", "order": "f2", "quit": "ctrl+m"}, verbs)
    assert keymap == {"copy-address": "c"}
    assert "'orders'" in problems[0]
    assert "ctrl+m" in problems[1]


def test_a_taken_key_names_both_owners() -> None:
    keymap, problems = checked_keymap({"copy-address": Orders.KEY}, [*EVERYWHERE, CopyAddress])
    assert keymap == {}
    assert "'orders'" in problems[0]
    assert "'copy-address'" in problems[0]


def test_a_money_key_needs_a_still_screen_and_the_same_step() -> None:
    clock = ManualClock()
    guard = StillnessGuard(clock)
    assert guard.refusal("") is Refusal.MOVING
    guard.changed("create quote a")
    clock.advance(STILL_SECONDS - 0.01)
    assert guard.refusal("create quote a") is Refusal.MOVING
    clock.advance(0.02)
    assert guard.refusal("create quote a") is None
    guard.changed("create quote b")
    clock.advance(10)
    assert guard.refusal("create quote a") is Refusal.OTHER_STEP
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
