"""`python -m sampled_transformer` is the command-line program."""

import sys

from sampled_transformer.cli import main

if __name__ == "__main__":
    sys.exit(main())
