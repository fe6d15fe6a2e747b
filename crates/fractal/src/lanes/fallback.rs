//! One orbit in double precision, for systems that 64 short orbits in single precision do not draw
//! faithfully: those that hardly contract, with pictures ruled by rare excursions.
use super::key::Hash;
use super::table::Table;
use crate::frame::Frame;

/// Separates the orbit's random numbers from those of the lanes that it replaces.
const TWEAK: (u32, u32) = (0x6578_6163, 0x7420_6f72);

/// A point beyond this (2^1000) counts as infinite, so that spans stay finite.
const LIMIT: f64 = f64::from_bits((1023 + 1000) << 52);

/// Fills `points` with the orbit from the origin. It ends at the first point that is not finite,
/// because no later one is. (The original removes rows with NaN, and the hundred before the first,
/// to much the same effect.)
///
/// Products and sums are rounded one by one, in the order of the original, and never fused.
pub(super) fn orbit(table: &Table, hash: Hash, n_points: u32, points: &mut Vec<[f64; 2]>) {
    let hash = hash.tweaked(TWEAK);
    points.clear();
    points.reserve(n_points as usize);
    let [mut x, mut y] = [0.0_f64; 2];
    for counter in 0..n_points {
        if !(x.abs() < LIMIT && y.abs() < LIMIT) {
            break;
        }
        points.push([x, y]);
        let [a, b, c, d, e, f] = table.maps[table.slot_of(hash.at(counter))];
        (x, y) = (x * a + y * b + e, x * c + y * d + f);
    }
}

/// Calls `draw(column, row)` for every point in order, scaled to the frame. The bounds include the
/// origin and the transient, and a span of zero leaves all points at the padding.
pub(super) fn draw(points: &[[f64; 2]], frame: &Frame, mut draw: impl FnMut(u32, u32)) {
    let axes = [0, 1].map(|axis| Axis::new(points.iter().map(|point| point[axis]), frame));
    for [x, y] in points {
        draw(axes[0].pixel(*x), axes[1].pixel(*y));
    }
}

/// The mapping of one coordinate to a pixel.
struct Axis {
    least: f64,
    scale: f64,
    pad: f64,
    last: u32,
}

impl Axis {
    fn new(coordinates: impl Iterator<Item = f64>, frame: &Frame) -> Self {
        let (mut least, mut most) = (0.0_f64, 0.0_f64);
        for coordinate in coordinates {
            (least, most) = (least.min(coordinate), most.max(coordinate));
        }
        let scale = f64::from(frame.size() - 2 * frame.pad()) / (most - least);
        let scale = if scale.is_finite() { scale } else { 0.0 };
        Self { least, scale, pad: f64::from(frame.pad()), last: frame.size() - 1 }
    }

    fn pixel(&self, coordinate: f64) -> u32 {
        (((coordinate - self.least) * self.scale + self.pad) as u32).min(self.last)
    }
}
