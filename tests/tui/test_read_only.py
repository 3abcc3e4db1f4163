"""A desk that only reads has no verb that creates, signs or spends, whatever key is pressed."""

from __future__ import annotations

import pytest

from swapdesk.tui.commands import all_commands, pages_of_verbs
from swapdesk.tui.screens.quotes import QuotesScreen
from tui.desk_run import DeskRun, Market
from tui.known_orders import every_state, prepare
from tui.scenes import all_scenes

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
        await run.press("enter")
        await run.see("This desk only reads: no order is created.")
        assert isinstance(run.app.screen, QuotesScreen)
        nothing_was_written(run)
