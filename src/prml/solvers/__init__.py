"""What is here: the outer loops - stopping on a certificate, history, time limits."""
