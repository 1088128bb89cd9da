"""What trains models to measure what the pages of experiments say; tests/README.md says how to call it."""
