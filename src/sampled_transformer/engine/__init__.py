"""Work on many files by worker processes of this machine or of a Ray cluster, with answers in parts on disk."""
