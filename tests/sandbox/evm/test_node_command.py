"""``swapdesk node``: the chains alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from cli.desks import run_here
from patience import PATIENCE


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
