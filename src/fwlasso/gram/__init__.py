"""Paths on the Gram matrix of all columns: one pass over the rows, then numbers of p columns alone."""
