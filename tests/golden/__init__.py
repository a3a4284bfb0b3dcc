"""What the package computes, bit by bit, before and after a change: `python -m tests.golden`, or `make golden`."""
