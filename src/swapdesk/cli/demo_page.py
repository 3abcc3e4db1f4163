"""A demonstration as one web page that leaves the program: drawn, and to step through."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from msgspec import UNSET, Struct, UnsetType

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import CommandError, bad_input
from swapdesk.cli.demo_transcript import headline, tell_demo
from swapdesk.cli.output import Output
from swapdesk.flows.demo.demonstration import DemoChoice
from swapdesk.flows.demo.link_graph import link_graph
from swapdesk.flows.demo.stage import (
    DEMOS,
    Demo,
    Stage,
    edge_said,
    link_pane,
    path_of,
    payment_lines,
)
from swapdesk.flows.notation import clock_time, tracker_amount
from swapdesk.flows.orders.order_export import write_export_file
from swapdesk.web_page import MARKED_WITHIN, is_page, web_page

PAGE = "demo"


class PageDocument(Struct, frozen=True):
    """The text of the page, or where it was written."""

    page: str | UnsetType = UNSET
    file: str | UnsetType = UNSET


def write_page(call: CliContext, choice: DemoChoice, file: Path, *, told: bool) -> None:
    """Carry it out in a new world and write the page; ``told`` prints its stages as well."""
    printed = str(file) == "-"
    if printed and told:
        said = "--auto tells the stages on standard output, where --page - writes the page."
        raise bad_input("TWO_CHOICES", said, field="page")
    if not printed:
        _check_place(file)
    output = call.output if told else Output("table", stdout=io.StringIO())
    shown = tell_demo(output, choice)
    page = demo_page(DEMOS[choice.name], shown.record, headline(shown, choice))
    if printed:
        call.output.file(page.encode(), document=PageDocument(page=page))
        return
    _check_place(file)
    try:
        write_export_file(file, page.encode())
    except OSError as error:
        raise _not_written(file, error) from None
    call.output.talk(f"Written: {file}.", document=PageDocument(file=str(file)))


def demo_page(demo: Demo, record: Sequence[Stage], about: str) -> str:
    """The same record gives the same bytes."""
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
    """A page of a demonstration may be replaced by another one, and nothing else may. A pipe or a
    device is written into."""
    try:
        if not file.parent.is_dir():
            raise bad_input("FILE", f"There is no folder {file.parent}.", field="page")
        if not file.is_file():
            return
        with file.open("rb") as old:
            ours = is_page(PAGE, old.read(MARKED_WITHIN))
    except OSError as error:
        raise _not_written(file, error) from None
    if not ours:
        said = f"{file} is there already and is no page of a demonstration; it was not replaced."
        raise bad_input("FILE_EXISTS", said, field="page")


def _not_written(file: Path, error: OSError) -> CommandError:
    said = f"{file} cannot be written: {error.strerror or error}."
    return bad_input("FILE", said, field="page")
