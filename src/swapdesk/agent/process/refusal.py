"""No, with its reason, on the way to the desk."""

from __future__ import annotations

from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.review import Finding


class Refusal(Exception):
    """What was asked is not done. The words never quote a secret."""

    def __init__(self, code: RefusalCode, words: str, findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.findings = findings
