"""The laboratory: studies, benchmarks and result pages that check the paper. The library never imports it."""
