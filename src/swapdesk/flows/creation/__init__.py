"""From a confirmed intent to an order: one POST, and finding out what became of it."""
