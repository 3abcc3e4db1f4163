"""Follows all orders live, merges their states forward only, and announces changes. ``tracking``
commits a state before it announces the state; only estimates and times are committed later
(``order_writes``), because the service states them again."""
