"""What is solved, and who reads the columns."""
