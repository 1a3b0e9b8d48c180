"""How fast the solvers are: ratios to what a user would run instead, measured in one run.

What is here: `python -m benchmarks`, which prints the table of speed bars with pass or short.
`datasets` makes the splits, `objective` says what is solved and how well, `solvers` has one file a
contestant, `rows` one file a row of the table.
"""
