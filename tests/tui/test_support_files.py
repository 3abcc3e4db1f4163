"""A bundle shows on another home what the desk showed that wrote it, and nothing can be done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import get_args

from msgspec.structs import replace

from corpus import load
from flows.support.case_documents import whole_case
from swapdesk.flows.support.case_file import NOT_OUR_REPLY, CaseFile, Shown, read_case_file
from swapdesk.tui.case_file_app import CaseFileApp, FileCasePage, FileHistoryPage
from swapdesk.tui.commands import all_commands
from swapdesk.tui.screens.inspect import BundleScreen, InspectScreen
from swapdesk.tui.screens.order_history import OrderHistoryScreen
from swapdesk.tui.spans import plain_text
from swapdesk.tui.widgets.case_body import READY_REPLY, order_lines
from tui.desk_run import DeskRun, Market
from tui.known_orders import Known, exchanging, prepare, private
from tui.screen_text import screen_text
from tui.test_hostile_scenes import unsafe_characters

WHOLE = (100, 60)
"""Where everything of a page stands at once."""


def part_from(text: str, first: str) -> list[str]:
    """The rows of a page from the one that begins with ``first`` to its money line."""
    rows = text.split("\n")
    at = next(at for at, row in enumerate(rows) if row.strip().startswith(first))
    return [row for row in rows[at:] if row.strip() and "╌╌" not in row][:-2]


async def written(market: Market, known: Known, *shown: Shown) -> tuple[CaseFile, list[str], str]:
    """The file that the keys of the desk write; case and time line as it showed them."""
    prepare(market, [known])
    async with market.ready_desk(WHOLE) as run:
        log = run.app.session.desk.exchange_log
        await run.settle(lambda: any(known.id in call.target for call in log), "it is asked for")
        run.app.push_screen(InspectScreen(run.app.session, known.id))
        await run.see("rule ")
        case = part_from(run.text, "Order ")
        await run.press("h", to=OrderHistoryScreen)
        await run.see("GET ")
        line = run.text
        await run.press("escape")
        with chdir(market.home):
            await run.press("B", to=BundleScreen)
            for kind in shown:
                screen = run.screen(BundleScreen)
                screen._table.move_to(kind)
                await run.press("space")
            await run.press("enter", to=InspectScreen)
    return the_file(market.home), case, line


def the_file(home: Path) -> CaseFile:
    (path,) = home.glob("swapdesk-case-*.json")
    return read_case_file(path)


async def opened(file: CaseFile, look: Callable[[CaseFileApp, str, str], None], *keys: str) -> None:
    app = CaseFileApp(file, theme="ink")
    async with app.run_test(size=WHOLE) as pilot:
        run = DeskRun(app, pilot)  # type: ignore[arg-type]
        await run.settle(lambda: isinstance(app.screen, FileCasePage), "the case")
        await run.see("Diagnosis")
        case = run.text
        await run.press("h")
        await run.settle(lambda: isinstance(app.screen, FileHistoryPage), "the time line")
        await run.see("GET ")
        line = run.text
        await run.press(*keys)
        look(app, case, line)


async def test_a_bundle_shows_what_the_desk_showed(market: Market) -> None:
    file, case, line = await written(market, private(market.clock), *get_args(Shown))
    assert file.masked == ()

    def look(app: CaseFileApp, shown: str, history: str) -> None:
        ours = [row.replace(NOT_OUR_REPLY, READY_REPLY) for row in part_from(shown, "Order ")]
        assert [row.rstrip(" ─-") for row in ours] == [row.rstrip(" ─-") for row in case]
        assert NOT_OUR_REPLY in shown
        assert READY_REPLY not in shown + history
        assert "was written by whoever made it" in " ".join(shown.split())
        theirs = part_from(history.replace(NOT_OUR_REPLY, READY_REPLY), "When")[:-1]
        assert [row.rstrip(" ─-") for row in theirs] == [
            row.rstrip(" ─-") for row in part_from(line, "When")[:-2]
        ]
        for text in (shown, history):
            assert text.startswith(" FILE ")

    await opened(file, look)


async def test_a_file_can_do_nothing_but_be_read(market: Market) -> None:
    """Each key of each verb is pressed on both pages: they stay, and nothing is copied, for a
    stranger wrote the reply."""
    file, _, _ = await written(market, exchanging(market.clock))
    assert file.masked == tuple(get_args(Shown)), "nothing was asked for"
    keys = {key for verb in all_commands() for key in verb.key.split(",")}
    kept = sorted(keys - {"q", "escape", "ctrl+p", "question_mark", "f1", "ctrl+q", "ctrl+z"})
    assert len(kept) > 40

    def look(app: CaseFileApp, shown: str, history: str) -> None:
        assert isinstance(app.screen, FileHistoryPage)
        assert screen_text(app).startswith(" FILE ")
        assert app.clipboard == ""

    await opened(file, look, "escape", "y", "Y", "h", *kept)

    texts = [one.text[:300] for one in load("markup", "text")]
    for at in range(0, len(texts), 12):
        some = tuple(texts[at : at + 12])
        sheet = replace(file.record.sheet, cause=some[0], reply=some, facts=some, word=some[-1])
        hostile = replace(file, record=replace(file.record, sheet=sheet))

        def look_at(app: CaseFileApp, shown: str, history: str) -> None:
            assert not list(unsafe_characters(shown))
            assert shown.startswith(" FILE ")

        await opened(hostile, look_at)


def test_a_file_may_tell_of_any_number_of_stages() -> None:
    """A line of 17 cells takes some of them; the others are told by their word."""
    sheet = whole_case().record.sheet
    drawn = 0
    for stages in (-1, 0, *range(1, 22), 10**18):
        for stage in (-1, 0, 2, stages - 1, stages, 10**18):
            for signed in (True, False):
                one = replace(sheet, stages=stages, stage=stage, signed=signed)
                row = plain_text(order_lines(one, 60, brief=True)[2])
                assert row.endswith(sheet.word)
                drawn += len(row) > 17
    assert drawn == 2 * (2 + 4 * 3)
