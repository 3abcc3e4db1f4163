"""The sandbox: simulates everything around a live service, locally and deterministically.

``world`` holds the catalogue, ``market`` the prices, ``exchange`` the exchanges, and ``node`` the
chains and the exchanges' books. ``supervisor`` starts these parts; ``control`` and ``faults`` make
them fail on purpose. ``repeatable`` runs everything in one process.
"""
