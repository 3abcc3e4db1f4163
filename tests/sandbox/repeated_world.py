"""A program: an order in a repeatable world of the seed that is given, told line by line, and what
its stream said of it."""

from __future__ import annotations

import json
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import httpx2

from swapdesk.sandbox.repeatable import open_world, run_repeatable
from swapdesk.sandbox.world import find_token
from swapdesk.wire.operations import STREAM_PATH

USDC = find_token("base", "USDC").token_id
ETH = find_token("base", "ETH").token_id
RECEIVER = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


async def story(seed: int) -> list[str]:
    """What was quoted, and every state of an order that was paid, with its time."""
    with tempfile.TemporaryDirectory() as place:
        data = Path(place) / "sandbox"
        async with open_world(data, seed=seed, speed=Decimal(600)) as world:
            partner = world.ready["partners"][0]
            key = f"{partner['apiKey']}:{partner['apiSecret']}"
            api = httpx2.AsyncClient(
                base_url=world.ready["url"],
                headers={"authorization": key},
                transport=world.transport,
            )
            control = httpx2.AsyncClient(
                base_url=world.ready["control"],
                headers={"sandbox-token": world.ready["controlToken"]},
                transport=world.transport,
            )
            url = f"{world.ready['url']}{STREAM_PATH}"
            stream = await world.transport.open_stream(url, {"authorization": key})
            await stream.send('{"type":"subscribe"}')
            async with api, control:
                wanted = {"from": USDC, "to": ETH, "amount": "500"}
                quotes = (await api.get("/quotes", params=wanted)).json()["quotes"]
                assert {quote["type"] for quote in quotes} == {"standard", "private", "dex"}
                told = [json.dumps(quotes)]
                best = next(quote for quote in quotes if quote["type"] == "private")
                asked = {"quoteId": best["quoteId"], "addressTo": RECEIVER}
                order = (await api.post("/exchanges", json=asked)).json()
                name = order["serviceId"]
                paid = await control.post("/deposits", json={"serviceId": name})
                told.append(paid.json()["hash"])
                while order["status"] < 4:
                    order = (await api.get(f"/orders/{name}")).json()
                    if (state := json.dumps(order)) != told[-1]:
                        told += [str(world.clock.now()), state]
                    await world.clock.sleep(0.25)
            frames = [json.loads(await stream.recv()) for _ in range(2)]
            assert [frame["type"] for frame in frames] == ["welcome", "subscribed"]
            while frames[-1].get("data", {}).get("status") != order["status"]:
                frames.append(json.loads(await stream.recv()))
            stream.abort()
            await stream.wait_closed()
            return [json.dumps(frames), *told]


if __name__ == "__main__":
    lines = run_repeatable(lambda: story(int(sys.argv[1])))
    sys.stdout.write("".join(f"{line}\n" for line in lines))
