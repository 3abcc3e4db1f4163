"""What one order means: its case, its words, its times, its amounts."""
