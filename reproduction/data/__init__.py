"""The data sets of the paper: made, read, downloaded, or stand-ins of their size."""
