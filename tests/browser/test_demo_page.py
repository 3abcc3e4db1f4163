"""A demonstration as a page, stepped through in a browser."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from browser.conftest import SIZES, Open, Visit
from corpus.texts import web_texts
from recorded_demo import recorded
from swapdesk.cli.demo_report import demo_page
from swapdesk.flows.demo.stage import DEMOS, Stage
from swapdesk.web_page import LONGEST_TEXT
from swapdesk.wire.encoding.text import safe_text

pytestmark = pytest.mark.asyncio(loop_scope="session")


def written(
    directory: Path, name: str = "private", stages: tuple[Stage, ...] | None = None
) -> Path:
    file = directory / "demo.html"
    about = "what is paid"
    file.write_text(demo_page(DEMOS[name], stages or recorded(name).stages, about), "utf-8")
    return file


async def press(seen: Visit, *keys: str) -> None:
    for key in keys:
        await seen.page.keyboard.press(key)


async def shown(seen: Visit) -> str:
    """What of the page is seen, by its name."""
    (name,) = await seen.page.eval_on_selector_all(
        "main h2",
        "all => all.filter(one => one.checkVisibility()).map(one => one.parentElement.id)",
    )
    assert isinstance(name, str)
    return name


async def test_a_demonstration_is_read_at_every_size(visit: Open, tmp_path: Path) -> None:
    """A stage with most of the drawing still to come, the search, and what `e` adds."""
    seen = await visit(written(tmp_path))
    for key in ("5", "l"):
        await press(seen, key)
        await seen.look_everywhere(f"demo-private-{await shown(seen)}")
    await press(seen, "9", "e")
    await seen.look("demo-private-explained", (360, 740), "dark")


async def test_a_stuck_order_is_read_at_every_size(visit: Open, tmp_path: Path) -> None:
    """It has no path and no search, and the longest texts."""
    seen = await visit(written(tmp_path, "stuck"))
    await press(seen, "l")
    assert await shown(seen) == "stage-1"
    await press(seen, "4")
    for size in SIZES.values():
        await seen.look("demo-stuck-stage-4", size, "dark")


async def test_keys_step_through_the_stages_and_the_search(visit: Open, tmp_path: Path) -> None:
    stages = recorded("private").stages
    seen = await visit(written(tmp_path))
    spoken = seen.page.get_by_role("status")
    for stage in stages:
        assert await shown(seen) == f"stage-{stage.number}"
        assert await spoken.inner_text() == stage.row.sentence
        current = seen.page.locator("nav [aria-current=step]")
        assert await current.get_attribute("href") == f"#stage-{stage.number}"
        await press(seen, "Space")
    assert await shown(seen) == "link-search"
    for keys, place in (
        (["Space"], "link-search"),
        (["b"], "stage-9"),
        (["ArrowLeft"], "stage-8"),
        (["PageUp"], "stage-7"),
        (["ArrowRight"], "stage-8"),
        (["PageDown"], "stage-9"),
        (["Home"], "stage-1"),
        (["b"], "stage-1"),
        (["End"], "stage-9"),
        (["4"], "stage-4"),
        (["l"], "link-search"),
        (["l"], "stage-4"),
        (["L"], "link-search"),
        (["Escape"], "stage-4"),
        (["0", "x", "Control+b"], "stage-4"),
    ):
        await press(seen, *keys)
        assert await shown(seen) == place, keys
    assert seen.page.url.endswith("#stage-4"), "an address that is passed on"
    await seen.page.evaluate("location.hash = '#stage-7'")
    await seen.page.locator("#stage-7 h2").wait_for()


async def test_e_shows_whole_hashes_and_takes_them_away(visit: Open, tmp_path: Path) -> None:
    paid = recorded("private").stages[-1].paid
    seen = await visit(written(tmp_path))
    await press(seen, "9")
    more = seen.page.locator("#stage-9 .more")
    explain = seen.page.get_by_role("button", name="explain")
    for key, there in (("e", True), ("e", False), ("e", True), ("Escape", False)):
        await press(seen, key)
        assert await more.is_visible() == there
        assert (paid.hash in await seen.page.locator("#stage-9").inner_text()) == there
        assert await explain.get_attribute("aria-pressed") == str(there).lower()


async def test_whoever_has_no_keys_gets_everywhere(visit: Open, tmp_path: Path) -> None:
    seen = await visit(written(tmp_path), has_touch=True, viewport={"width": 360, "height": 740})
    button = seen.page.get_by_role("button")
    await button.filter(has_text="next stage").tap()
    assert await shown(seen) == "stage-2"
    await button.filter(has_text="back").tap()
    assert await shown(seen) == "stage-1"
    await seen.page.get_by_role("link", name="7").tap()
    assert await shown(seen) == "stage-7"
    await press(seen, "Space")
    assert await shown(seen) == "stage-8", "what was clicked does not keep the keys"
    await button.filter(has_text="link search").tap()
    assert await shown(seen) == "link-search"
    # By the keyboard alone: a button that has the focus takes the space.
    await button.filter(has_text="back").focus()
    await press(seen, "Space")
    assert await shown(seen) == "stage-9"


async def test_whole_on_paper_and_without_its_script(visit: Open, tmp_path: Path) -> None:
    """Every stage, one after the other, with whole hashes; on paper as it is light."""
    stages = recorded("private").stages
    for options in ({}, {"java_script_enabled": False}):
        seen = await visit(written(tmp_path), color_scheme="dark", **options)
        if not options:
            await seen.page.emulate_media(media="print")
        told = await seen.page.locator("main").inner_text()
        for stage in stages:
            assert stage.row.sentence in told
            assert stage.row.more in told
        assert all(each.hash in told for each in (*stages[-1].moved, *stages[-1].crowd))
        assert not await seen.page.locator("footer").is_visible()
    light = await seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light == "rgb(13, 17, 21)"


async def test_hostile_names_stay_texts_and_none_leaves_the_screen(
    visit: Open, tmp_path: Path
) -> None:
    """In the names of exchanges, coins and chains, which stand in the drawings, too."""
    texts = web_texts()
    elements = None
    for number in range(0, len(texts), 4):
        one, other, coin, chain = (texts * 2)[number : number + 4]
        file = written(
            tmp_path, stages=with_names(recorded("private").stages, one, other, coin, chain)
        )
        seen = await visit(
            file.rename(tmp_path / f"{number}.html"), viewport={"width": 360, "height": 740}
        )
        assert await seen.page.title() == "Private send"
        count = await seen.page.locator("*").count()
        elements = elements or count
        assert count == elements
        for key, place in (("9", "stage-9"), ("l", "link-search")):
            await press(seen, key)
            assert await shown(seen) == place
            assert await seen.page.evaluate("document.documentElement.scrollWidth") == 360
        told = " ".join((await seen.page.locator("#stage-9").text_content() or "").split())
        for text in (one, other, coin, chain):
            assert " ".join(safe_text(text, LONGEST_TEXT).split()) in told
        await seen.leave()


def with_names(
    stages: Iterable[Stage], one: str, other: str, coin: str, chain: str
) -> tuple[Stage, ...]:
    made = []
    for stage in stages:
        first, second = stage.legs
        middle = replace(first.bought, symbol=coin)
        legs = (replace(first, venue=one, bought=middle), replace(second, venue=other))
        moved = tuple(replace(each, symbol=coin, chain=chain) for each in stage.moved)
        got = moved[-1] if stage.got is not None else None
        made.append(replace(stage, legs=legs, moved=moved, got=got))
    return tuple(made)
