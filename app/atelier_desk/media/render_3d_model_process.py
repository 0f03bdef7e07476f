"""Render a 3D model on the CPU in its own process.

Input: ``[kind, views, width, height, background]`` and the model. Output: ``{"views": {name: base64 PNG},
"faces", "vertices", "size": [x, y, z]}``. Error codes: ``not_a_model``, ``too_many``, ``empty``, ``broken``.
"""

from __future__ import annotations

import os

from atelier_desk.support.worker.child import serve

MEMORY = 3 * 1024 * 1024 * 1024
"""Bytes of address space."""
SECONDS = 60
"""Seconds of CPU time."""

if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from atelier_desk.media.mesh_renderer import pictures

    serve(lambda request, data, _tell: pictures(data, *request), memory=MEMORY, cpu_s=SECONDS, once=True)
