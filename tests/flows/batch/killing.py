"""A group whose desk was killed: created and paid in a process of its own, up to a boundary."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from flows.batch.paying import Payer, PayingPlace
from flows.killed_process import killed, reopened
from swapdesk.wallet.encoding import to_json


@asynccontextmanager
async def killed_at(place: PayingPlace, directory: Path, boundary: str) -> AsyncIterator[Payer]:
    """Whoever starts the desk again on the journal and the keys of the killed one."""
    async with (
        place.payer(directory) as someone,
        place.service.served() as url,
    ):
        await someone.agent.close()
        keys = place.wallet(directory / "keys")
        await killed(
            "flows/batch/killed_payer.py",
            url,
            json.dumps(to_json(keys)),
            str(directory / "journal.db"),
            place.CHAIN,
            someone.account.address,
            boundary,
        )
        someone.agent = await reopened(keys)
        try:
            yield someone
        finally:
            await someone.agent.close()
