"""Turns a confirmed intent (the payment that the user agreed to) into an order: one POST, and a
search for the order if the answer to the POST was lost.

``confirm_intent`` makes the intent. ``exchange`` journals the intent, posts it once and commits the
outcome. ``order_verification`` compares the created order, and the same order as the service
repeats it, with the intent. It also finds the order of a create whose answer was lost: a
contradicting field rules an order out, an absent field does not, and only a complete search proves
that nothing was created.

At the next start ``resume`` searches for the orders of all unfinished creates at once. If the
search does not identify an order, the user chooses one. While the outcome of an intent is unknown,
a second payment of the same pair, amount and recipient is blocked. An order that was not confirmed
at this desk is listed and followed, but its address stays hidden.
"""
