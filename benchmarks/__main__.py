"""``python -m benchmarks [case ...] [--rounds N] [--keys N] [--seconds N] [--strict]``"""

from __future__ import annotations

import argparse
import compileall
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import swapdesk
from benchmarks import (
    account,
    agent,
    batch,
    bundles,
    command,
    completion,
    creates,
    evm,
    fanout,
    framework,
    groups,
    hostile,
    idle,
    live,
    orders_list,
    past,
    postgres,
    restart,
    sandbox,
    scroll,
    search,
    service,
    stalls,
    start,
    stream,
    tokens,
    transitions,
    walk,
)
from benchmarks.report import Case

CASES: dict[str, Callable[[Any], Iterable[Case]]] = {
    "command": lambda chosen: command.run(chosen.rounds),
    "completion": lambda chosen: completion.run(chosen.rounds),
    "start": lambda chosen: start.run(chosen.rounds),
    "tokens": lambda chosen: tokens.run(chosen.rounds),
    "search": lambda chosen: search.run(chosen.rounds),
    "scroll": lambda chosen: scroll.run(chosen.keys),
    "idle": lambda chosen: idle.run(chosen.seconds),
    "stalls": lambda chosen: stalls.run(min(3, chosen.rounds)),
    "evm": lambda chosen: evm.run(chosen.rounds),
    "agent": lambda chosen: agent.run(chosen.rounds),
    "groups": lambda chosen: groups.run(min(3, chosen.rounds)),
    "bundles": lambda chosen: bundles.run(min(3, chosen.rounds)),
    "batch": lambda chosen: batch.run(min(5, chosen.rounds)),
    "past": lambda chosen: past.run(chosen.rounds),
    "restart": lambda chosen: restart.run(min(3, chosen.rounds)),
    "sandbox": lambda chosen: sandbox.run(min(3, chosen.rounds)),
    "fanout": lambda chosen: fanout.run(chosen.rounds),
    "account": lambda chosen: account.run(chosen.rounds),
    "creates": lambda chosen: creates.run(min(3, chosen.rounds)),
    "transitions": lambda chosen: transitions.run(min(3, chosen.rounds)),
    "postgres": lambda chosen: postgres.run(min(3, chosen.rounds)),
    "stream": lambda chosen: stream.run(),
    "orders": lambda chosen: orders_list.run(chosen.rounds),
    "hostile": lambda chosen: hostile.run(min(3, chosen.rounds)),
    "live": lambda chosen: live.run(10 * chosen.seconds),
    "fastapi": lambda chosen: framework.run(),
    "service": lambda chosen: service.run(chosen.prism),
    "walk": lambda chosen: walk.run(),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="case", help=f"{', '.join(CASES)}; all if none")
    parser.add_argument("--rounds", type=int, default=7, help="launches per program")
    parser.add_argument("--keys", type=int, default=200, help="key presses per program")
    parser.add_argument("--seconds", type=float, default=15.0, help="of rest; ten times it live")
    parser.add_argument("--prism", help="an installed prism; else npm installs one for the run")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a demand is not held")
    chosen = parser.parse_args()
    wanted = chosen.cases or list(CASES)
    if unknown := set(wanted) - set(CASES):
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    # As an installed desk is: compiled, whatever the environment says of writing bytecode.
    for package in (Path(swapdesk.__file__).parent, Path(__file__).parent):
        compileall.compile_dir(package, quiet=2)
    cases: list[Case] = []
    for name in wanted:
        print(f"{name} (load before {os.getloadavg()[0]:.1f})", flush=True)
        for case in CASES[name](chosen):
            print(f"  {case.line()}", flush=True)
            cases.append(case)
    return int(chosen.strict and not all(case.held for case in cases))


if __name__ == "__main__":
    sys.exit(main())
