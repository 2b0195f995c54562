"""The masked autoencoder of section 5.1 (MAE-dense and MAE-sampled), and the classifier made of its encoder.

- `mask`: which groups of a cloud are masked.
- `encoder`: groups to tokens, and tokens through transformer blocks.
- `autoencoder`: the network "mae", which rebuilds the masked groups.
- `classifier`: the network "mae-classifier".

`models.tokens` cuts a cloud into groups.
"""

from .autoencoder import POINT_MAE, MaskedAutoencoder, Reconstruction
from .classifier import MaskedAutoencoderClassifier
from .encoder import Encoder

__all__ = ["POINT_MAE", "Encoder", "MaskedAutoencoder", "MaskedAutoencoderClassifier", "Reconstruction"]
