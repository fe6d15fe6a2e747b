//! The original's camera, with the arithmetic of its libraries: the matrices are GLM's, the
//! projection that of OpenGL's shader and viewport, all in single precision and with a single fused
//! operation.

use std::f64::consts::PI;

/// Distance from the centre of the model, at which the camera points.
const DISTANCE: f32 = 4.0;

/// Vertical field of view; near and far planes below.
const DEGREES: f64 = 45.0;
const NEAR: f32 = 1.0;
const FAR: f32 = 100.0;

/// Angle of the first view on the circle.
const START_DEGREES: f64 = 30.0;

type Vector = [f32; 3];

/// A view of a model from one side.
pub(crate) struct Camera {
    /// Columns of the view matrix.
    view: [Vector; 4],
    /// Factor of the perspective for x and y.
    zoom: f32,
    /// Depth of a point: its distance times the first, plus the second.
    depth: [f32; 2],
    /// Half of the side in pixels.
    half: f64,
}

impl Camera {
    /// Creates the camera of view `number` of `n_views`, turned by another `turn` degrees, for
    /// images of `size` pixels.
    pub(crate) fn new(number: u32, n_views: u32, turn: f64, size: u32) -> Self {
        let around = f64::from(number) / f64::from(n_views) * PI * 2.0;
        let angles = [around, START_DEGREES * RADIANS, turn * RADIANS];
        let turned =
            angles.into_iter().fold(IDENTITY, |matrix, angle| turned(matrix, angle as f32));
        let [direction, up, _] = turned;
        let eye = direction.map(|value| 0.0 - value * DISTANCE);
        let zoom = 1.0 / libm::tan(f64::from((DEGREES * RADIANS) as f32 / 2.0)) as f32;
        let range = FAR - NEAR;
        Self {
            view: look_at(eye, up),
            zoom,
            depth: [-(FAR + NEAR) / range, -(2.0 * FAR * NEAR) / range],
            half: f64::from(size) / 2.0,
        }
    }

    /// Returns the pixel of a point, counted from the left and from the bottom; `None` if it is out
    /// of sight.
    #[inline]
    pub(crate) fn pixel(&self, point: Vector) -> Option<(u32, u32)> {
        let [x, y, z] = point;
        let [right, up, back, eye] = &self.view;
        let seen = |axis: usize| right[axis] * x + up[axis] * y + back[axis] * z + eye[axis];
        let [x, y, z] = [seen(0) * self.zoom, seen(1) * self.zoom, seen(2)];
        let (depth, distance) = (z * self.depth[0] + self.depth[1], -z);
        let is_inside = |value: f32| -distance <= value && value <= distance;
        if !(is_inside(x) && is_inside(y) && is_inside(depth)) {
            return None;
        }
        let scale = 1.0 / distance;
        Some((self.place(x * scale)?, self.place(y * scale)?))
    }

    /// Returns the pixel of a coordinate from -1 to 1. The place within the image is rounded once,
    /// as by a fused operation, and then to 1/256 of a pixel.
    #[inline]
    fn place(&self, value: f32) -> Option<u32> {
        let place = (f64::from(value) * self.half + self.half) as f32;
        let pixel = (f64::from(place) + 1.0 / 512.0) as u32;
        (f64::from(pixel) < 2.0 * self.half).then_some(pixel)
    }
}

const RADIANS: f64 = PI / 180.0;

const IDENTITY: [Vector; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Turns a matrix, given by columns, around the y axis.
fn turned(matrix: [Vector; 3], angle: f32) -> [Vector; 3] {
    let (sin, cos) = libm::sincos(angle.into());
    let (sin, cos) = (sin as f32, cos as f32);
    // The axis' own component, which is 1 except for rounding.
    let turn = [[cos, 0.0, -sin], [0.0, cos + (1.0 - cos), 0.0], [sin, 0.0, cos]];
    turn.map(|[x, y, z]| {
        std::array::from_fn(|row| matrix[0][row] * x + matrix[1][row] * y + matrix[2][row] * z)
    })
}

/// Returns the view from `eye` to the origin.
fn look_at(eye: Vector, up: Vector) -> [Vector; 4] {
    let forward = normalised(eye.map(|value| 0.0 - value));
    let right = normalised(cross(forward, up));
    let up = cross(right, forward);
    let column = |axis: usize| [right[axis], up[axis], -forward[axis]];
    let moved = [-dot(right, eye), -dot(up, eye), dot(forward, eye)];
    [column(0), column(1), column(2), moved]
}

fn normalised(vector: Vector) -> Vector {
    let scale = 1.0 / dot(vector, vector).sqrt();
    vector.map(|value| value * scale)
}

fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - b[1] * a[2], a[2] * b[0] - b[2] * a[0], a[0] * b[1] - b[0] * a[1]]
}
