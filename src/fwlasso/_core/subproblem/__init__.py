"""Least squares with a penalty on the few columns of a working set."""
