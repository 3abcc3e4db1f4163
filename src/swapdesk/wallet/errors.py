"""How asking the wallet agent can fail. After each of them no signature has left the agent."""

from __future__ import annotations

from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.review import RuleFinding


class WalletError(Exception):
    """``words`` say what happened, for the trader to read."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


class AgentGone(WalletError):
    """The process ended or cannot be understood. What it was asked may or may not be done:
    ``WalletClient.transactions`` of a new one tells. ``said`` is the end of what it wrote to
    its standard error, with all that could be a secret taken out."""

    def __init__(self, words: str, said: tuple[str, ...] = ()) -> None:
        super().__init__(words)
        self.said = said


class AgentMissing(WalletError):
    """No agent could be started: the extra ``wallet`` is not installed, or no process more."""


class DeskReadsOnly(WalletError):
    """This desk was told to sign nothing; no agent was started."""


class Refused(WalletError):
    """The agent said no, by this code; ``findings`` are the gate's, where it was the gate."""

    def __init__(
        self, code: RefusalCode, words: str, findings: tuple[RuleFinding, ...] = ()
    ) -> None:
        super().__init__(words)
        self.code = code
        self.findings = findings


class WrongPassphrase(Refused):
    """No key opened with it."""


def refusal_of(code: str, words: str, findings: tuple[RuleFinding, ...] = ()) -> Refused:
    """The error of a refusal; a code this desk does not know is told as a defect."""
    try:
        known = RefusalCode(code)
    except ValueError:
        known = RefusalCode.DEFECT
    kind = WrongPassphrase if known is RefusalCode.WRONG_PASSPHRASE else Refused
    return kind(known, words, findings)
