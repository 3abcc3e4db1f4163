"""How values stand on the wire: JSON in bounds, exact numbers, safe text, times, query strings."""
