"""Data that break arithmetic, and a judge who computes every claim again: `python -m tests.attack`."""
