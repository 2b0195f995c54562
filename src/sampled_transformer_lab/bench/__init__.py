"""Time and memory of attention, beside every rival, on the user's own machine."""
