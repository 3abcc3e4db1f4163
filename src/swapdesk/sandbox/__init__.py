"""Everything around a live service, local and deterministic.

``world`` is its content, ``market`` the prices, ``exchange`` the exchanges, ``node`` their chains
and books; ``supervisor`` starts all of it, ``control`` and ``faults`` break it on purpose.
``repeatable`` is all of it in one process, every run of which is the same.
"""
