"""The experiments behind the figures of the pages, and what draws the pictures."""
