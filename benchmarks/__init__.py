"""Speed, memory and start-up, measured as ratios within one run: ``python -m benchmarks`` or ``make bench``."""
