"""The sandbox's wallet is unlocked by a phrase that nobody types."""

from __future__ import annotations

from pathlib import Path

import pytest

from swapdesk.paths import Home, UnsafePlace
from swapdesk.wallet.sandbox_passphrase import FILE, sandbox_passphrase


def test_it_is_made_once_kept_private_and_random(tmp_path: Path) -> None:
    places = Home.at(tmp_path / "a").profile("sandbox")
    phrase = sandbox_passphrase(places)
    assert len(phrase.reveal()) >= 40
    assert sandbox_passphrase(places) == phrase
    file = places.root / FILE
    assert file.stat().st_mode & 0o777 == 0o600
    assert sandbox_passphrase(Home.at(tmp_path / "b").profile("sandbox")) != phrase
    file.chmod(0o644)
    with pytest.raises(UnsafePlace):
        sandbox_passphrase(places)
