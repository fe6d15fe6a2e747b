//! The common part of RCDB and VisualAtom: an ellipse of vertices, which every line pushes outwards
//! again.
use crate::lines::params::{Given, Params};
use crate::lines::perlin::noise;
use crate::lines::polyline::{Canvas, Point};
use fdconvert_core::{Error, KeyedRandom, Result};
use std::f64::consts::PI;

/// Side of the originals' canvas. Figures are computed for it; other sizes scale the figure.
pub(super) const ORIGINAL_SIZE: u32 = 512;

const MAX_SIZE: u32 = crate::frame::Frame::MAX_SIZE;

/// Far more than in the originals, and few enough for an image to take seconds.
const MAX_VERTICES: u32 = 4096;
const MAX_LINES: u32 = 1024;

/// Largest values accepted from files. With them the figure stays within 2^24 pixels, even on the
/// largest canvas.
const MAX_PERLIN: f64 = 64.0;
const MAX_LINE_WIDTH: f64 = 16.0;
const MAX_RADIUS: u32 = 4096;
const MAX_OVAL: f64 = 16.0;
const MAX_CENTRE: f64 = 4096.0;

/// The parameters of a class in both families.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contour {
    pub(super) n_vertices: u32,
    pub(super) n_lines: u32,
    /// Amplitude of the noise on a vertex.
    pub(super) perlin: f64,
    /// Distance by which every line moves a vertex outwards: that between lines, and not their
    /// width, although the originals call it so.
    pub(super) line_width: f64,
    /// Placement of the first instance; all others draw theirs.
    pub(super) first: Placement,
}

/// The first line's ellipse, before noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Placement {
    pub(super) radius: u32,
    /// Factors of the radius along x and y.
    pub(super) oval: [f64; 2],
    pub(super) centre: [f64; 2],
}

impl Placement {
    /// Draws a centre as the originals do: y, then x, at most `reach` from the middle.
    pub(super) fn draw_centre(random: &mut KeyedRandom, reach: i32) -> [f64; 2] {
        let mut coordinate =
            || f64::from(ORIGINAL_SIZE as i32 + random.integer(-reach, reach)) / 2.0;
        let y = coordinate();
        [coordinate(), y]
    }

    /// Draws factors of the radius as the originals do: x, then y.
    pub(super) fn draw_oval(random: &mut KeyedRandom) -> [f64; 2] {
        [random.between(1.0, 2.0), random.between(1.0, 2.0)]
    }
}

impl Contour {
    /// Returns its parameters, with the order and names of the originals' files.
    pub(super) fn params(&self) -> Params {
        let Placement { radius, oval, centre } = self.first;
        vec![
            ("Vertex", f64::from(self.n_vertices)),
            ("Perlin_noise", self.perlin),
            ("line_width", self.line_width),
            ("Center_rad", f64::from(radius)),
            ("Line_num", f64::from(self.n_lines)),
            ("Oval_rate_x", oval[0]),
            ("Oval_rate_y", oval[1]),
            ("start_pos_h", centre[1]),
            ("start_pos_w", centre[0]),
        ]
    }

    /// Reads and checks the parameters.
    pub(super) fn from_given(given: &mut Given<'_>) -> Result<Self> {
        Ok(Self {
            n_vertices: given.whole("Vertex", 3..=MAX_VERTICES)?,
            n_lines: given.whole("Line_num", 1..=MAX_LINES)?,
            perlin: given.real("Perlin_noise", 0.0..=MAX_PERLIN)?,
            line_width: given.real("line_width", 0.0..=MAX_LINE_WIDTH)?,
            first: Placement {
                radius: given.whole("Center_rad", 0..=MAX_RADIUS)?,
                oval: [
                    given.real("Oval_rate_x", 0.0..=MAX_OVAL)?,
                    given.real("Oval_rate_y", 0.0..=MAX_OVAL)?,
                ],
                centre: {
                    let y = given.real("start_pos_h", -MAX_CENTRE..=MAX_CENTRE)?;
                    [given.real("start_pos_w", -MAX_CENTRE..=MAX_CENTRE)?, y]
                },
            },
        })
    }

    pub(super) fn angles(&self) -> Vec<f64> {
        let step = (PI * 2.0) / f64::from(self.n_vertices);
        (0..self.n_vertices).map(|vertex| step * f64::from(vertex)).collect()
    }
}

pub(super) struct Figure<'a> {
    pub(super) contour: &'a Contour,
    pub(super) placement: Placement,
    /// True if the figure is computed at the origin, then moved to its centre (RCDB); false if
    /// computed in place (VisualAtom). The two round differently, so each follows its original.
    pub(super) moved: bool,
}

impl Figure<'_> {
    /// Draws all lines. `gray` chooses the gray of a line; `displace` returns how far inwards a
    /// vertex moves, which includes noise.
    ///
    /// Random numbers are taken in the originals' order: the gray, the noise of every x, the noise
    /// of every y. All arithmetic keeps their order too, because the last bit affects pixels.
    pub(super) fn draw(
        &self,
        random: &mut KeyedRandom,
        canvas: &mut Canvas,
        size: u32,
        gray: impl Fn(&mut KeyedRandom) -> u8,
        displace: impl Fn(f64, usize) -> f64,
    ) {
        let Placement { radius, oval, centre } = self.placement;
        let (start, offset) = if self.moved { ([0.0; 2], centre) } else { (centre, [0.0; 2]) };
        let scale = f64::from(size) / f64::from(ORIGINAL_SIZE);
        let radius = f64::from(radius);

        let (sines, cosines): (Vec<f64>, Vec<f64>) =
            self.contour.angles().into_iter().map(libm::sincos).unzip();
        let mut x = Axis::new(cosines, radius, oval[0], start[0]);
        let mut y = Axis::new(sines, radius, oval[1], start[1]);
        let mut points = vec![Point::new(0.0, 0.0); x.positions.len()];
        for _ in 0..self.contour.n_lines {
            let gray = gray(random);
            x.advance(random, self.contour.line_width, &displace);
            y.advance(random, self.contour.line_width, &displace);
            for ((point, x), y) in points.iter_mut().zip(&x.positions).zip(&y.positions) {
                *point = Point::new((x + offset[0]) * scale, (y + offset[1]) * scale);
            }
            canvas.closed_polyline(&points, gray);
        }
    }
}

/// One coordinate of every vertex.
struct Axis {
    /// The outward direction of every vertex.
    directions: Vec<f64>,
    positions: Vec<f64>,
}

impl Axis {
    fn new(directions: Vec<f64>, radius: f64, oval: f64, start: f64) -> Self {
        let positions = directions.iter().map(|way| way * radius * oval + start).collect();
        Self { directions, positions }
    }

    fn advance(
        &mut self,
        random: &mut KeyedRandom,
        line_width: f64,
        displace: impl Fn(f64, usize) -> f64,
    ) {
        let vertices = self.positions.iter_mut().zip(&self.directions).enumerate();
        for (vertex, (position, way)) in vertices {
            let noise = noise(random.between(0.0, 10_000.0) as f32);
            *position -= way * (displace(f64::from(noise), vertex) - line_width);
        }
    }
}

pub(super) fn canvas(size: u32, background: u8) -> Result<Canvas> {
    if size == 0 || size > MAX_SIZE {
        return Err(Error::usage("size", format!("{size} is not from 1 to {MAX_SIZE}")));
    }
    Ok(Canvas::new(size, background))
}
