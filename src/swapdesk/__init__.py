"""swapdesk: a swap desk in a terminal, with the Partner Swap API v2 and a sandbox inside.

This module, and every module that it imports, may use only syntax and names that old Python
versions know. An old Python then prints why swapdesk does not run on it, instead of a syntax error.
"""

import sys

__version__ = "1.0.0"

SITE = ""
"""Address of the documentation site, with a slash at its end; empty while the project owns no
domain. Never name a foreign one: strangers could register it, and people who hold money follow such
links."""

BAD_INPUT = 2
"""The exit code if the input or the environment is refused before a command starts."""


def _refusal() -> str:
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
