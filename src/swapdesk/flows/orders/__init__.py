"""What one order means: its case, its words, its times, its amounts.

``order_case`` says which situation an order is in, ``order_words`` what is said in it,
``order_state`` how it stands at a moment, ``order_summary`` what lists show, ``diagnosis`` why it
is where it is. ``own_payment``, ``swap_payment`` and ``batch_payment`` are what this desk knows
of its payment before the service does.
"""
