"""What the trader confirmed, and where the address to pay stands: words that every room uses."""
