"""Data sets, one per file. `sampled_transformer.data.load_data` loads them by name."""
