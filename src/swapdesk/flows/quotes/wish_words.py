"""What a question for quotes says in words, where it is more than tokens and an amount."""

from __future__ import annotations

from swapdesk.flows.quotes.quote_wish import LegFilter, QuoteOptions


def options_in_words(options: QuoteOptions) -> str:
    """``fixed and floating, markup 0.5%, only aa, bb``; empty for plain options."""
    parts: list[str] = []
    if options.fixed:
        parts.append("fixed and floating" if options.floating else "fixed rates")
    if options.types:
        parts.append(f"only {' and '.join(options.types)}")
    if options.markup is not None:
        parts.append(f"markup {options.markup.normalize():f}%" if options.markup else "no markup")
    if options.providers:
        parts.append(f"only {', '.join(options.providers)}")
    parts += _leg("first leg", options.in_leg) + _leg("second leg", options.out_leg)
    if options.use_xmr is not None:
        parts.append("hop over XMR" if options.use_xmr else "hop not pinned")
    if options.rotation is not None:
        turn = options.rotation
        parts.append(
            f"payout wallets in turn (last {turn.lookback}, at most"
            f" {turn.deviation.normalize():f}% worse{', else without' if turn.fallback else ''})"
        )
    return ", ".join(parts)


def cost_in_words(asked: QuoteOptions, most: int = 1) -> str:
    """``1 quote``, ``2 quotes``; ``1 to 3 quotes`` where each call may become ``most``."""
    if most > 1:
        return f"{asked.cost} to {asked.cost * most} quotes"
    return "1 quote" if asked.cost == 1 else f"{asked.cost} quotes"


def _leg(name: str, leg: LegFilter) -> list[str]:
    said = []
    if leg.only:
        said.append(f"{name} only {', '.join(leg.only)}")
    if leg.without:
        said.append(f"{name} without {', '.join(leg.without)}")
    return said
