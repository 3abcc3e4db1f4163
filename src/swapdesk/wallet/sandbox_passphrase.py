"""The pass phrase of the sandbox's wallet: random, stored beside the wallet's keys, and never asked
for."""

from __future__ import annotations

import contextlib
import secrets

from swapdesk.paths import ProfilePlaces, private_directory, read_private, write_private
from swapdesk.secret import Secret

FILE = "wallet.passphrase"


def sandbox_passphrase(places: ProfilePlaces) -> Secret:
    """Returns the pass phrase of a sandbox profile. Generates and stores it first if there is none.
    Raises UnsafePlace if other users could read the file."""
    private_directory(places.root)
    path = places.root / FILE
    with contextlib.suppress(FileExistsError):
        write_private(path, secrets.token_urlsafe(32).encode())
    return Secret(read_private(path).decode("ascii"))
