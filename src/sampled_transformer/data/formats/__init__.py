"""File formats, one per file. `sampled_transformer.data.files.read_shape` picks the reader by suffix."""
