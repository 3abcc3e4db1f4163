"""The application: first frame, start, failure and retry, places, losing the sandbox."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Sequence
from functools import cache
from itertools import count
from pathlib import Path

import pytest
import textual.timer

import swapdesk.tui
from harness import Sandbox, wait_for
from swapdesk.flows.wallet.call_payments import NewPayee
from swapdesk.tui.screens.deposit import DepositScreen
from swapdesk.tui.screens.quotes import QuotesScreen
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.screens.tokens import TokensScreen
from swapdesk.tui.session import RESUMING, StartFailed, starting_words
from swapdesk.wire.orders import DisplayStatus
from tui.desk_run import Market, sandbox_desk
from tui.known_orders import ended, prepare, waiting
from tui.scenes import all_scenes


async def test_the_first_frame_stands_before_anything_is_connected_and_letters_are_keys_on_it(
    market: Market,
) -> None:
    async with market.desk() as run:
        first = run.text
        assert "SANDBOX  Swap" in first
        assert "What do you want to swap?" in first
        assert "starting the sandbox, 0 of 5 ready" in first
        assert market.network.seen == []
        await run.ready()
        await run.see("34 chains and 462 tokens. Nothing here is real money.")
        assert "Next you: write what to swap" in run.text
        await run.press("ctrl+p")
        await run.enter("tokens")
        await run.settle(lambda: isinstance(run.app.screen, TokensScreen), "the token search")
        await run.press("escape")
        await run.press("t")
        run.screen(TokensScreen)
        await run.press("escape")
        home = run.screen(SwapScreen)
        await run.type("0.5 tnop")
        assert run.app.screen is home
        assert home.line.value == "0.5 tnop"
        await run.press("escape")
        assert home.line.value == ""
        await run.press("p")
        await run.see("What do you want to send privately?")
        await run.press("n")
        await run.see("What do you want to swap?")
        await run.press("q")
        assert run.app.return_code == 0


async def test_a_failed_start_says_why_and_r_tries_again(market: Market) -> None:
    market.start_errors.append(StartFailed("The data directory belongs to someone else."))
    market.start_errors.append(RuntimeError())
    async with market.desk() as run:
        await run.see("The data directory belongs to someone else.")
        assert "r retry" in run.text
        await run.press("r")
        # What did not say why is named by its kind.
        await run.see("RuntimeError.")
        await run.press("r")
        await run.ready()
        assert market.started == 3
        await run.see("Nothing here is real money.")
        assert "someone else" not in run.text


async def test_without_an_answer_the_funds_may_be_in_an_open_order(market: Market) -> None:
    prepare(
        market, [waiting(market.clock), ended(market.clock, "e" * 22, DisplayStatus.SWAP_COMPLETED)]
    )
    market.start_errors.append(StartFailed("The data directory belongs to someone else."))
    async with market.desk() as run:
        await run.see("r tries the sandbox again")
        assert "Funds in your wallet or in 1 open order." in run.text
        await run.press("r")
        await run.see("Funds in your wallet.")


async def test_frame_and_help_follow_the_screen_and_going_back_never_destroys_what_was_typed(
    market: Market,
) -> None:
    async with market.desk() as run:
        await run.to_quotes()
        frame = run.text.split("\n")[0]
        assert "alice" in frame
        assert "quotes 499 of 500 left" in frame
        await run.press("question_mark")
        await run.see("Everywhere")
        assert "Start a private send." in run.text
        assert "Ask again for all routes" in run.text
        # The panel takes two thirds of the screen at most: what is below is scrolled to.
        assert "Leave" not in run.text
        await run.press(*["down"] * 40)
        assert "Leave" in run.text
        await run.press("escape")
        run.screen(QuotesScreen)
        await run.press("enter")
        assert "exchanges 50 of 50 left" in run.text.split("\n")[0]
        await run.type("@bo")
        await run.press("escape")
        run.screen(QuotesScreen)
        await run.press("enter")
        assert "@bo" in run.text
        await run.press("escape", "escape")
        assert run.screen(SwapScreen).line.value == "0.5 btc eth"
        await run.press("escape")
        assert run.screen(SwapScreen).line.value == ""


async def test_a_second_that_falls_between_a_screen_and_its_widgets_is_left_out(
    market: Market,
) -> None:
    scene = next(one for one in all_scenes() if one.name == "orders")
    scene.begin(market)
    async with market.desk((80, 24)) as run:
        await scene.reach(run)
        waiting = next(iter(run.app.session.desk.link.tracker.running()))
        card = DepositScreen(run.app.session, waiting.service_id)
        shown = run.app.push_screen(card)
        assert run.app.screen is card
        assert not card.is_mounted
        run.app.tick()
        await shown
        run.app.tick()


async def test_a_timer_whose_time_passed_before_it_began_to_wait_still_comes(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the machine holds the process up; the toolkit gives such a timer up."""
    async with market.desk() as run:
        came = asyncio.Event()
        timer = run.app.set_timer(0.01, came.set)
        told, looks = textual.timer._time.get_time, count()

        def held_up() -> float:
            late = next(looks) if asyncio.current_task() is timer._task else 0
            return told() + late

        monkeypatch.setattr(textual.timer._time, "get_time", held_up)
        await run.settle(came.is_set, "the timer")
        assert next(looks) > 1, "it was held up"


