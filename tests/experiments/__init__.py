"""What trains models to measure what the three experiments.md say; tests/README.md says how to call it."""
