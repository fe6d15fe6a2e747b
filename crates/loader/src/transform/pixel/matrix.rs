//! Matrices of affine and perspective transforms: where pixels come from, and where points go.
//!
//! Sines and tangents are those of `libm`, the same on every machine; Python takes the machine's.
//! They differ in the last of 53 bits, of which 24 remain.

/// The arguments of `affine`; angles in degrees, lengths in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Affine {
    /// Clockwise.
    pub(crate) angle: f64,
    /// To the right and down.
    pub(crate) translate: [f64; 2],
    /// Above 0.
    pub(crate) scale: f64,
    /// Along x and along y.
    pub(crate) shear: [f64; 2],
    /// What stays in place without the translation; the middle of the image by default.
    pub(crate) center: Option<[f64; 2]>,
}

impl Affine {
    /// Changes nothing.
    pub(crate) const IDENTITY: Self =
        Self { angle: 0.0, translate: [0.0; 2], scale: 1.0, shear: [0.0; 2], center: None };

    /// Returns the matrix from output to input, about this centre.
    pub(super) fn inverse(&self, [x, y]: [f64; 2]) -> [[f64; 3]; 2] {
        let ([[a, b], [c, d]], scale) = (self.turned(), self.scale);
        let [to_x, to_y] = [x + self.translate[0], y + self.translate[1]];
        let ([xx, xy], [yx, yy]) = ([d / scale, -b / scale], [-c / scale, a / scale]);
        [[xx, xy, x - xx * to_x - xy * to_y], [yx, yy, y - yx * to_x - yy * to_y]]
    }

    /// Returns the matrix from input to output, about this centre.
    fn forward(&self, [x, y]: [f64; 2]) -> [[f64; 3]; 2] {
        let [[xx, xy], [yx, yy]] = self.turned().map(|row| row.map(|it| it * self.scale));
        let [to_x, to_y] = [x + self.translate[0], y + self.translate[1]];
        [[xx, xy, to_x - xx * x - xy * y], [yx, yy, to_y - yx * x - yy * y]]
    }

    /// Rotation after both shears.
    fn turned(&self) -> [[f64; 2]; 2] {
        let angle = self.angle.to_radians();
        let [shear_x, shear_y] = self.shear.map(f64::to_radians);
        let (cos_y, tan_x) = (libm::cos(shear_y), libm::tan(shear_x));
        let a = libm::cos(angle - shear_y) / cos_y;
        let c = libm::sin(angle - shear_y) / cos_y;
        [[a, -(a * tan_x + libm::sin(angle))], [c, libm::cos(angle) - c * tan_x]]
    }
}

/// Where points of the input are in the output, in pixels from the upper left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Forward([[f64; 3]; 3]);

impl Forward {
    pub(super) fn affine(affine: &Affine, (width, height): (u32, u32)) -> Self {
        let middle = [f64::from(width) * 0.5, f64::from(height) * 0.5];
        let [x, y] = affine.forward(affine.center.unwrap_or(middle));
        Self([x, y, [0.0, 0.0, 1.0]])
    }

    /// Inverts the coefficients of a perspective, apart from a factor that cancels out.
    pub(super) fn perspective([a, b, c, d, e, f, g, h]: [f64; 8]) -> Self {
        Self([
            [e - f * h, c * h - b, b * f - c * e],
            [f * g - d, a - c * g, c * d - a * f],
            [d * h - e * g, b * g - a * h, a * e - b * d],
        ])
    }

    /// Moves the output so that the corners of the input are not above or left of it.
    pub(super) fn enclosing(self, (width, height): (u32, u32)) -> Self {
        let (width, height) = (f64::from(width), f64::from(height));
        let corners = [[0.0, 0.0], [width, 0.0], [0.0, height], [width, height]];
        let corners = corners.map(|corner| self.point(corner));
        let least = |axis: usize| corners.iter().map(|it| it[axis]).fold(f64::INFINITY, f64::min);
        let mut moved = self;
        moved.0[0][2] -= least(0);
        moved.0[1][2] -= least(1);
        moved
    }

    /// Returns the matrix for homogeneous coordinates.
    pub(crate) fn matrix(self) -> [[f64; 3]; 3] {
        self.0
    }

    /// Returns the place of a point in the output.
    pub(super) fn point(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [to_x, to_y, divisor] = self.0.map(|[by_x, by_y, one]| by_x * x + by_y * y + one);
        [to_x / divisor, to_y / divisor]
    }
}

/// Returns the coefficients of the perspective that shows the corners `start` of a quadrilateral at
/// `end`, rounded to `f32` as by torchvision; `None` if there is none.
///
/// For four points the least squares of torchvision are the solution of eight equations.
pub(crate) fn perspective_coefficients(
    start: [[f64; 2]; 4],
    end: [[f64; 2]; 4],
) -> Option<[f64; 8]> {
    // Eight unknowns and the right side.
    let mut rows = [[0.0; 9]; 8];
    for (pair, ([x, y], [from_x, from_y])) in
        rows.as_chunks_mut::<2>().0.iter_mut().zip(end.into_iter().zip(start))
    {
        pair[0] = [x, y, 1.0, 0.0, 0.0, 0.0, -from_x * x, -from_x * y, from_x];
        pair[1] = [0.0, 0.0, 0.0, x, y, 1.0, -from_y * x, -from_y * y, from_y];
    }
    for column in 0..8 {
        // The row with the largest number, for precision.
        let size = |row: &usize| rows[*row][column].abs();
        let pivot = (column..8).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        rows.swap(column, pivot);
        let first = rows[column];
        if first[column].abs() < 1e-9 {
            return None;
        }
        for (number, row) in rows.iter_mut().enumerate() {
            if number != column {
                let factor = row[column] / first[column];
                row.iter_mut().zip(first).for_each(|(value, first)| *value -= factor * first);
            }
        }
    }
    Some(std::array::from_fn(|at| f64::from((rows[at][8] / rows[at][at]) as f32)))
}
