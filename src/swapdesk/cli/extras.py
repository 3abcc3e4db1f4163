"""Optional parts of the installation, and what to say when one is missing."""

from __future__ import annotations

from importlib.util import find_spec

from swapdesk.cli.command_error import CommandError
from swapdesk.cli.exit_codes import Exit

SANDBOX_PARTS = ("starlette", "uvicorn", "uvloop", "httptools", "eth", "coincurve")


def require_sandbox() -> None:
    """Exit 2 with the line to install, when a package the sandbox is served with is missing."""
    missing = [name for name in SANDBOX_PARTS if find_spec(name) is None]
    if missing:
        raise CommandError(
            Exit.BAD_INPUT,
            "MISSING_EXTRA",
            f"The sandbox needs {', '.join(missing)}. Install it: pip install 'swapdesk[sandbox]'",
            next="you: install the extra, or choose a live profile",
        )
