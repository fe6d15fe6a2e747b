//! The way of an image's points and masks through its changes.
use super::placement::Nearest;
use crate::transform::Change;

/// The changes of one view that masks and objects follow, and the sizes between them.
pub(super) struct Path<'a> {
    changes: &'a [Change],
    /// Width and height before each change, and after all.
    sizes: Vec<(u32, u32)>,
    /// The matrix of each change.
    matrices: Vec<[[f64; 3]; 3]>,
    nearest: &'a mut Nearest,
}

impl<'a> Path<'a> {
    /// Creates the path of an image of this width and height.
    pub(super) fn new(changes: &'a [Change], source: (u32, u32), nearest: &'a mut Nearest) -> Self {
        let (mut sizes, mut matrices, mut size) = (vec![source], Vec::new(), source);
        for change in changes {
            matrices.push(change.matrix(size));
            size = change.size(size);
            sizes.push(size);
        }
        Self { changes, sizes, matrices, nearest }
    }

    pub(super) fn changes(&self) -> &'a [Change] {
        self.changes
    }

    pub(super) fn nearest(&mut self) -> &mut Nearest {
        self.nearest
    }

    /// Returns width and height of the image.
    pub(super) fn source(&self) -> (u32, u32) {
        self.sizes.first().copied().unwrap_or_default()
    }

    /// Returns width and height of the row.
    pub(super) fn size(&self) -> (u32, u32) {
        self.sizes.last().copied().unwrap_or_default()
    }

    /// Returns true if left and right are exchanged, by a flip of columns or of rows.
    pub(super) fn is_mirrored(&self) -> bool {
        let is_flip =
            |change: &&Change| matches!(change, Change::HorizontalFlip | Change::VerticalFlip);
        self.changes.iter().filter(is_flip).count() % 2 == 1
    }

    /// Moves a point.
    pub(super) fn point(&self, point: [f64; 2]) -> [f64; 2] {
        self.matrices.iter().fold(point, |point, matrix| applied(matrix, point))
    }

    /// Moves a box with these corners: left, top, right and bottom in the row. As by torchvision, it
    /// is cut at the edges after each change that may move a part of it outside, and encloses the
    /// turned box.
    pub(super) fn rectangle(&self, from: [f64; 2], to: [f64; 2]) -> [f32; 4] {
        let mut corners = [from, to];
        for ((change, matrix), size) in
            self.changes.iter().zip(&self.matrices).zip(self.sizes.iter().skip(1))
        {
            let [[left, top], [right, bottom]] = corners;
            let all = match change {
                Change::Warp { .. } => {
                    vec![[left, top], [right, top], [left, bottom], [right, bottom]]
                }
                _ => corners.to_vec(),
            };
            let all = all.into_iter().map(|corner| applied(matrix, corner));
            let pick = |which: fn(f64, f64) -> f64| {
                all.clone().reduce(|a, b| [which(a[0], b[0]), which(a[1], b[1])])
            };
            corners = [pick(f64::min), pick(f64::max)].map(Option::unwrap_or_default);
            if matches!(change, Change::Warp { .. } | Change::Crop { .. } | Change::Pad { .. }) {
                corners = corners.map(|corner| clamped(corner, *size));
            }
        }
        let [[left, top], [right, bottom]] = corners.map(|corner| clamped(corner, self.size()));
        [left, top, right, bottom].map(|at| at as f32)
    }

    /// Moves a keypoint, which is the index of a pixel: not an edge between pixels. Outside the row
    /// it keeps its place and is not visible.
    pub(super) fn keypoint(&self, [x, y, visibility]: [f64; 3]) -> [f32; 3] {
        let mut point = [x, y];
        for (change, matrix) in self.changes.iter().zip(&self.matrices) {
            let [x, y] = applied(matrix, point);
            point = match change {
                Change::HorizontalFlip => [x - 1.0, y],
                Change::VerticalFlip => [x, y - 1.0],
                _ => [x, y],
            };
        }
        let ([x, y], (width, height)) = (point, self.size());
        let is_inside =
            (0.0..f64::from(width)).contains(&x) && (0.0..f64::from(height)).contains(&y);
        [x as f32, y as f32, if is_inside { visibility as f32 } else { 0.0 }]
    }
}

fn applied(matrix: &[[f64; 3]; 3], [x, y]: [f64; 2]) -> [f64; 2] {
    let [to_x, to_y, divisor] = matrix.map(|[by_x, by_y, one]| by_x * x + by_y * y + one);
    [to_x / divisor, to_y / divisor]
}

fn clamped([x, y]: [f64; 2], (width, height): (u32, u32)) -> [f64; 2] {
    [x.clamp(0.0, width.into()), y.clamp(0.0, height.into())]
}
