"""Demonstrations without the desk's screens: printed stage by stage, or written as one web page.

The same seed gives the same output, byte for byte. For this, each demonstration gets a new sandbox
in its own directory, whose time moves only while all tasks wait (``sandbox.repeatable``).
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path

from msgspec import UNSET, Struct, UnsetType

from swapdesk.chain.node_http import NodeError
from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import CommandError, Exit, bad_input, refused_as
from swapdesk.cli.output import Output
from swapdesk.cli.quotes import find_token
from swapdesk.cli.sandbox_lifetime import require_extra
from swapdesk.flows.connection import sandbox_connection
from swapdesk.flows.demo.demonstration import DemoChoice, DemoFailed, Demonstration
from swapdesk.flows.demo.link_graph import link_graph
from swapdesk.flows.demo.link_search import Comparison
from swapdesk.flows.demo.stage import (
    DEMOS,
    Demo,
    Pane,
    PaneLine,
    Stage,
    edge_said,
    link_pane,
    path_of,
    payment_lines,
)
from swapdesk.flows.desk import Desk
from swapdesk.flows.notation import clock_time, copied_amount, exact_amount, tracker_amount
from swapdesk.flows.orders.order_export import write_export_file
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.web_page import MARKED_WITHIN, is_page, web_page

PAGE = "demo"
_LABEL = 10
IN_MEMORY = "/dev/shm"
USUAL_SPEED = Decimal(1)


def tell_demo(output: Output, choice: DemoChoice) -> Demonstration:
    """Runs a demonstration, prints it and returns it. Raises CommandError if it fails."""
    require_extra("sandbox")
    try:
        return tell_in_new_world(output, choice)
    except DemoFailed as error:
        if error.field:
            raise bad_input("CANNOT_SHOW", str(error), field=error.field) from None
        raise CommandError(Exit.REFUSED, "DEMO_FAILED", str(error)) from None
    except NodeError as error:
        raise CommandError(Exit.REFUSED, "DEMO_FAILED", f"{error}.") from None


def tell_in_new_world(output: Output, choice: DemoChoice) -> Demonstration:
    """Runs a demonstration in a new sandbox and prints it. The sandbox is deleted at the end."""
    from swapdesk.sandbox.repeatable import open_world, run_repeatable

    async def whole(place: Path) -> Demonstration:
        settings = load_settings({}, Home.at(place / "home"))
        # Nobody swaps on a chain here.
        async with open_world(
            place / "world", seed=choice.seed, speed=choice.speed or USUAL_SPEED, pools=False
        ) as world:
            desk = Desk.open(settings, clock=world.clock, transport=world.transport)
            try:
                await desk.connect(sandbox_connection(world.ready, settings), follow=False)
                await desk.catalog.load_in_steps()
                await desk.refresh_reference()
                return await _tell(output, desk, choice)
            finally:
                await desk.close()

    # Where files are in memory: nothing of the world is to last, and its databases wait for the
    # disk at every step.
    quick = IN_MEMORY if os.access(IN_MEMORY, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(prefix="swapdesk-demo-", dir=quick) as place:
        return run_repeatable(lambda: whole(Path(place)))


async def _tell(output: Output, desk: Desk, choice: DemoChoice) -> Demonstration:
    if choice.token is not None:
        find_token(choice.token, desk, field="token")
    demonstration = Demonstration(desk, DEMOS[choice.name], choice, str(choice.seed))
    transcript = _Transcript(output, demonstration)
    output.say(f"{demonstration.demo.title}: {headline(demonstration, choice)}")
    try:
        await demonstration.begin()
        await demonstration.run(transcript.stage)
        transcript.end(await demonstration.last_look())
    finally:
        await demonstration.close()
    return demonstration


def headline(demonstration: Demonstration, choice: DemoChoice) -> str:
    """Returns a line that says what is paid and what arrives, with the seed and the speed of the
    sandbox."""
    sold, bought = demonstration.sold, demonstration.bought
    return (
        f"{exact_amount(demonstration.amount)} {sold.symbol} on {sold.chain_data.name} from Alice,"
        f" {bought.symbol} on {bought.chain_data.name} to Bob."
        f" Seed {choice.seed}, speed x{copied_amount(choice.speed or USUAL_SPEED)}."
    )


class LinkSearchDocument(Struct, frozen=True, rename="camel"):
    """The last line of a private demonstration: whether a search of the blocks links Alice and
    Bob."""

    link_search: Pane
    compared: tuple[Comparison, ...]


class _Transcript:
    def __init__(self, output: Output, shown: Demonstration) -> None:
        self._output = output
        self._shown = shown
        self._said: set[tuple[str, PaneLine]] = set()

    def stage(self, stage: Stage) -> None:
        row, rows = stage.row, self._shown.demo.rows
        self._output.say(
            "",
            f"{stage.number} of {len(rows)}  {row.title}, {clock_time(stage.at)}"
            " on the sandbox clock",
            f"  {row.sentence}",
            document=stage,
        )
        for pane in stage.panes:
            self._pane(pane)
        self._output.say(f"  Funds {stage.money} Next {stage.next}.")

    def end(self, last: Stage) -> None:
        if last.search is None or not last.can_be_linked:
            return
        pane, rows = link_pane(last.search), last.compared
        self._output.say(
            "", "Link search, from Alice to Bob", document=LinkSearchDocument(pane, rows)
        )
        self._lines([*pane.lines, PaneLine(pane.ending)])
        if rows:
            self._output.say("", "What a watcher can still compare")
            self._output.say(
                *(
                    f"  {comparison.label:{_LABEL}}{comparison.value}; {comparison.remark}"
                    for comparison in rows
                )
            )

    def _pane(self, pane: Pane) -> None:
        lines = [*pane.lines, *([PaneLine(pane.ending)] if pane.ending else [])]
        new = [line for line in lines if (pane.title, line) not in self._said]
        self._said.update((pane.title, line) for line in new)
        if new:
            self._output.say(f"  {pane.title}")
            self._lines(new)

    def _lines(self, lines: Iterable[PaneLine]) -> None:
        self._output.say(*(f"    {line.head:{_LABEL}}{line.whole or line.text}" for line in lines))


# The page


class PageDocument(Struct, frozen=True):
    """The result of ``demo --page``: the text of the page, or the file to which it was written."""

    page: str | UnsetType = UNSET
    file: str | UnsetType = UNSET


def report_demo(call: CliContext, choice: DemoChoice, file: Path | None, *, told: bool) -> None:
    """Runs a demonstration and writes its web page to ``file``: a path, or ``-`` for standard
    output. The stages are printed if ``told`` is True or ``file`` is None."""
    if file is None:
        tell_demo(call.output, choice)
        return
    printed = str(file) == "-"
    if printed and told:
        raise bad_input(
            "TWO_CHOICES",
            "--auto tells the stages on standard output, where --page - writes the page.",
            field="page",
        )
    if not printed:
        _check_place(file)
    output = call.output if told else Output("table", stdout=io.StringIO())
    demonstration = tell_demo(output, choice)
    page = demo_page(DEMOS[choice.name], demonstration.record, headline(demonstration, choice))
    if printed:
        call.output.file(page.encode(), document=PageDocument(page=page))
        return
    _check_place(file)
    with _writing(file):
        write_export_file(file, page.encode())
    call.output.talk(f"Written: {file}.", document=PageDocument(file=str(file)))


def demo_page(demo: Demo, record: Sequence[Stage], about: str) -> str:
    """Returns a demonstration as an HTML page, introduced by the line ``about``. The same stages
    give the same bytes."""
    last = record[-1]
    islands, left_out = link_graph(last)
    return web_page(
        PAGE,
        title=demo.title,
        about=about,
        stages=[(stage, stage.panes, path_of(stage)) for stage in record],
        link=link_pane(last.search) if last.search is not None and last.can_be_linked else None,
        islands=islands,
        left_out=left_out,
        edge_said=edge_said,
        payment_lines=payment_lines,
        clock_time=clock_time,
        amount=tracker_amount,
    )


def _check_place(file: Path) -> None:
    """Raises CommandError if ``file`` exists and is not the page of an earlier demonstration, or if
    its folder is missing."""
    with _writing(file):
        if not file.parent.is_dir():
            raise bad_input("FILE", f"There is no folder {file.parent}.", field="page")
        if not file.is_file():
            return
        with file.open("rb") as old:
            ours = is_page(PAGE, old.read(MARKED_WITHIN))
    if not ours:
        raise bad_input(
            "FILE_EXISTS",
            f"{file} is there already and is no page of a demonstration; it was not replaced.",
            field="page",
        )


def _writing(file: Path) -> AbstractContextManager[None]:
    return refused_as(OSError, "FILE", f"{file} cannot be written: ", field="page")
