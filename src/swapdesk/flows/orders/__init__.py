"""What one order means.

``situations`` is the table of all situations with their words, ``order_status`` makes an
``OrderStatus`` of an order, its intent, its payments and the time, ``order_fields`` reads single
fields. ``swap_payment`` and ``batch_payment`` are what this desk knows of its payment before the
service does. Everything else renders an ``OrderStatus`` or sorts orders by it.
"""
