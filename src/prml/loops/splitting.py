"""What is here: the element-wise part of a splitting round, each matrix read once.

V, M, dual and target are (n_labels, n_features + 1) and large (eurlex: 160 MB each): written as
products and sums of whole matrices these lines took a fifth of a round.
"""

from prml.loops.jit import jit


@jit
def relaxed_target(V, M, dual, rho, relaxation, first, last, target):
    """Rows first..last of target = r Z + (1 - r) V + dual / rho, with Z = V + (M - dual) / rho."""
    a, b = relaxation / rho, (1.0 - relaxation) / rho
    for i in range(first, last):
        for k in range(V.shape[1]):
            target[i, k] = V[i, k] + a * M[i, k] + b * dual[i, k]


@jit
def follow(V, rho, first, last, target):
    """Let rows first..last of target become the multipliers that follow, rho (target - V)."""
    for i in range(first, last):
        for k in range(V.shape[1]):
            target[i, k] = rho * (target[i, k] - V[i, k])
