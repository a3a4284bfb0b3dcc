"""The paper's experiments, run again beside its published figures, and what goes beyond them."""
