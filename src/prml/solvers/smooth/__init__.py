"""What is here: the members of the family whose losses have derivatives, all labels at once."""
