"""The command that adds what is missing, by what installers leave on the disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swapdesk.installation import install


def environment(
    prefix: Path, installer: str, direct: object = None, *, files: dict[str, str], pip: bool
) -> Path:
    """As uv 0.13, pipx 1.18 and pip leave it."""
    site = prefix / "lib" / "python3.11" / "site-packages"
    info = site / "swapdesk-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: swapdesk\nVersion: 1.0\n")
    (info / "INSTALLER").write_text(f"{installer}\n")
    if direct is not None:
        (info / "direct_url.json").write_text(json.dumps(direct))
    if pip:
        (site / "pip").mkdir()
    for name, text in files.items():
        (prefix / name).write_text(text)
    return prefix


UV = """[tool]
requirements = [
    { name = "swapdesk", extras = ["service"] },
    { name = "ipython", specifier = ">=9" },
]
python = "3.13"
entrypoints = [{ name = "swapdesk", install-path = "/b/swapdesk", from = "swapdesk" }]
"""
PLAIN_UV = '[tool]\nrequirements = [{ name = "swapdesk" }]\n'
PIPX = json.dumps({"backend": "uv", "environment": "swapdesk", "pipx_metadata_version": "0.12"})
GIT = {
    "url": "https://example.com/swapdesk.git",
    "vcs_info": {"vcs": "git", "commit_id": "a" * 40},
}
CLONE = {"url": "CLONE", "dir_info": {"editable": True}}


@pytest.mark.parametrize(
    ("installer", "files", "pip", "direct", "command"),
    [
        ("pip", {}, True, None, "PREFIX/bin/python -m pip install 'swapdesk[sandbox]'"),
        ("pip", {}, True, CLONE, "PREFIX/bin/python -m pip install -e 'CLONE[sandbox]'"),
        (
            "pip",
            {},
            True,
            GIT,
            "PREFIX/bin/python -m pip install"
            f" 'swapdesk[sandbox] @ git+https://example.com/swapdesk.git@{'a' * 40}'",
        ),
        (
            "pip",
            {},
            False,
            None,
            "PREFIX/bin/python -m ensurepip"
            " && PREFIX/bin/python -m pip install 'swapdesk[sandbox]'",
        ),
        ("uv", {}, False, None, "uv pip install --python PREFIX/bin/python 'swapdesk[sandbox]'"),
        ("uv", {"uv-receipt.toml": PLAIN_UV}, False, None, "uv tool install 'swapdesk[sandbox]'"),
        (
            "uv",
            {"uv-receipt.toml": UV},
            False,
            None,
            "uv tool install --python 3.13 --with 'ipython>=9' 'swapdesk[sandbox,service]'",
        ),
        (
            "uv",
            {"uv-receipt.toml": "not TOML"},
            False,
            CLONE,
            "uv tool install --editable 'CLONE[sandbox]'",
        ),
        (
            "uv",
            {"pipx_metadata.json": PIPX},
            False,
            None,
            "pipx inject --force swapdesk 'swapdesk[sandbox]'",
        ),
        (
            "pip",
            {"pipx_metadata.json": PIPX},
            True,
            CLONE,
            "pipx inject --force --editable swapdesk 'CLONE[sandbox]'",
        ),
        # What it came from is gone, or cannot be read.
        (
            "uv",
            {"uv-receipt.toml": PLAIN_UV},
            False,
            {"url": "file:///gone/swapdesk.whl", "archive_info": {}},
            "uv tool install 'swapdesk[sandbox]'",
        ),
        ("pip", {}, True, ["?"], "PREFIX/bin/python -m pip install 'swapdesk[sandbox]'"),
    ],
)
def test_what_is_missing_comes_the_way_the_desk_came(
    tmp_path: Path, installer: str, files: dict[str, str], pip: bool, direct: object, command: str
) -> None:
    clone = tmp_path / "a clone"
    clone.mkdir()
    if isinstance(direct, dict) and direct["url"] == "CLONE":
        direct = {**direct, "url": clone.as_uri()}
    prefix = environment(tmp_path / "swapdesk", installer, direct, files=files, pip=pip)
    wanted = command.replace("PREFIX", str(prefix)).replace("CLONE", str(clone))
    assert install("sandbox", prefix=prefix) == wanted


def test_an_environment_that_was_copied_by_hand_is_added_to_by_pip(tmp_path: Path) -> None:
    """Nothing says how it came there."""
    (tmp_path / "lib" / "python3.11" / "site-packages" / "pip").mkdir(parents=True)
    said = install(prefix=tmp_path)
    assert said == f"{tmp_path}/bin/python -m pip install swapdesk"
