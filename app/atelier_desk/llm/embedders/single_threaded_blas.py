"""Limit numpy's matrix library to one thread.

On a busy machine its threads wait for each other: two made the built-in embedder six times slower, and a search among
100 000 vectors four times.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)


def limit_to_one_thread() -> bool:
    """Limit BLAS to one thread for the whole process; return whether it certainly took effect.

    Before numpy is loaded, environment variables do it (a value set by the user stays). Afterwards OpenBLAS, included
    in numpy's wheels, is called directly; other libraries cannot be changed any more.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None:
        for name in _VARIABLES:
            os.environ.setdefault(name, "1")
        return True
    package = Path(str(numpy.__file__)).parent
    told = False
    for library in sorted([*package.parent.glob("numpy.libs/*openblas*"), *package.glob(".dylibs/*openblas*")]):
        handle = ctypes.CDLL(str(library))
        for name in _SETTERS:
            setter = getattr(handle, name, None)
            if setter is not None:
                setter(ctypes.c_int(1))
                told = True
                break
    return told
