"""What one order means.

``order_merge`` makes one order of several sightings, ``order_fields`` reads single fields of it.
``situations`` is the table of all situations with their words, and ``order_status`` makes an
``OrderStatus`` of an order, its intent, its payments and the time. ``payment_progress`` is what
this desk knows of its payment before the service does, and ``deposit_destination`` what is to be
sent and where it went. Everything else renders an ``OrderStatus`` or sorts orders by it.
"""
