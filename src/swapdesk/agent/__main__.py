"""The start of the process with the keys, ``python -I -m swapdesk.agent PARENT``, which only the
desk runs.

``PARENT`` is the process id of the desk. Everything else, pass phrases above all, comes over
standard input in frames.
"""

from __future__ import annotations

import sys

from swapdesk.agent.process.confinement import confine, say_no_more_than_types, take_pipes

ORPHANED = 4


def main(arguments: list[str], *, cost: int | None = None) -> None:
    """Serves the desk's requests until the desk ends. ``arguments`` holds one text, the desk's
    process id. ``cost`` is the scrypt parameter n for new key files, None for the default."""
    if len(arguments) != 1 or not arguments[0].isascii() or not arguments[0].isdigit():
        sys.exit("swapdesk.agent is started by the desk")
    if not confine(int(arguments[0])):
        sys.exit(ORPHANED)
    say_no_more_than_types()
    source, sink = take_pipes()

    # Only now: nothing that was imported before reads a key or a request.
    import asyncio

    from swapdesk.agent.process.service import AgentService, DeskPipe
    from swapdesk.chain.unused_curve import leave_out_validator_keys

    leave_out_validator_keys()

    async def serve() -> None:
        pipe = DeskPipe(source, sink)
        await (AgentService(pipe) if cost is None else AgentService(pipe, cost=cost)).run()

    asyncio.run(serve())


if __name__ == "__main__":
    main(sys.argv[1:])
