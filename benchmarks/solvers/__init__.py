"""What is here: the contestants, one file each; a `solve` takes a split and a task."""
