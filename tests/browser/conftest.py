"""Pages as a browser shows them. Chromium of the system is driven, each page in a profile of its
own; it may fetch the page and nothing else, and what it complains of fails the test.

Tests here run in the loop of the session, as the browser does:
``pytestmark = pytest.mark.asyncio(loop_scope="session")``. ``--pictures DIRECTORY`` keeps what they
saw.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from msgspec import Struct
from playwright.async_api import Browser, Page, Route, async_playwright

import system_browser
from patience import PATIENCE
from swapdesk.palette_files import DEFAULT_THEME, LIGHT_THEME, read_palettes
from tui.test_themes import contrast

Size = tuple[int, int]
SIZES: dict[str, Size] = {
    "telephone": (360, 740),
    "laptop": (1280, 800),
    "projector": (1920, 1080),
}
Scheme = Literal["light", "dark"]
PALETTES: dict[Scheme, str] = {"light": LIGHT_THEME, "dark": DEFAULT_THEME}
AXE_RULES = {"resultTypes": ["violations", "incomplete"]}
SIGN_ALONE = "contains only non-text characters"
"""Axe leaves the contrast of an arrow or a dot to a person, who sees it beside text."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    options = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    if os.geteuid() == 0:
        # Chromium refuses to build its sandbox as root; what it shows here we wrote.
        options.append("--no-sandbox")
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=system_browser.found(), args=options)
        yield browser
        await browser.close()


def background_of(scheme: Scheme) -> str:
    """As a browser says it."""
    colour = read_palettes().own[PALETTES[scheme]].colours["background"]
    return f"rgb({', '.join(str(part) for part in bytes.fromhex(colour[1:]))})"


class Visit(Struct):
    """A page that is open. ``asked`` is every request it made, ``told`` what the browser said of
    it: errors, warnings, and what the policy blocked."""

    address: str
    page: Page
    pictures: Path | None
    asked: list[str]
    told: list[str]

    async def look(self, name: str, size: Size, scheme: Scheme, *, judged: bool = True) -> None:
        """At this size: nothing is wider than the window, the colours are the palette's and, if
        ``judged``, axe finds nothing. ``name`` is the picture's."""
        page = self.page
        await page.set_viewport_size({"width": size[0], "height": size[1]})
        await page.emulate_media(color_scheme=scheme)
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide <= size[0], (name, size, wide)
        assert await self.background() == background_of(scheme)
        if self.pictures is not None:
            self.pictures.mkdir(parents=True, exist_ok=True)
            picture = self.pictures / f"{name}-{size[0]}x{size[1]}-{scheme}.png"
            # The caret as it is: to hide it is a style, which the policy of the page blocks.
            await page.screenshot(path=picture, caret="initial")
        if judged:
            await self.judge()

    async def leave(self) -> None:
        """Closes the page, which must have asked for nothing else, and of which the browser must
        have nothing to say."""
        await self.page.context.close()
        assert self.asked == [self.address]
        assert self.told == []

    async def background(self) -> str:
        told = await self.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert isinstance(told, str)
        return told

    async def look_everywhere(self, name: str) -> None:
        """At every size in both schemes; axe judges where there is least and most room."""
        for size_name, size in SIZES.items():
            for scheme in PALETTES:
                await self.look(name, size, scheme, judged=size_name != "laptop")

    async def judge(self) -> None:
        """By the rules of axe, as the page stands: nothing is wrong, and nothing is left open but
        what a person has to judge. Of a text in a drawing axe knows no ground: that is the
        page's."""
        told = (await Axe().run(self.page, options=AXE_RULES)).response
        found = [
            (one["id"], node["target"], node["failureSummary"])
            for kind in ("violations", "incomplete")
            for one in told[kind]
            for node in one["nodes"]
            if not node["html"].startswith("<text") and SIGN_ALONE not in node["failureSummary"]
        ]
        assert found == []
        drawn = await self.page.eval_on_selector_all("svg text", _COLOURS)
        assert [text for text, colour, ground in drawn if contrast(colour, ground) < 4.5] == []


_COLOURS = """all => {
    const ground = getComputedStyle(document.body).backgroundColor;
    return all.filter(one => one.checkVisibility())
        .map(one => [one.textContent, getComputedStyle(one).fill, ground]);
}"""


Open = Callable[..., Awaitable[Visit]]


@pytest_asyncio.fixture(loop_scope="session")
async def visit(chromium: Browser, request: pytest.FixtureRequest) -> AsyncIterator[Open]:
    """``await visit(address)``: a page that is open, by its address or the path of its file;
    ``status`` is that of an answer that is no success. When the test ends the page must have asked
    for nothing else, and the browser must have nothing to say."""
    visits: list[Visit] = []
    pictures = request.config.getoption("--pictures")

    async def open_page(place: str | Path, *, status: int | None = None, **options: Any) -> Visit:
        address = place.as_uri() if isinstance(place, Path) else place
        context = await chromium.new_context(service_workers="block", **options)
        context.set_default_timeout(PATIENCE * 1_000)
        page = await context.new_page()
        one = Visit(address, page, Path(pictures) if pictures else None, [], [])
        visits.append(one)

        async def decide(route: Route) -> None:
            one.asked.append(route.request.url)
            first = one.asked == [address] and route.request.is_navigation_request()
            await (route.continue_() if first else route.abort())

        page.on("console", lambda message: one.told.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: one.told.append(f"error: {error}"))
        await context.route("**/*", decide)
        await context.route_web_socket("**/*", lambda socket: one.asked.append(socket.url))
        await page.goto(address)
        if status is not None:
            failed = f"the server responded with a status of {status} "
            assert len(one.told) == 1, one.told
            assert failed in one.told.pop(0)
        return one

    yield open_page
    for one in visits:
        if not one.page.is_closed():
            await one.leave()
