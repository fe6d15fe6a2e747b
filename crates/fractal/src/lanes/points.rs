use super::key::Hash;
use super::table::Table;
use crate::frame::Frame;

/// Logical lanes: independent orbits that advance together. Part of the sampler's definition; no
/// machine has vectors of this width.
pub(super) const LANES: usize = 64;

/// Points drawn before the lanes start.
pub(super) const LEAD_IN: u32 = 2 * LANES as u32;

/// Offset of the lead-in's counters, beyond those of any step.
const LEAD_IN_COUNTER: u32 = 0xf000_0000;

/// One point of every lane. The points of an image are a list of steps, and their canonical order
/// is that of the list.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Step {
    pub(super) x: [f32; LANES],
    pub(super) y: [f32; LANES],
}

impl Step {
    pub(super) const ORIGIN: Self = Self { x: [0.0; LANES], y: [0.0; LANES] };
}

/// Returns the steps of an image, including the two of the lead-in.
pub(super) fn n_steps(frame: &Frame) -> usize {
    2 + (frame.points() - LEAD_IN).div_ceil(LANES as u32) as usize
}

/// Fills the first two steps: one orbit from the origin, the second 64 points of which start the
/// lanes. The original also draws its origin and its transient.
pub(super) fn lead_in(table: &Table, hash: Hash, first: &mut Step, second: &mut Step) {
    let (mut x, mut y) = (0.0, 0.0);
    let mut counter = LEAD_IN_COUNTER;
    for step in [first, second] {
        for (drawn_x, drawn_y) in step.x.iter_mut().zip(&mut step.y) {
            (*drawn_x, *drawn_y) = (x, y);
            (x, y) = next(table, hash.at(counter), x, y);
            counter += 1;
        }
    }
}

/// Applies the map that a random number chooses to a point.
#[inline(always)]
pub(super) fn next(table: &Table, random: u32, x: f32, y: f32) -> (f32, f32) {
    let slot = table.slot_of(random);
    let [a, b, c, d, e, f] = table.narrow.map(|parameters| parameters[slot]);
    (a.mul_add(x, b.mul_add(y, e)), c.mul_add(x, d.mul_add(y, f)))
}

/// The rectangle around points. A side is infinite if a point is; NaN is ignored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    pub(super) left: f32,
    pub(super) right: f32,
    pub(super) bottom: f32,
    pub(super) top: f32,
}

impl Bounds {
    /// The bounds of the origin, where every orbit starts.
    pub(super) const ORIGIN: Self = Self { left: 0.0, right: 0.0, bottom: 0.0, top: 0.0 };

    #[inline(always)]
    pub(super) fn add(&mut self, x: f32, y: f32) {
        self.left = self.left.min(x);
        self.right = self.right.max(x);
        self.bottom = self.bottom.min(y);
        self.top = self.top.max(y);
    }

    pub(super) fn add_step(&mut self, step: &Step) {
        step.x.iter().zip(&step.y).for_each(|(&x, &y)| self.add(x, y));
    }

    pub(super) fn join(mut self, other: &Self) -> Self {
        self.add(other.left, other.bottom);
        self.add(other.right, other.top);
        self
    }
}

/// Maps points to places on a canvas: `scale * x + offset`, truncated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mapping {
    pub(super) scale: [f32; 2],
    pub(super) offset: [f32; 2],
    /// Places per row of the canvas.
    pub(super) stride: u32,
}

impl Mapping {
    /// Fits the bounds into the frame. `None` if single precision fails: a point is not finite, or
    /// a span too large or too small to divide by.
    pub(super) fn new(bounds: &Bounds, frame: &Frame, stride: usize) -> Option<Self> {
        let pad = frame.pad() as f32;
        let side = (frame.size() - 2 * frame.pad()) as f32;
        let axis = |least: f32, most: f32| {
            let span = most - least;
            let scale = if span == 0.0 { 0.0 } else { side / span };
            (span.is_finite() && scale.is_finite()).then(|| (scale, scale.mul_add(-least, pad)))
        };
        let (x, y) = (axis(bounds.left, bounds.right)?, axis(bounds.bottom, bounds.top)?);
        let stride = u32::try_from(stride).ok()?;
        Some(Self { scale: [x.0, y.0], offset: [x.1, y.1], stride })
    }

    /// Returns the place of a point. The caller checks it against the canvas: that points are
    /// inside the bounds follows from arithmetic, on which memory safety does not rely.
    #[inline(always)]
    pub(super) fn place(&self, x: f32, y: f32) -> u32 {
        let column = x.mul_add(self.scale[0], self.offset[0]) as i32 as u32;
        let row = y.mul_add(self.scale[1], self.offset[1]) as i32 as u32;
        row.wrapping_mul(self.stride).wrapping_add(column)
    }
}
