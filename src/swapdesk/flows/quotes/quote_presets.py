"""Options under a name, kept for the profile: a set of providers, legs, rates.

What is kept is what a person typed: the texts of :mod:`swapdesk.flows.quotes.option_texts`, so
that a file of an older desk is read and checked like typing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from swapdesk.flows.quotes.option_texts import OPTIONS, read_options, written_options
from swapdesk.flows.quotes.quote_request import QuoteOptions, WishRefused
from swapdesk.paths import ProfilePlaces, UnsafePlace, read_private, write_private
from swapdesk.wire.encoding.codec import refuse_deep

LONGEST_NAME = 24
MOST = 50
_LIMIT = 256 << 10
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,23}")


@dataclass(frozen=True)
class QuotePresets:
    """The file of one profile, readable by its owner alone."""

    path: Path

    @classmethod
    def of(cls, places: ProfilePlaces) -> QuotePresets:
        return cls(places.root / "quote_presets.json")

    def names(self) -> list[str]:
        return sorted(self._read())

    def find(self, name: str) -> QuoteOptions | None:
        """The options of a name; None when there are none, or none that can be used."""
        texts = self._read().get(name.lower())
        if texts is None:
            return None
        try:
            return read_options(texts)
        except WishRefused:
            return None

    def put(self, name: str, options: QuoteOptions) -> None:
        """Keep options, replacing those of the same name. Raises WishRefused for a bad name."""
        wanted = name.lower()
        if not _NAME.fullmatch(wanted):
            raise WishRefused("preset", "A name has letters, digits and -, at most 24.")
        kept = self._read()
        if wanted not in kept and len(kept) >= MOST:
            raise WishRefused("preset", f"There are {MOST} presets already.")
        kept[wanted] = written_options(options)
        text = json.dumps(kept, indent=1, sort_keys=True)
        write_private(self.path, text.encode(), replace=True)

    def _read(self) -> dict[str, Mapping[str, str]]:
        """What is kept; a file that cannot be used is as good as an empty one."""
        try:
            kept = read_private(self.path, limit=_LIMIT)
            refuse_deep(kept)
            found = json.loads(kept)
        except (FileNotFoundError, UnsafePlace, ValueError):
            return {}
        if not isinstance(found, dict):
            return {}
        return {name: texts for name, texts in found.items() if _are_texts(texts)}


def _are_texts(texts: object) -> bool:
    return isinstance(texts, dict) and all(
        name in OPTIONS and isinstance(text, str) for name, text in texts.items()
    )
