//! The functional forms of torchvision on masks and points, one change after the other, each pixel
//! and each corner by itself.
use fdconvert_loader::parts::{Change, PaddingMode, Warp};
use std::array::from_fn;

pub(crate) type Point = [f64; 2];
type Matrix = [[f64; 3]; 3];

/// A mask. `None` where its value depends on the rounding of single-precision numbers.
#[derive(Clone)]
pub(crate) struct Plane {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) values: Vec<Option<u16>>,
}

/// Source of a value.
enum From {
    Pixel(usize, usize),
    Value(u16),
    Either,
}

impl Plane {
    fn map(&self, (width, height): (u32, u32), at: impl Fn(usize, usize) -> From) -> Self {
        let (width, height) = (width as usize, height as usize);
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let value = |(x, y)| match at(x, y) {
            From::Pixel(x, y) => self.values[y * self.width + x],
            From::Value(value) => Some(value),
            From::Either => None,
        };
        Self { width, height, values: places.map(value).collect() }
    }

    pub(crate) fn size(&self) -> (u32, u32) {
        (self.width as u32, self.height as u32)
    }

    /// Applies a change; `fill` is the value where the image is padded or turned away from.
    pub(crate) fn changed(&self, change: &Change, fill: u16) -> Self {
        let (from, to) = (self.size(), change.size(self.size()));
        let (width, height) = (self.width, self.height);
        match change {
            // `interpolate(mode="nearest")`.
            Change::Resize { .. } => {
                let near = |at: usize, from: usize, to: u32| {
                    ((at as f32 * (from as f32 / to as f32)).floor() as usize).min(from - 1)
                };
                self.map(to, |x, y| From::Pixel(near(x, width, to.0), near(y, height, to.1)))
            }
            Change::Crop { top, left, .. } => self.map(to, |x, y| {
                let inside = |at: i64, n: usize| usize::try_from(at).ok().filter(|at| *at < n);
                let x = inside(x as i64 + left, width);
                match (x, inside(y as i64 + top, height)) {
                    (Some(x), Some(y)) => From::Pixel(x, y),
                    _ => From::Value(0),
                }
            }),
            Change::Pad { padding: [left, top, ..], padding_mode, .. } => self.map(to, |x, y| {
                let x = padded(x as i64 - i64::from(*left), width as i64, *padding_mode);
                match (x, padded(y as i64 - i64::from(*top), height as i64, *padding_mode)) {
                    (Some(x), Some(y)) => From::Pixel(x as usize, y as usize),
                    _ => From::Value(fill),
                }
            }),
            Change::HorizontalFlip => self.map(to, |x, y| From::Pixel(width - 1 - x, y)),
            Change::VerticalFlip => self.map(to, |x, y| From::Pixel(x, height - 1 - y)),
            Change::Warp { warp, .. } => {
                // Where the image grows, its middle stays in the middle.
                let half = |a: u32, b: u32| (f64::from(b) - f64::from(a)) / 2.0;
                let grown = shift(half(from.0, to.0), half(from.1, to.1));
                let back = inverse(&product(&grown, &warped(warp, from)));
                self.map(to, |x, y| {
                    let place = applied(&back, [x as f64 + 0.5, y as f64 + 0.5]);
                    let place = place.map(|at| at - 0.5);
                    if place.iter().any(|at| ((at - at.floor()) - 0.5).abs() < 1e-3) {
                        return From::Either;
                    }
                    let [x, y] = place.map(f64::round);
                    let is_inside = (0.0..width as f64).contains(&x);
                    match is_inside && (0.0..height as f64).contains(&y) {
                        true => From::Pixel(x as usize, y as usize),
                        false => From::Value(fill),
                    }
                })
            }
            _ => self.clone(),
        }
    }
}

/// Returns the source of a row or column of a padded image of `n` rows or columns.
fn padded(mut at: i64, n: i64, mode: PaddingMode) -> Option<i64> {
    while !(0..n).contains(&at) {
        at = match mode {
            PaddingMode::Constant => return None,
            PaddingMode::Edge => at.clamp(0, n - 1),
            PaddingMode::Reflect if at < 0 => -at,
            PaddingMode::Reflect => 2 * (n - 1) - at,
            PaddingMode::Symmetric if at < 0 => -1 - at,
            PaddingMode::Symmetric => 2 * n - 1 - at,
        };
    }
    Some(at)
}

fn shift(x: f64, y: f64) -> Matrix {
    [[1.0, 0.0, x], [0.0, 1.0, y], [0.0, 0.0, 1.0]]
}

fn linear([[a, b], [c, d]]: [[f64; 2]; 2]) -> Matrix {
    [[a, b, 0.0], [c, d, 0.0], [0.0, 0.0, 1.0]]
}

fn product(left: &Matrix, right: &Matrix) -> Matrix {
    from_fn(|y| from_fn(|x| (0..3).map(|by| left[y][by] * right[by][x]).sum()))
}

