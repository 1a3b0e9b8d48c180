"""What is here: the compiled loops. One sweep a function, arrays only, in place."""