async def test_a_killed_service_is_followed_again(sandbox: Sandbox, tmp_path: Path) -> None:
    async with sandbox_desk(sandbox, tmp_path) as run:
        await run.ready()
        await run.see("● stream")
        sandbox.kill_service()
        await run.settle(lambda: "● stream" not in run.text, "a badge that says so")
        wait_for(sandbox.answers, what="the service again")
        await run.see("● stream")


@cache
def parsed() -> Sequence[tuple[Path, ast.Module]]:
    """Every module of the desk."""
    root = Path(swapdesk.tui.__file__).parent
    return [(path, ast.parse(path.read_text())) for path in sorted(root.rglob("*.py"))]


def test_every_worker_names_its_group_and_leaves_the_desk_standing() -> None:
    calls = 0
    for path, tree in parsed():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name not in ("run_worker", "work"):
                continue
            calls += 1
            given = {word.arg: word.value for word in node.keywords}
            where = f"{path.name}:{node.lineno}"
            assert isinstance(given.get("group"), ast.Constant), where
            ends = given.get("exit_on_error")
            assert isinstance(ends, ast.Constant), where
            assert ends.value is False, where
    assert calls >= 6


def test_no_handler_calls_the_one_of_its_base() -> None:
    # The toolkit calls the handlers of all bases itself: whatever it calls again is done twice.
    handlers = 0
    for path, tree in parsed():
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if not function.name.startswith("on_") or function.name == "on_event":
                continue
            handlers += 1
            assert f"super().{function.name}(" not in ast.unparse(function), path.name
    assert handlers >= 60


def test_a_start_that_looks_for_orders_says_so() -> None:
    looking = "the desk: it looks for orders an earlier run began"
    assert starting_words(live=False, done=3) == "starting the sandbox, 3 of 5 ready"
    assert starting_words(live=True, done=3) == "connecting, 3 of 5 ready"
    assert {starting_words(live=live, done=RESUMING) for live in (True, False)} == {looking}


async def test_a_new_payee_of_calls_is_asked_about(market: Market) -> None:
    """The call that is to be paid waits for the answer, wherever it came from."""
    asked = NewPayee("0x6A65", ("This one: 0.0001 USDC to 0x6A65.",), "6A65")
    async with market.ready_desk() as run:
        ask = run.app.session.on_new_payee
        for keys, agreed in ((["6", "A", "6", "5", "enter"], True), (["escape"], False)):
            answer = asyncio.ensure_future(ask(asked))
            await run.see("Calls would be paid to somebody new")
            await run.press(*keys)
            assert await answer is agreed
