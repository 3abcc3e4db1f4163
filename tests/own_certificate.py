"""A certificate that is its own authority, as a company's proxy or a server of one's own has it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def own_certificate(directory: Path, name: str) -> Path:
    """One for ``localhost``, with its key before it; ``NAME.crt`` beside it has no key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    asked = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    asked += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    asked += ["-addext", "keyUsage=critical,digitalSignature,keyCertSign"]
    files = ["-keyout", directory / f"{name}.key", "-out", directory / f"{name}.crt"]
    subprocess.run([*asked, *files], check=True, capture_output=True)
    whole = directory / f"{name}.pem"
    parts = (directory / f"{name}.key", directory / f"{name}.crt")
    whole.write_bytes(b"".join(part.read_bytes() for part in parts))
    return whole
