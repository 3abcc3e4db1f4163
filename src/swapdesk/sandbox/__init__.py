"""The sandbox: simulates everything around a live service, locally and deterministically.

``world`` holds the content of the catalogue, ``market`` the prices, ``exchange`` the exchanges, and
``node`` the chains and the exchanges' books. ``supervisor`` starts all these parts; ``control`` and
``faults`` make them fail on purpose. ``repeatable`` runs the whole sandbox in one process, in such
a way that every run is the same.
"""
