"""Reading and writing of values on the wire: JSON within bounds, exact numbers, safe text, times,
query strings."""
