"""Derives what an order means from its states. ``order_merge`` makes one order of the states that
several sources report, ``situations`` has all situations with their texts, and ``order_status``
makes an ``OrderStatus``, which most other modules render."""
