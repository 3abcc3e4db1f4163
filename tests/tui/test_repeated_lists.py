"""A service whose lists repeat themselves, as pages do that move while they are read: no screen
stops the desk, and every picture keeps its rules.

Those with lists of the service run always, the others with ``--full``.
"""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from flows.faulty_network import changed
from swapdesk.tui.widgets.overlay import Overlay
from tui.desk_run import Market
from tui.picture import faults_of, take
from tui.scenes import Scene, all_scenes

SCENES = [one for one in all_scenes() if one.fed]
ALWAYS = {"quotes-fixed-too", "tokens", "candidates", "batch-created", "wallets"}


def repeated(value: Any) -> Any:
    """Every object of every list once more."""
    if isinstance(value, dict):
        return {name: repeated(one) for name, one in value.items()}
    if isinstance(value, list):
        return [repeated(one) for one in value for _ in range(1 + isinstance(one, dict))]
    return value


def repeating(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """For ``FaultyNetwork.after``."""
    return changed(
        response, lambda body: json.dumps(repeated(json.loads(body))).encode() if body else b""
    )


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(one, id=one.name, marks=[] if one.name in ALWAYS else pytest.mark.long)
        for one in SCENES
    ],
)
async def test_every_list_repeated(market: Market, one: Scene) -> None:
    one.begin(market)
    market.network.after = repeating
    market.known = b""
    async with market.desk((80, 24)) as run:
        await one.reach(run)
        picture = await take(run, (80, 24))
        faults = faults_of(picture, overlay=isinstance(run.app.screen, Overlay))
        assert not faults, "\n".join([*faults, *picture.rows])
