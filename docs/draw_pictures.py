"""Draws ``docs/images`` anew: the moments of ``docs/tapes/swap.tape``, and the tape as a picture
that moves.

Run it with ``.venv/bin/python docs/draw_pictures.py``, and look at what it drew.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from generator.film import film

DOCUMENTS = Path(__file__).parent
TAPE = DOCUMENTS / "tapes" / "swap.tape"
IMAGES = DOCUMENTS / "images"
TITLE = "A swap in the desk: typed, quoted, created, paid, followed and paid out"


def pictures(recorded: Path) -> dict[str, str]:
    """Files of ``docs/images`` by name, from what ``tape run --record`` wrote."""
    found = {path.name: path.read_text(encoding="utf-8") for path in sorted(recorded.iterdir())}
    found[f"{TAPE.stem}.svg"] = film(found.pop(f"{TAPE.stem}.cast"), TITLE)
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        play = ("tape", "run", str(TAPE), "--headless", "--record", place)
        subprocess.run([sys.executable, "-m", "swapdesk", *play], check=True)
        for name, content in pictures(Path(place)).items():
            (IMAGES / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
