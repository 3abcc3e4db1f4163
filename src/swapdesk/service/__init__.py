"""The server side of the API: from a request to the store and back.

``router`` handles every request before ``handlers``, which has one handler for each operation.
``app`` wires the rooms together: ``quoting``, ``orders``, ``multi``, ``bundling``, ``dex``,
``venues``, ``events`` and ``store``.
"""
