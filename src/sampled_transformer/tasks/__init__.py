"""What is trained and how: options, batches, training, evaluation, prediction. Importing it loads no torch."""
