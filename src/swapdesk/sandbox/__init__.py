"""Everything that a live service has around it, local and deterministic.

``world`` is what there is, ``market`` its prices, ``exchange`` the exchanges, ``node`` their chains
and books; ``supervisor`` starts all of it, ``control`` and ``faults`` spoil it on purpose.
``repeatable`` is all of it in one process, every run of which is the same.
"""
