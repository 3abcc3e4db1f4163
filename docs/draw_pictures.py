"""Draws ``docs/images`` anew: the moments of tapes, and one tape as a picture that moves.

Run it with ``.venv/bin/python docs/draw_pictures.py``, and look at what it drew.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from generator.film import film

DOCUMENTS = Path(__file__).parent
PLACES = {
    DOCUMENTS / "tapes" / "swap.tape": DOCUMENTS / "images",
    DOCUMENTS / "tapes" / "themes.tape": DOCUMENTS / "images" / "themes",
}
"""Tapes, and where the pictures of each are."""
FILMS = {"swap": "A swap in the desk: typed, quoted, created, paid, followed and paid out"}
"""Tapes that are pictures that move, each with what is seen."""


def pictures(recorded: Path) -> dict[str, str]:
    """The files by name, from what ``tape run --record`` wrote."""
    pictures = {path.name: path.read_text(encoding="utf-8") for path in sorted(recorded.iterdir())}
    for name in [name for name in pictures if name.endswith(".cast")]:
        cast, tape = pictures.pop(name), name.removesuffix(".cast")
        if tape in FILMS:
            pictures[f"{tape}.svg"] = film(cast, FILMS[tape])
    return pictures


def main() -> None:
    for tape, place in PLACES.items():
        with tempfile.TemporaryDirectory() as recorded:
            play = ("tape", "run", str(tape), "--headless", "--record", recorded)
            subprocess.run([sys.executable, "-m", "swapdesk", *play], check=True)
            place.mkdir(exist_ok=True)
            for name, content in pictures(Path(recorded)).items():
                (place / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
