"""Quotes: a question (``asking``), its price over all routes (``pricing``), its rows (``rows``).

``engine`` leads from one to the other; ``fanout`` is how long the venues are waited for.
"""
