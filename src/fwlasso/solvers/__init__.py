"""The solvers, one file each, and the one loop that runs them."""
