"""Layers without attention: embeddings, feed-forward layers, pooling, stochastic depth, sparse-gradient Linear."""
