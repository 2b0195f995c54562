"""General helpers that have nothing to do with points: atomic files, printable names, memory, worker processes."""
