"""What users have, on its way to a storage."""
