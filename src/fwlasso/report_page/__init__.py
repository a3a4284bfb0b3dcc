"""The page of the report: its template, style and scripts, and what they are told about a path."""
