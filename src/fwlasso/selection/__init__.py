"""Choosing a model on a path."""
