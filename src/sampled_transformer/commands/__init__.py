"""Commands of the program, a family a file; nothing here loads torch before a command runs."""
