"""Ratios against named baselines in the same run. Milliseconds are printed, never judged."""
