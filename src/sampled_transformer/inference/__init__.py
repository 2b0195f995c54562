"""Use trained networks: prediction, evaluation, calibration, linear probes and reconstruction."""
