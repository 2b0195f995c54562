"""Data sets, one per file; `sampled_transformer.data` knows them by name."""
