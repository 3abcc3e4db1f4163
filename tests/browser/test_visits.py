"""What the visits of these tests would notice: a page that does everything that ours may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser.conftest import SIZES, Open
from web_documents import digest

pytestmark = pytest.mark.asyncio(loop_scope="session")

BAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>bad</title>
<meta http-equiv="content-security-policy" content="default-src 'none'; img-src http:;
 style-src 'sha256-{digest}'; connect-src *">
<style>{style}</style></head><body><main><h1>bad</h1><p id="faint">faint</p>
<p style="color:red">blocked</p><img alt="" src="http://127.0.0.1:9/seen.png">
<script>fetch("http://127.0.0.1:9/")</script></main></body></html>"""
STYLE = "body { background: #fafaf7; } h1 { width: 3000px; } #faint { color: #eee; }"


async def test_what_a_page_may_not_do_is_noticed(visit: Open, tmp_path: Path) -> None:
    file = tmp_path / "bad.html"
    file.write_text(BAD.format(style=STYLE, digest=digest(STYLE).removeprefix("sha256-")))
    seen = await visit(file)
    assert seen.asked == [seen.address, "http://127.0.0.1:9/seen.png"]
    blocked = [one for one in seen.told if "Content Security Policy" in one]
    assert len(blocked) == 2, "a style and a script"
    with pytest.raises(AssertionError, match="3008"):
        await seen.look("bad", SIZES["telephone"], "light")
    with pytest.raises(AssertionError, match="color-contrast"):
        await seen.judge()
    seen.asked[1:], seen.told[:] = [], []
