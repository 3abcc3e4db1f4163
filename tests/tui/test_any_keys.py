"""Keys that nobody would press: from any screen, in any sequence, while sizes, time, orders and
the network change. The desk stands, nothing is created twice, and the picture keeps its rules.

A few walks run always; ``--full`` runs many long ones.
"""

from __future__ import annotations

import json
import logging
import random
from collections import Counter
from collections.abc import Callable, Sequence

import httpx2
import pytest

from flows.faulty_network import fail_answer, lose_answer, refuse_connection
from swapdesk.tui.commands import all_commands
from swapdesk.tui.widgets.overlay import Overlay
from swapdesk.wire.orders import LegStatus
from tui.desk_run import STILL, DeskRun, Market
from tui.picture import faults_of, take
from tui.scenes import Scene, all_scenes

SCENES = all_scenes()
FEW, STEPS = 2, 40
WALKS, MANY_STEPS = 200, 160
SIZES = ((80, 24), (100, 30), (120, 40), (200, 60), (79, 23), (30, 8))
SECONDS = (STILL, 1.0, 5.0, 61.0, 1_900.0)
LEAVING, MOSTLY = ("q", "ctrl+q", "ctrl+c"), 0.9
PLAIN = (
    *("enter", "escape", "tab", "shift+tab", "up", "down", "left", "right", "home", "end"),
    *("pageup", "pagedown", "backspace", "delete", "space", "f1", "f2", "ctrl+p", "ctrl+t", "q"),
)
TEXTS = (
    *("0.5 btc eth", "=2 eth btc", "0.5 eth @bob", "900 usdc.base sol", "2500 xrp eth"),
    *("@bob", "0x71C7656EC7ab88b098defB751B7401B5f6d8976F", "104882716", "1", "all", "none"),
    *("1e400 btc eth", "-1 btc eth", "٣ btc eth", "\u202ebtc", "[/]", "'", "0x", "漢" * 40, " "),
)


class Walk:
    """One desk, what is done to it, and what must hold whatever that was."""

    def __init__(self, run: DeskRun, market: Market, rng: random.Random) -> None:
        self.run, self.market, self.rng = run, market, rng
        self.keys = sorted({key for one in all_commands() for key in one.key.split(",")})
        self.done: list[str] = []
        self.posted: list[str] = []
        market.network.before = self._before
        self._spoil: Callable[[httpx2.Request], None] | None = None

    async def step(self) -> None:
        """One thing that a hand, the service or the network does."""
        rng = self.rng
        ways = (self._bound, self._any, self._text, self._size, self._time, self._order, self._net)
        way = rng.choices(ways, weights=(50, 18, 12, 5, 8, 4, 3))[0]
        await way()

    async def _press(self, *keys: str) -> None:
        self.done += keys
        await self.run.press(*keys)

    async def _bound(self) -> None:
        """A key that does something here."""
        bound = sorted(self.run.app.screen.active_bindings)
        await self._press(self._chosen(bound or list(PLAIN)))

    async def _any(self) -> None:
        await self._press(self._chosen([*PLAIN, *self.keys]))

    def _chosen(self, keys: Sequence[str]) -> str:
        """One of them; what leaves the desk ends the walk, so it is rare."""
        chosen = self.rng.choice(keys)
        leaves = chosen in LEAVING and self.rng.random() < MOSTLY
        return self._chosen(keys) if leaves else chosen

    async def _text(self) -> None:
        text = self.rng.choice(TEXTS)
        self.done.append(f"text {text}")
        await self.run.type(text)

    async def _size(self) -> None:
        size = self.rng.choice(SIZES)
        self.done.append(f"size {size}")
        await self.run.pilot.resize_terminal(*size)
        await self.run.pilot.pause()

    async def _time(self) -> None:
        seconds = self.rng.choice(SECONDS)
        self.done.append(f"{seconds} s")
        self.market.clock.advance(seconds)
        await self.run.pilot.pause()

    async def _order(self) -> None:
        """A leg of an order moves at its venue, and the service looks."""
        venue = self.rng.choice(self.market.venues)
        if venue.opened:
            leg, status = self.rng.choice(venue.opened), self.rng.choice(list(LegStatus))
            self.done.append(f"leg {status}")
            venue.move(leg.key, status)
        await self.market.parts.worker.step(self.market.clock.now())
        await self.run.pilot.pause()

    async def _net(self) -> None:
        name, before, after = self.rng.choice(
            (
                ("whole", None, None),
                ("refuses", refuse_connection, None),
                ("loses", None, lose_answer),
                ("fails", None, fail_answer),
            )
        )
        self.done.append(f"network {name}")
        self._spoil, self.market.network.after = before, after

    def _before(self, request: httpx2.Request) -> None:
        if self._spoil is not None:
            self._spoil(request)
        if request.method == "POST" and request.url.path.startswith("/v2/exchanges"):
            self.posted.append(json.loads(request.content).get("quoteId", ""))

    def holds(self, caplog: pytest.LogCaptureFixture) -> None:
        """What is true after every step."""
        defects = [
            f"{one.getMessage()}: {one.exc_info[1]!r}"
            for one in caplog.records
            if one.levelno >= logging.ERROR and one.exc_info
        ]
        assert not defects, defects
        twice = [quote for quote, count in Counter(self.posted).items() if count > 1]
        assert not twice, f"created twice from one quote: {twice}"

    async def looks_right(self) -> None:
        run = self.run
        for size in ((80, 24), (120, 40)):
            picture = await take(run, size)
            faults = faults_of(picture, overlay=isinstance(run.app.screen, Overlay))
            # Texts that were typed may be longer than their field, and end anywhere.
            found = [one for one in faults if "cuts" not in one]
            assert not found, "\n".join([*found, *picture.rows])


async def walked(
    market: Market, one: Scene, steps: int, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    one.begin(market)
    async with market.desk((80, 24)) as run:
        await one.reach(run)
        walk = Walk(run, market, random.Random(seed))
        try:
            for _ in range(steps):
                await walk.step()
                if run.app._exit:
                    break
                walk.holds(caplog)
            else:
                await walk.looks_right()
        except BaseException as error:
            error.add_note(f"scene {one.name}, seed {seed}: {walk.done}")
            raise
        assert run.app.return_code in (None, 0)


@pytest.mark.parametrize("seed", range(0, len(SCENES), len(SCENES) // FEW))
async def test_a_few_keys(market: Market, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    await walked(market, SCENES[seed], STEPS, seed, caplog)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(WALKS))
async def test_many_keys(market: Market, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    await walked(market, SCENES[seed % len(SCENES)], MANY_STEPS, seed, caplog)
