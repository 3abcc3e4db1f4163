"""Life of a whole sandbox, its ready line, its children, its data; and of ``swapdesk node``, the
chains alone.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from msgspec.structs import replace
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from cli.desks import run_here
from databases import Cluster
from harness import alive, children, wait_for
from patience import PATIENCE
from plain_http import PLAIN
from sandbox.chain_money import chain_of
from sandbox.running import Running, create_order
from sandbox.test_configured_service import TAKEN_BY_NEWER, rows_of
from swapdesk.sandbox.node.solana.node import OLDER_FILE
from swapdesk.sandbox.partner_keys import KEY_FILE
from swapdesk.sandbox.run_file import RUN_FILE, ReadyLine, find_running, read_run_file
from swapdesk.sandbox.world import find_token
from swapdesk.service.store.schema import VERSION
from swapdesk.wire.events import CloseCode

BTC, ETH = find_token("bitcoin", "BTC").token_id, find_token("ethereum", "ETH").token_id
ALICE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


def test_ready_line_run_file_and_end(tmp_path: Path) -> None:
    """In fresh interpreters a sandbox is begun by ``furnished_home``, in each run."""
    with Running(tmp_path) as sandbox:
        # Of one directory there is one sandbox: the other one waits for the lock.
        second, begin = Running(tmp_path).spawn(), time.monotonic()
        line = json.loads(sandbox.first_line)
        assert set(line) >= {"url", "control", "controlToken", "partners"}
        assert line["url"].startswith("http://127.0.0.1:")
        assert line["url"].endswith("/v2")
        assert line["control"].endswith("/sandbox")
        tiers = [partner["tier"] for partner in line["partners"]]
        assert tiers.count("PRO") >= 2
        assert tiers.count("FREE") >= 1
        for partner in line["partners"]:
            assert {"partnerId", "apiKey", "apiSecret", "tier"} <= set(partner)
        for name in (RUN_FILE, "sandbox.key", "node.db"):
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600, name
        for chain in line["chains"]:
            asked = (
                ("eth_chainId", hex(chain["chainId"])) if chain["chainId"] else ("getHealth", "ok")
            )
            assert chain_of(sandbox, chain["shortName"])(asked[0]) == asked[1]
        with sandbox.api() as api:
            assert api.get("/health").json()["status"] == "ok"
            assert api.get("/health", headers={"Host": "desk.example"}).status_code == 200
            assert api.get("/tokens").json()["total"] >= 60
            assert len(api.get("/swaps").json()) >= 6
            limits = api.get("/rateLimits").json()
            assert limits["quote"]["perMinute"] == 500
        with sandbox.api(2) as free:
            assert free.get("/rateLimits").json()["exchange"]["perDay"] == 10
        assert (second.wait(PATIENCE), second.communicate()[0]) == (2, "")
        assert time.monotonic() - begin >= 4.5, "it waits for the lock"
        assert find_running(tmp_path) == sandbox.ready
        keys = line["partners"][0]
        stream = connect(
            line["url"].replace("http://", "ws://") + "/ws",
            additional_headers={"Authorization": f"{keys['apiKey']}:{keys['apiSecret']}"},
            proxy=None,
        )
        with stream:
            assert json.loads(stream.recv())["type"] == "welcome"
            sandbox.process.send_signal(signal.SIGTERM)
            with pytest.raises(ConnectionClosed) as closed:
                stream.recv(timeout=PATIENCE)
        assert closed.value.rcvd.code == CloseCode.RESTART
        assert sandbox.process.wait(PATIENCE) == 0, sandbox.said.read_text()
        assert sandbox.process.stdout.read() == "", "exactly one line on standard output"
        assert find_running(tmp_path) is None
        assert not (tmp_path / RUN_FILE).exists()


def _refused(running: Running) -> int:
    with running.spawn() as process:
        return process.wait(PATIENCE)


def test_keys_and_orders_outlive_a_kill_and_other_options_are_refused(tmp_path: Path) -> None:
    """Children end with a killed supervisor, and with a lifeline."""
    with Running(tmp_path) as sandbox:
        with sandbox.api() as api:
            order = create_order(api, BTC, ETH, "0.5", ALICE)
        below = children(sandbox.process.pid)
        assert len(below) == 2
        sandbox.kill()
        wait_for(lambda: not any(map(alive, below)), what="children ended")
        assert read_run_file(tmp_path) == sandbox.ready, "nobody was left to remove it"
        assert find_running(tmp_path) is None
        with Running(tmp_path, seed=None, speed=None, lifeline=True) as again:
            assert again.ready.partners == sandbox.ready.partners
            with again.api() as api:
                kept = api.get(f"/orders/{order['serviceId']}").json()
            for name in ("depositAddress", "inAmount"):
                assert kept[name] == order[name]
            with again.control() as control:
                state = control.get("/state").json()
                assert (state["seed"], state["speed"]) == (7, 600)
            below = children(again.process.pid)
            again.process.stdin.close()
            assert again.process.wait(PATIENCE) == 0
            wait_for(lambda: not any(map(alive, below)), what="children ended")
    assert _refused(Running(tmp_path, seed=8)) == 2
    (tmp_path / "sandbox.key").chmod(0o644)
    assert _refused(Running(tmp_path)) == 2


def test_the_world_of_an_earlier_release_is_put_aside_and_its_keys_go_on(tmp_path: Path) -> None:
    data, taken = tmp_path / "sandbox", tmp_path / "sandbox.old-1"
    taken.mkdir()
    with Running(data) as sandbox, sandbox.api() as api:
        partners = sandbox.ready.partners
        create_order(api, BTC, ETH, "0.5", ALICE)
    older = data / "chains" / OLDER_FILE
    older.parent.mkdir(exist_ok=True)
    older.touch()
    aside = tmp_path / "sandbox.old-2"
    with Running(data) as sandbox, sandbox.api() as api:
        told = f"{data} was put aside as {aside}: {older} was made by another release"
        assert sandbox.ready.putAside == f"{told}. A new world begins"
        assert sandbox.said.read_text() == f"{sandbox.ready.putAside}.\n"
        assert sandbox.ready.partners == partners
        assert api.get("/orders").json()["orders"] == []
        found = find_running(data)
        assert found == replace(sandbox.ready, putAside=""), "it is told at one start"
    assert list(taken.iterdir()) == [], "what had the name stays"
    assert (aside / KEY_FILE).read_bytes() == (data / KEY_FILE).read_bytes()
    for name, table in (("node.db", "accounts"), ("service.db", "orders")):
        with closing(sqlite3.connect(aside / name)) as file:
            kept = file.execute(f"SELECT COUNT(*) FROM {table}").fetchone()  # noqa: S608
        assert kept == (1,), "nothing of it is lost"
    (data / "node.db").write_bytes(b"no database" * 1_000)
    assert _refused(Running(data)) == 2
    assert f"{data}: restore it, or move it away" in Running(data).said.read_text()
    assert (data / "node.db").read_bytes().startswith(b"no database")


def test_a_run_file_of_others_is_not_believed(tmp_path: Path) -> None:
    ready = ReadyLine("http://127.0.0.1:1/v2", "http://127.0.0.1:1/sandbox", "t", [], 1)
    path = tmp_path / RUN_FILE
    path.write_text(ready.as_line())
    path.chmod(0o644)
    assert read_run_file(tmp_path) is None
    path.chmod(0o600)
    assert read_run_file(tmp_path) == ready
    assert find_running(tmp_path) is None
    for damaged in ("", "{", "[]", "null", '{"url": 1}'):
        path.write_text(damaged)
        assert read_run_file(tmp_path) is None


def test_it_says_where_its_chains_are_and_what_it_does_not_serve(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "swapdesk", "node", "--data", str(tmp_path / "node")]
    env = {**os.environ, "SWAPDESK_HOME": str(tmp_path / "home")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as process:
        chains = json.loads(process.stdout.readline())["chains"]
        process.terminate()
        assert process.wait(PATIENCE) == 0
    names = ["ethereum", "base", "arbitrum", "polygon", "bsc", "solana"]
    assert [each["shortName"] for each in chains] == names
    place = chains[-1]["rpc"].removesuffix("/solana")
    told = {"kind": "evm", "chainId": 1_337_042_161, "rpc": f"{place}/evm/arbitrum"}
    assert chains[2] == {"shortName": "arbitrum", **told}
    real = [*command, "--chain-ids", "real"]
    ended = subprocess.run(real, capture_output=True, timeout=PATIENCE, check=False, env=env)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b"holds chain id" in ended.stderr
    refused = run_here("node", "--host", "0.0.0.0", home=tmp_path)
    assert (refused.code, "this machine alone" in refused.stderr) == (2, True)


def test_the_data_of_a_service_may_stand_in_postgresql_for_one_sandbox_alone(
    tmp_path: Path,
) -> None:
    cluster = Cluster.of_run()
    url = cluster.url(cluster.empty_database(0))
    command = [sys.executable, "-m", "swapdesk", "serve", "--sandbox", "--store", url, "--data"]
    env = {**os.environ, "SWAPDESK_HOME": str(tmp_path / "home")}
    orders: list[str] = []
    told = tmp_path / "told"
    for start in range(2):
        # The second time it is known, and goes on.
        with (
            told.open("wb") as stderr,
            subprocess.Popen(
                [*command, tmp_path / "one"], stdout=subprocess.PIPE, stderr=stderr, env=env
            ) as one,
        ):
            ready = json.loads(one.stdout.readline())
            partner = ready["partners"][0]
            key = {"Authorization": f"{partner['apiKey']}:{partner['apiSecret']}"}
            with httpx2.Client(
                base_url=ready["url"], headers=key, trust_env=False, timeout=PATIENCE, verify=PLAIN
            ) as api:
                assert all(api.get(f"/orders/{each}").status_code == 200 for each in orders)
                orders.append(create_order(api, BTC, ETH, "0.1", ALICE)["serviceId"])
            if start == 0:
                one.terminate()
                assert one.wait(PATIENCE) == 0
                continue
            another = [*command, tmp_path / "another"]
            ended = subprocess.run(
                another, capture_output=True, timeout=PATIENCE, check=False, env=env
            )
            assert (ended.returncode, ended.stdout) == (2, b"")
            assert b"it belongs to another service: the sandbox is " in ended.stderr
            # A newer release takes the database.
            cluster.run(rows_of(url, TAKEN_BY_NEWER))
            assert one.wait(PATIENCE) == 2
    assert f"{url}: it has schema {VERSION + 1}, this release knows" in told.read_text()
    assert not (tmp_path / "one" / "service.db").exists()
    words = ("serve", "--sandbox", "--store", "postgresql://u:pw@h/d", "--json")
    refused = run_here(*words, home=tmp_path)
    assert (refused.code, refused.error["code"]) == (2, "USAGE")
    assert "must not hold the password" in refused.error["message"]
