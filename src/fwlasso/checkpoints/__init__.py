"""Paths that are kept while they are computed."""
