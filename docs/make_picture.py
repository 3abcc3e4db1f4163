"""Draws the picture of the README from the real desk on a fresh sandbox.

Run it with ``.venv/bin/python docs/make_picture.py``.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from textual.pilot import Pilot

from swapdesk.cli.sandbox_lifetime import SandboxLifetime
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.tui.app import DeskApp

TARGET = Path(__file__).parent / "images" / "quotes.svg"
PATIENCE = 400


async def draw(home: Home, sandbox: SandboxLifetime) -> str:
    """The quote comparison of 0.5 BTC to ETH, as SVG."""
    app = DeskApp(load_settings({}, home), sandbox.ready)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("n", *_typed("0.5 btc eth"))
        await _shown(pilot, "on Ethereum")
        await pilot.press("enter")
        await _shown(pilot, "usable routes")
        return app.export_screenshot(title="swapdesk")


def _typed(text: str) -> list[str]:
    names = {" ": "space", ".": "full_stop"}
    return [names.get(ch, ch) for ch in text]


async def _shown(pilot: Pilot[int], text: str) -> None:
    for _ in range(PATIENCE):
        await pilot.pause(0.05)
        if any(text in line.text for line in pilot.app.screen._compositor.render_strips()):
            return
    raise SystemExit(f"the screen never showed {text!r}")


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        home = Home.at(Path(scratch))
        sandbox = SandboxLifetime(home)
        try:
            TARGET.parent.mkdir(exist_ok=True)
            TARGET.write_text(asyncio.run(draw(home, sandbox)), encoding="utf-8")
        finally:
            sandbox.close()


if __name__ == "__main__":
    main()
