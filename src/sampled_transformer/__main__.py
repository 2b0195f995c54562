"""`python -m sampled_transformer` is the command-line program."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
