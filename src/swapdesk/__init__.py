"""swapdesk: a swap desk in a terminal, with the Partner Swap API v2 and a sandbox inside.

This module, and every module that it imports, may use only syntax and names that old Python
versions know. An old Python then prints why swapdesk does not run on it, instead of a syntax error.
"""

import sys

__version__ = "1.0.0"

SITE = ""
"""Address of the documentation site, with a slash at its end; empty as long as the project owns no
domain. No other domain may be named here: strangers could register it later, and people who hold
money follow such links. A release that has a site sets the address here; the program, the site and
its ``llms.txt`` read this value."""

BAD_INPUT = 2
"""The exit code if the input or the environment is refused before a command starts."""


def _refusal() -> str:
    """Returns a sentence that says why swapdesk cannot run on this Python or system; empty if it
    can run."""
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
