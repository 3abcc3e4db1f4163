"""Commands and options that are gone, each with what takes its place: told for one version.

They are no commands any more, so help, completion and documents leave them out by themselves. Only
a line that cannot be read for another reason either is compared with them.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from swapdesk.cli.command_error import CommandError, bad_input

REMOVED: dict[str, str] = {
    "demo swap": "run swapdesk tape run docs/tapes/swap.tape",
    "demo dex": "run swapdesk tape run docs/tapes/dex.tape",
    "serve --record": "put a proxy between client and service that records what is told",
    "serve --replay": "start each test with swapdesk serve --sandbox --seed N",
    "support diff": "compare the two JSON files with diff",
}
"""The command and the word of it that is gone: what to do in its place."""


def of_removed(error: click.ClickException, line: Sequence[str]) -> CommandError | None:
    """Exit 2 where the line names what is gone; None for any other line that cannot be read."""
    context = getattr(error, "ctx", None)
    if context is None:
        return None
    words = {word.partition("=")[0] for word in line}
    for gone, instead in REMOVED.items():
        command, _, word = gone.rpartition(" ")
        if f"swapdesk {command}".rstrip() == context.command_path and word in words:
            said = f"swapdesk {gone} is gone in this version. Instead: {instead}."
            return bad_input("REMOVED", said, next=f"you: {instead}")
    return None
