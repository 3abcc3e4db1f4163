"""From a confirmed intent to an order: one POST, and finding out what became of it.

``confirm_intent`` makes the intent; ``exchange`` journals it, posts it once and commits the
outcome. ``order_verification`` journals the order with its address hidden, has the service repeat
it and compares both.

It also finds the order of a create whose answer was lost: a field that contradicts rules an order
out, an absent field does not, and only a complete search proves that nothing was created.
``resume`` does that at the next start for all of them at once; where it does not tell, the user
chooses.

An intent of unknown outcome blocks a second payment of the same pair, amount and recipient. An
order that was not confirmed at this desk is listed and followed, and its address stays hidden.
"""
