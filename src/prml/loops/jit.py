"""What is here: the one decorator through which every loop is compiled."""

import os
from functools import partial

DISABLED = os.environ.get("PRML_DISABLE_JIT", "0") not in ("", "0")


def jit(function):
    """Compile `function` without the GIL and keep the machine code on disk where that is possible.

    `PRML_DISABLE_JIT=1` leaves it plain Python, for coverage and for debugging. No `fastmath`:
    NaN and inf decide branches.
    """
    if DISABLED:
        return function
    from numba import njit

    from prml.loops.code_cache import make_safe

    # nobody calls a loop through a C pointer: that entry would be compiled for nothing
    compiled = partial(njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
    try:
        return make_safe(compiled(cache=True)(function))
    except RuntimeError:  # no folder in which numba may keep its cache
        return compiled()(function)
