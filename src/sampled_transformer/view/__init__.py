"""The live page: shapes, answers and attention in a browser. Everything here needs viser, an extra."""
