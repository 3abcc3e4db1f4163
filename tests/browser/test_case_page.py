"""The page of a support case, as a colleague without the desk opens it."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pytest

from browser.conftest import SIZES, Open, background_of
from corpus.texts import web_texts
from flows.support.case_documents import document_of, read_document, whole_case, with_texts
from swapdesk.flows.support.case_file import NOT_OURS, CaseFile, case_page
from web_documents import WebDocument

pytestmark = pytest.mark.asyncio(loop_scope="session")


def placed(file: CaseFile, directory: Path) -> Path:
    path = directory / "case.html"
    path.write_text(case_page(file), "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "rule", "masked"),
    [("held", "held", False), ("masked", "refunded", True)],
)
async def test_a_case_is_read_at_every_size(
    visit: Open, tmp_path: Path, name: str, rule: str, masked: bool
) -> None:
    file = whole_case(rule, ()) if masked else whole_case(rule)
    seen = await visit(placed(file, tmp_path))
    assert await seen.page.locator(".whose").first.inner_text() == NOT_OURS
    await seen.look_everywhere(f"case-{name}")
    await seen.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    await seen.look(f"case-{name}-whole", SIZES["telephone"], "light")
    await seen.look(f"case-{name}-whole", SIZES["laptop"], "dark")


async def test_keys_open_what_stood_then_and_the_reply_is_not_marked(
    visit: Open, tmp_path: Path
) -> None:
    """Without a script of its own."""
    file = whole_case()
    seen = await visit(placed(file, tmp_path), java_script_enabled=False)
    page, then = seen.page, file.record.moments[-1].sheet
    answers = page.locator("details").first.locator("dl")
    assert not await answers.is_visible()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    assert await answers.is_visible()
    assert then.cause in await answers.inner_text()
    await page.keyboard.press("Control+a")
    marked = await page.evaluate("getSelection().toString()")
    assert file.record.sheet.order_id in marked
    assert file.record.sheet.cause in marked
    assert not [line for line in file.record.sheet.reply[1:] if line and line in marked]


async def test_it_is_printed_whole(visit: Open, tmp_path: Path) -> None:
    seen = await visit(placed(whole_case(), tmp_path))
    await seen.page.emulate_media(media="print", color_scheme="dark")
    assert await seen.background() == background_of("light")
    for one in await seen.page.locator("details dl").all():
        assert await one.is_visible()


async def test_every_text_of_a_file_stays_a_text(visit: Open, tmp_path: Path) -> None:
    """All hostile texts at once, each place with another one, then the worst in all places."""
    texts = web_texts()
    mixed = cycle(texts)
    files = [with_texts(whole_case(), lambda: next(mixed))]
    files += [with_texts(whole_case(), lambda text=text: text) for text in texts[1::6]]  # type: ignore[misc]
    for number, file in enumerate(files):
        seen = await visit(placed(file, tmp_path))
        elements = len(WebDocument(case_page(file)).elements)
        assert await seen.page.locator("*").count() == elements
        assert await seen.page.title() != "owned"
        size = SIZES["telephone"]
        await seen.look(f"case-hostile-{number}", size, "dark", judged=not number)
        await seen.leave()


async def test_a_newer_file_with_a_long_time_line_is_read(visit: Open, tmp_path: Path) -> None:
    document = document_of(whole_case())
    document["schema"] = 9
    document["record"]["moments"] *= 40
    file = read_document(document)
    seen = await visit(placed(file, tmp_path))
    assert file.newer in await seen.page.locator(".whose").all_inner_texts()
    await seen.look("case-long", (360, 740), "light")
