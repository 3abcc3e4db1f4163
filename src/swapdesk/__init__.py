"""swapdesk: a swap desk in a terminal, with the Partner Swap API v2 and a sandbox inside.

Nothing here, and nothing that is imported here, may be newer than the oldest Python somebody might
try: where swapdesk does not run, this says so before anything else of it is loaded.
"""

import sys

__version__ = "1.0.0"

SITE = ""
"""Address of the site of the documents, with a slash at its end. Empty as long as nobody has one: a
name that is not ours may be anybody's tomorrow, and people who hold money follow it. A release that
has a site names it here; the program, the site and its ``llms.txt`` take it from here."""

BAD_INPUT = 2
"""The exit code, as of everything that is refused before it begins."""


def _refusal() -> str:
    """Why this cannot run here; empty if it can."""
    if sys.version_info < (3, 11):  # noqa: UP036  only pip compares it before
        found = ".".join(str(part) for part in sys.version_info[:3])
        return f"swapdesk needs Python 3.11 or newer, and this is {found} ({sys.executable})."
    if sys.platform == "win32":
        return (
            "swapdesk runs on Linux and macOS, not on Windows itself. Install it in WSL"
            " (wsl --install), where it runs as on Linux."
        )
    return ""


if _refusal():
    sys.stderr.write(f"{_refusal()}\n")
    sys.exit(BAD_INPUT)
