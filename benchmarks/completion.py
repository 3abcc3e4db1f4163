"""A word completed with 20,000 tokens on disk, from the press of the key to the end of the process,
against a Python that imports click and ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.homes import DESK, fill_catalog, offline_environment
from benchmarks.report import Case, Figures
from swapdesk.cli.completion import VARIABLE

TOKENS = 20_000
CLICK = [sys.executable, "-c", "import click"]
MOST_OF_CLICK = 3.5
MOST_SECONDS = 0.150
WORDS = {"one token": "swapdesk swap 1 usdc.b", "every token": "swapdesk swap 1 ''"}


def run(rounds: int) -> list[Case]:
    """``rounds`` of each in turn; the first, which fills caches, does not count."""
    figures = Figures()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        fill_catalog(home, TOKENS)
        kept = {"PATH": os.environ["PATH"], **offline_environment(home)}
        for number in range(rounds + 1):
            for name, argv, asked in (
                ("click", CLICK, {}),
                *(
                    (
                        name,
                        DESK,
                        {"COMP_WORDS": words, "COMP_CWORD": "3", VARIABLE: "bash_complete"},
                    )
                    for name, words in WORDS.items()
                ),
            ):
                begin = time.perf_counter()
                ended = subprocess.run(
                    argv, env={**kept, **asked}, stdout=subprocess.PIPE, check=True
                )
                seconds = time.perf_counter() - begin
                if asked and not ended.stdout.startswith(b"plain,"):
                    raise RuntimeError(f"nothing was offered for {name}")
                if number:
                    figures.add(name, seconds)
    return [
        *(figures.case(f"completed: {name}", name, "click", MOST_OF_CLICK) for name in WORDS),
        *(figures.best(f"completed: {name}, seconds", name, MOST_SECONDS) for name in WORDS),
    ]
