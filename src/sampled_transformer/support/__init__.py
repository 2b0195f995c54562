"""General helpers that know nothing of points: atomic files, printable names, memory, worker processes."""
