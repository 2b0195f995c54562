"""What trained networks are used for: prediction, evaluation, calibration, probes and reconstruction."""
