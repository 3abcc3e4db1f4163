"""The sandbox: simulates everything around a live service, locally and deterministically.

``world`` is the content of the catalogue, ``market`` the prices, ``exchange`` the exchanges, and
``node`` the chains and the exchanges' books. ``supervisor`` starts all these parts; ``control`` and
``faults`` break them on purpose. ``repeatable`` runs the whole sandbox in one process, and every
such run is the same.
"""
