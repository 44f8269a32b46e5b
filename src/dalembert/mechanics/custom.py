"""Constraints that a user's function computes, and the poses that such functions are handed."""

from ..jit import njit
from ..model.tables import STATE_SIZE
from ..pointer import DERIVATIVE, call_pointer


# The user's function receives (x, q, v, ω) of up to four bodies, 13 numbers each, and returns C (m), then J (m × 6 for
# each body), then the bias (m).
@njit
def custom(t, y, part, system):
    kinematics = system.kinematics
    error = system.error
    bias = system.bias
    jacobian = system.jacobian
    rows = system.joints[part.joint].rows
    rigid = system.settings[0].rigid
    scratch = system.scratch
    bodies = (part.a, part.b, part.first, part.second)
    blocks = (part.block_a, part.block_b, part.block_c, part.block_d)
    for k in range(4):
        pack_pose(y, bodies[k], rigid, kinematics, scratch[STATE_SIZE * k : STATE_SIZE * (k + 1)])
    out = scratch[4 * STATE_SIZE :]
    status = call_pointer(part.address, 0, DERIVATIVE, t, scratch[: 4 * STATE_SIZE], out[: 26 * rows])
    if status != 0:
        return status
    for r in range(rows):
        error[part.row + r] = out[r]
        bias[part.row + r] = out[25 * rows + r]
        for k in range(4):
            for c in range(6):
                jacobian[blocks[k] + 6 * r + c] = out[rows + 6 * (rows * k + r) + c]
    return 0


@njit
def pack_pose(y, body, rigid, kinematics, out):
    """(x, q, v, ω) of a body, 13 numbers; particles do not turn, and the world is at rest at the origin."""
    kin = kinematics[body]
    for k in range(3):
        out[k] = kin.x[k]
        out[7 + k] = kin.v[k]
        out[10 + k] = kin.omega[k]
    if body < rigid:
        for k in range(4):
            out[3 + k] = y[STATE_SIZE * body + 3 + k]
    else:
        out[3] = 1.0
        out[4] = 0.0
        out[5] = 0.0
        out[6] = 0.0
