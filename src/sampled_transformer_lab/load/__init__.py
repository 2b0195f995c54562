"""What the program needs under load: resident memory, time and leftovers, measured from outside."""