/// Cramer's rule.
fn inverse(of: &Matrix) -> Matrix {
    let minor = |y: usize, x: usize| {
        let [y, next_y] = [1, 2].map(|step| (y + step) % 3);
        let [x, next_x] = [1, 2].map(|step| (x + step) % 3);
        of[y][x] * of[next_y][next_x] - of[y][next_x] * of[next_y][x]
    };
    let determinant: f64 = (0..3).map(|x| of[0][x] * minor(0, x)).sum();
    from_fn(|y| from_fn(|x| minor(x, y) / determinant))
}

pub(crate) fn applied(matrix: &Matrix, [x, y]: Point) -> Point {
    let [to_x, to_y, by] = matrix.map(|row| row[0] * x + row[1] * y + row[2]);
    [to_x / by, to_y / by]
}

/// Solves a system of equations, each with its right side last, by Gauss and Jordan.
fn solved<const N: usize>(mut rows: [[f64; 9]; N]) -> [f64; N] {
    for column in 0..N {
        let size = |row: &usize| rows[*row][column].abs();
        let pivot = (column..N).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap();
        rows.swap(column, pivot);
        let scale = rows[column][column];
        rows[column].iter_mut().for_each(|it| *it /= scale);
        let own = rows[column];
        for (_, row) in rows.iter_mut().enumerate().filter(|(row, _)| *row != column) {
            let times = row[column];
            row.iter_mut().zip(own).for_each(|(it, own)| *it -= times * own);
        }
    }
    rows.map(|row| row[8])
}

/// Returns the matrix of a warp that does not expand the image.
fn warped(warp: &Warp, size: (u32, u32)) -> Matrix {
    let middle = [f64::from(size.0) / 2.0, f64::from(size.1) / 2.0];
    let turn = |degrees: f64| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        linear([[cos, -sin], [sin, cos]])
    };
    let about = |center: &Option<Point>, inner: Matrix| {
        let [x, y] = center.unwrap_or(middle);
        product(&shift(x, y), &product(&inner, &shift(-x, -y)))
    };
    match warp {
        Warp::Rotate { angle, center, .. } => about(center, turn(-angle)),
        Warp::Affine { angle, translate: [x, y], scale, shear, center } => {
            let [along_rows, along_columns] = shear.map(|degrees| degrees.to_radians().tan());
            let sheared = product(
                &linear([[1.0, 0.0], [-along_columns, 1.0]]),
                &linear([[1.0, -along_rows], [0.0, 1.0]]),
            );
            let scaled = product(&linear([[*scale, 0.0], [0.0, *scale]]), &sheared);
            product(&shift(*x, *y), &about(center, product(&turn(*angle), &scaled)))
        }
        Warp::Perspective { startpoints, endpoints } => {
            let equation = |at: usize| {
                let [x, y] = startpoints[at / 2].map(|it| it as f64);
                let to = endpoints[at / 2][at % 2] as f64;
                let own = [x, y, 1.0];
                let [a, b, c, d, e, f] =
                    from_fn(|it| if it / 3 == at % 2 { own[it % 3] } else { 0.0 });
                [a, b, c, d, e, f, -x * to, -y * to, to]
            };
            let [a, b, c, d, e, f, g, h] = solved::<8>(from_fn(equation));
            [[a, b, c], [d, e, f], [g, h, 1.0]]
        }
    }
}

/// Returns the matrix of a change of an image of this width and height.
pub(crate) fn matrix(change: &Change, size: (u32, u32)) -> Matrix {
    let (width, height) = (f64::from(size.0), f64::from(size.1));
    match change {
        Change::Resize { size: [rows, columns], .. } => {
            linear([[f64::from(*columns) / width, 0.0], [0.0, f64::from(*rows) / height]])
        }
        Change::Crop { top, left, .. } => shift(-*left as f64, -*top as f64),
        Change::Pad { padding: [left, top, ..], .. } => shift((*left).into(), (*top).into()),
        Change::HorizontalFlip => product(&shift(width, 0.0), &linear([[-1.0, 0.0], [0.0, 1.0]])),
        Change::VerticalFlip => product(&shift(0.0, height), &linear([[1.0, 0.0], [0.0, -1.0]])),
        Change::Warp { warp, .. } => {
            let turned = warped(warp, size);
            if !matches!(warp, Warp::Rotate { expand: true, .. }) {
                return turned;
            }
            let corners = [[0.0, 0.0], [width, 0.0], [0.0, height], [width, height]];
            let corners = corners.map(|corner| applied(&turned, corner));
            let least = |axis: usize| corners.iter().map(|it| it[axis]).fold(f64::MAX, f64::min);
            product(&shift(-least(0), -least(1)), &turned)
        }
        _ => shift(0.0, 0.0),
    }
}
