"""Layers without attention: embeddings, the feed-forward layer, pooling and the sparse-gradient linear layer."""
