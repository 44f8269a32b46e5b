"""Sensors, for `Scene.add_sensor`. A run samples them: see `sampling`."""

from ..scene.sensor import (
    Accelerometer,
    Camera,
    CenterOfMass,
    ContactForce,
    Effort,
    ForceTorque,
    FrameState,
    Gyroscope,
    Imu,
    JointState,
    Range,
    Sensor,
    Touch,
    Velocimeter,
)

__all__ = [
    "Accelerometer", "Camera", "CenterOfMass", "ContactForce", "Effort", "ForceTorque", "FrameState", "Gyroscope", "Imu",
    "JointState", "Range", "Sensor", "Touch", "Velocimeter",
]  # fmt: skip
