"""One row per verb: binding, footer, palette, help and keymap come from it, and a desk that only
reads has none that creates, signs or spends."""

from __future__ import annotations

import pytest
from textual.keys import _character_to_key

from swapdesk.clock import ManualClock
from swapdesk.tui.base_screen import MOVING, OTHER_STEP, STILL_SECONDS, StillnessGuard
from swapdesk.tui.commands import all_commands, everywhere_commands, pages_of_verbs
from swapdesk.tui.commands.command import CommandState, Verb
from swapdesk.tui.commands.key_names import FORBIDDEN, key_name, shown_key, split_keys
from swapdesk.tui.commands.keymap import checked_keymap
from swapdesk.tui.screens.quotes import QuotesScreen
from swapdesk.tui.widgets.help_overlay import PaletteEntry, ranked
from tui.desk_run import DeskRun, Market
from tui.known_orders import every_state, prepare
from tui.scenes import all_scenes

COPY_ADDRESS = Verb("copy-address", "y", "copy address", "Copy the deposit address.")


def test_everything_comes_from_the_row() -> None:
    binding = COPY_ADDRESS.binding()
    assert (binding.key, binding.action) == ("y", "command('copy-address')")
    assert binding.id == COPY_ADDRESS.id == "copy-address"
    assert COPY_ADDRESS.help() == "Copy the deposit address."
    assert COPY_ADDRESS.text == "Copy address"
    assert COPY_ADDRESS.method == "do_copy_address"
    assert COPY_ADDRESS.hint(CommandState(cost="1 read")) == CommandState(
        "y", "copy address", "1 read"
    )
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


@pytest.mark.parametrize(
    ("wanted", "taken", "problems"),
    [
        ({"copy-address": "c, ctrl+t"}, {"copy-address": "c,ctrl+t"}, []),
        ({"order": "f2"}, {}, ["did you mean orders?"]),
        ({"quit": "ctrl+m"}, {}, ["terminals as enter"]),
        ({"tokens": "ctrl+tt"}, {}, ["no key"]),
        *(
            ({"copy-address": shown_key(key)}, {}, [meaning])
            for key, meaning in sorted(FORBIDDEN.items())
        ),
        *(
            ({"copy-address": key}, {}, ["is needed by"])
            for key in ("j", "5", "=", "enter", "ctrl+u", "space", "ctrl+c", "escape")
        ),
        ({"copy-address": "o"}, {}, ["keys.copy-address wants o, which belongs to orders"]),
        # A verb of everywhere takes no key of any screen.
        ({"orders": "y"}, {}, ["belongs to copy-address"]),
        ({"orders": "y", "copy-address": "o"}, {"orders": "y", "copy-address": "o"}, []),
        ({"orders": "z", "tokens": "z"}, {"orders": "z"}, ["belongs to orders"]),
        # When one entry falls its old key is taken again.
        ({"orders": "n", "copy-address": "o"}, {}, ["belongs to", "belongs to"]),
    ],
)
def test_a_keymap_is_checked(
    wanted: dict[str, str], taken: dict[str, str], problems: list[str]
) -> None:
    keymap, found = checked_keymap(wanted, VERBS)
    assert keymap == taken
    assert len(found) == len(problems)
    assert all(said in str(one) for said, one in zip(problems, found, strict=True)), found


def test_an_id_stands_for_its_verb_on_every_screen() -> None:
    assert checked_keymap({"refresh": "ctrl+r"}, all_commands()) == ({"refresh": "ctrl+r"}, [])
    # On the deposit card c accepts less output.
    keymap, (problem,) = checked_keymap({"copy-address": "c"}, all_commands())
    assert keymap == {}
    assert "belongs to accept-lower" in str(problem)


def test_a_money_key_needs_a_still_screen_and_the_same_step() -> None:
    clock = ManualClock()
    guard = StillnessGuard(clock)
    assert guard.refusal("") is MOVING
    guard.changed("create quote a")
    clock.advance(STILL_SECONDS - 0.01)
    assert guard.refusal("create quote a") is MOVING
    clock.advance(0.02)
    assert guard.refusal("create quote a") is None
    guard.changed("create quote b")
    clock.advance(10)
    assert guard.refusal("create quote a") is OTHER_STEP
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


CLASSIFIED = {
    "everywhere": {"private-send"},
    "batch": {"batch", "create-batch", "build-bundle", "sign-bundle", "submit-bundle"},
    "candidates": {"take-order", "give-up"},
    "create": {"create"},
    "demo": {"show-demo"},
    "deposit": {"fund", "accept-lower"},
    "inspect": {"try-again"},
    "order": {"fund"},
    "orders": {"fund", "again"},
    "quotes": {"review"},
    "sign": {"sign", "refuse", "go-on", "bump", "cancel", "unlock"},
    "swap": {"go-on-signing"},
    "wallets": {
        "wallets",
        "read-chains",
        "revoke-allowance",
        "withdraw-all",
        "set-limits",
        "lock-wallet",
    },
    "waterfall": {"review"},
}
"""Verbs that write, by their module."""


def test_every_verb_is_one_that_writes_or_one_that_reads() -> None:
    writing: dict[str, set[str]] = {}
    for verb, page in pages_of_verbs().items():
        if verb.writes:
            writing.setdefault(page, set()).add(verb.id)
        assert verb.writes or not verb.money, verb
    assert writing == CLASSIFIED


def told_to_read(market: Market) -> None:
    config = market.settings.home.config_file
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[profiles.sandbox]\nread_only = true\n")
    config.chmod(0o600)


def nothing_was_written(run: DeskRun) -> None:
    desk = run.app.session.desk
    assert {call.method for call in desk.exchange_log} == {"GET"}
    assert desk.wallet.locks_in is None
    assert desk.wallet._client is None, "no agent was started"


ALWAYS = ("orders", "quotes")
LEFT = {"q", "ctrl+q", "ctrl+z"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one.name, marks=() if one.name in ALWAYS else pytest.mark.long)
        for one in all_scenes()
        # A deposit follows a create, which this desk does not come to.
        if one.name.startswith(("orders", "order-", "quotes", "home", "inspect", "tok"))
    ],
)
async def test_no_key_creates_signs_or_spends(market: Market, name: str) -> None:
    scene = next(one for one in all_scenes() if one.name == name)
    told_to_read(market)
    scene.begin(market)
    keys = sorted({key for verb in all_commands() for key in verb.key.split(",")} - LEFT)
    async with market.desk() as run:
        await scene.reach(run)
        assert "READ ONLY" in run.text
        writing = [verb for verb, _ in run.app.screen.verbs.working() if verb.writes]
        assert writing == []
        for key in keys:
            await run.press(key)
        nothing_was_written(run)


async def test_quotes_are_compared_and_lead_nowhere(market: Market) -> None:
    told_to_read(market)
    prepare(market, every_state(market.clock))
    async with market.desk() as run:
        await run.to_quotes()
        await run.press("enter", sees="This desk only reads: no order is created.")
        assert isinstance(run.app.screen, QuotesScreen)
        nothing_was_written(run)
