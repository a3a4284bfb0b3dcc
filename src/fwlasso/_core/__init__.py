"""Compiled code that knows no storage: it works on plain arrays."""
