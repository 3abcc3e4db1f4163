"""The application: its first moments, failure and retry, places, losing the sandbox, garbage."""

from __future__ import annotations

import ast
import asyncio
import gc
import weakref
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import textual.timer

import swapdesk.tui
from flows.test_tracking import kill
from harness import Sandbox, wait_for
from swapdesk.clock import ManualClock
from swapdesk.flows.wallet.call_payments import NewPayee
from swapdesk.tui.app import ASIDE_SECONDS, PAUSE_SECONDS, WHOLE_SECONDS, DeskApp, GarbageRounds
from swapdesk.tui.screens.deposit import DepositScreen
from swapdesk.tui.screens.quotes import QuotesScreen
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.screens.tokens import TokensScreen
from swapdesk.tui.session import RESUMING, KeyRest, StartFailed, starting_words
from swapdesk.wire.orders import DisplayStatus
from tui.desk_run import DeskRun, Market, open_desk, sandbox_desk
from tui.known_orders import ended, prepare, waiting
from tui.scenes import all_scenes


class Gate(KeyRest):
    """Nothing is loaded until :attr:`open` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()

    async def wait(self) -> None:
        await self.open.wait()


async def filled(market: Market) -> None:
    """A desk ran once, so that its cache has the list of tokens."""
    market.known = b""
    async with market.ready_desk():
        pass


async def held_desk(desk: DeskRun) -> Gate:
    gate = Gate()
    desk.app.session.rest = gate
    await desk.settle(lambda: desk.app.session.catalog, "the catalogue")
    return gate


async def test_tokens_are_searched_while_the_desk_is_loaded(market: Market) -> None:
    await filled(market)
    app_of_market = open_desk(
        market.settings, market.start, clock=market.clock, transport=market.network
    )
    async with app_of_market as desk:
        gate = await held_desk(desk)
        await desk.press("t")
        await desk.type("usdc", sees="USD Coin")
        assert "Its checks come once the desk is open." in desk.text
        assert ", scanned" not in desk.text
        assert not desk.app.session.opened
        await desk.press("enter", sees="Not yet: the desk is opening.")
        assert isinstance(desk.app.screen, TokensScreen)
        await desk.press("tab", sees="the desk is opening")
        assert "by rank" in desk.text
        gate.open.set()
        await desk.see(", scanned")
        assert "Its checks follow" not in desk.text
        await desk.ready()
        await desk.press("enter")
        await desk.settle(lambda: not isinstance(desk.app.screen, TokensScreen), "the first page")
        assert "usdc" in desk.text


async def test_a_first_page_that_is_never_drawn_keeps_no_desk_from_starting(
    market: Market,
) -> None:
    """A key that opens a page before the first frame leaves its callback with the page below."""
    toolkit: Any = DeskApp(
        market.settings, market.start, clock=market.clock, transport=market.network
    )
    kept: list[Callable[[], None]] = []
    toolkit.call_after_refresh = kept.append
    app: DeskApp = toolkit
    async with app.run_test(size=(100, 30)) as pilot:
        desk = DeskRun(app, pilot, market.clock)
        await desk.press("t")
        assert isinstance(app.screen, TokensScreen)
        assert len(kept) == 1
        app.tick()
        await desk.ready()
        await desk.see("Bitcoin")
        # The first page is drawn at last: what runs is not started anew.
        kept[0]()
        await pilot.pause()
        assert app.session.ready
        assert market.started == 1


async def test_a_sandbox_that_was_put_aside_is_named(market: Market) -> None:
    async def started() -> Mapping[str, Any]:
        return {**await market.start(), "putAside": "sandbox was put aside as sandbox.old-1"}

    app_of_market = open_desk(
        market.settings, started, clock=market.clock, transport=market.network
    )
    async with app_of_market as desk:
        await desk.see("put aside as sandbox.old-1.")


async def test_other_pages_open_with_the_desk(market: Market) -> None:
    market.known = b""
    async with market.desk() as desk:
        gate = await held_desk(desk)
        await desk.press("o", sees="The desk is starting. This is open in a moment.")
        await desk.press("t", sees="The list of tokens is not here yet.")
        gate.open.set()
        await desk.ready()
        await desk.see("Bitcoin")


async def test_a_list_that_cannot_be_read_is_said_and_tried_again(market: Market) -> None:
    await filled(market)
    places = market.settings.places
    places.root.chmod(0o777)
    async with market.desk() as desk:
        await desk.see("r tries the sandbox again")
        assert desk.app.session.catalog is None
        await desk.press("o", sees="This page needs the desk, whose start failed.")
        await desk.press("i")
        await desk.type("h8Kq2PdT5mXcVbN3wRtY7z", sees="Next you: connect again on the first page")
        await desk.press("escape", sees="r tries the sandbox again")
        places.root.chmod(0o700)
        await desk.press("r")
        await desk.ready()
        assert desk.app.session.catalog is desk.app.session.desk.catalog


def ends_at_once(waiting: Coroutine[None, None, None]) -> None:
    """The coroutine returns without giving way once."""
    with pytest.raises(StopIteration):
        waiting.send(None)


async def test_nothing_waits_where_no_key_came() -> None:
    ends_at_once(KeyRest().wait())


async def test_a_module_waits_for_a_pause_and_never_for_ever() -> None:
    rest = KeyRest(rest=30.0, patience=0.02)
    rest.key()
    waiting = asyncio.ensure_future(rest.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    while not waiting.done():
        rest.key()
        await asyncio.sleep(0.001)
    rest.key()
    ends_at_once(rest.wait())


async def test_work_that_a_defect_stopped_goes_on(market: Market) -> None:
    async with market.ready_desk() as desk:
        (worker,) = [one for one in desk.app.workers if one.group == "session"]
        task: Any = worker._task
        await desk.settle(lambda: kill(task, "session"), "the work")
        await desk.see("A defect stopped")
        await desk.later("started again")
        await desk.press("o")
        await desk.settle(lambda: not task.done() and task._fut_waiter, "the work")
        await desk.ready()
        assert not worker.is_finished


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
        await run.enter("tokens", to=TokensScreen)
        await run.press("escape")
        home = run.screen(SwapScreen)
        await run.type("0.5 tnop")
        assert home.line.value == "0.5 tnop"
        await run.press("escape")
        assert home.line.value == ""
        await run.press("p", sees="What do you want to send privately?")
        await run.press("n", sees="What do you want to swap?")
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
        await run.press("r", sees="Funds in your wallet.")


async def test_the_frame_follows_the_screen_and_going_back_never_destroys_what_was_typed(
    market: Market,
) -> None:
    async with market.desk() as run:
        await run.to_quotes()
        frame = run.text.split("\n")[0]
        assert "alice" in frame
        assert "quotes 499 of 500 left" in frame
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
            if name not in ("run_worker", "work", "fetch"):
                continue
            calls += 1
            given = {word.arg: word.value for word in node.keywords}
            where = f"{path.name}:{node.lineno}"
            group = node.args[0] if name == "fetch" else given.get("group")
            # What the page itself runs has the group that each call of ``fetch`` names.
            assert isinstance(group, ast.Constant) or path.name == "page.py", where
            if name == "fetch":
                continue
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


class Knot:
    """An object that only a collection can free."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def rounds(clock: ManualClock) -> Iterator[GarbageRounds]:
    # What the process of the tests made before is no part of it.
    gc.freeze()
    rounds = GarbageRounds(clock)
    rounds.begin()
    yield rounds
    rounds.end()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def test_young_garbage_goes_and_the_living_are_set_aside(
    rounds: GarbageRounds, clock: ManualClock
) -> None:
    knot = weakref.ref(Knot())
    before = gc.get_freeze_count()
    clock.advance(ASIDE_SECONDS)
    rounds.tick()
    assert knot() is None
    assert gc.get_freeze_count() > before


def test_old_garbage_goes_in_a_pause_and_not_between_keys(
    rounds: GarbageRounds, clock: ManualClock
) -> None:
    held = Knot()
    knot = weakref.ref(held)
    clock.advance(ASIDE_SECONDS)
    rounds.tick()
    del held
    clock.advance(WHOLE_SECONDS)
    rounds.key()
    rounds.tick()
    assert knot() is not None
    clock.advance(PAUSE_SECONDS)
    rounds.tick()
    assert knot() is None


def test_the_process_is_left_as_it_was(clock: ManualClock) -> None:
    usual, frozen = gc.get_threshold(), gc.get_freeze_count()
    rounds = GarbageRounds(clock)
    rounds.begin()
    assert gc.get_threshold() != usual
    clock.advance(ASIDE_SECONDS)
    rounds.tick()
    rounds.end()
    assert gc.get_threshold() == usual
    assert gc.get_freeze_count() <= frozen
