use crate::lines::contour::{Contour, Figure, Placement, canvas};
use crate::lines::params::{Given, Params};
use crate::random::keyed;
use fdconvert_core::{KeyedRandom, Pixels, Result};

/// A class of RCDB, the radial contour database: dark lines on white.
///
/// Hirokatsu Kataoka, Ryo Hayamizu, Ryosuke Yamada, Kodai Nakashima, Sora Takashima, Xinyu Zhang,
/// Edgar Josafat Martinez-Noriega, Nakamasa Inoue and Rio Yokota, "Replacing Labeled Real-image
/// Datasets with Auto-generated Contours", CVPR 2022, which presents ExFractalDB and RCDB.
/// The numbers are those of its published script: 3 to 200 vertices (exponential of mean 100), 1 to
/// 200 lines, noise up to 4, radius up to 100. Radius, ovalness and centre are those of the first
/// instance; all others draw theirs.
#[derive(Debug, Clone, PartialEq)]
pub struct RcdbClass {
    contour: Contour,
}

/// Separate the streams of random numbers.
const CLASS_STREAM: u64 = u64::from_be_bytes(*b"rcdb/cls");
const INSTANCE_STREAM: u64 = u64::from_be_bytes(*b"rcdb/ins");

const MAX_VERTICES: f64 = 200.0;
/// Twice the largest distance of centres from the middle.
const REACH: i32 = 400;
const WHITE: u8 = 255;

impl RcdbClass {
    /// Draws class number `class` of a seed.
    #[must_use]
    pub fn new(seed: u64, class: u32) -> Self {
        let random = &mut keyed(seed, CLASS_STREAM, class, 0);
        let contour = Contour {
            n_vertices: draw_vertices(random),
            n_lines: random.integer(1, 200).unsigned_abs(),
            perlin: random.between(0.0, 4.0),
            line_width: random.between(0.0, 0.1),
            first: {
                let radius = draw_radius(random);
                let oval = Placement::draw_oval(random);
                Placement { radius, oval, centre: Placement::draw_centre(random, REACH) }
            },
        };
        Self { contour }
    }

    pub(super) fn params(&self) -> Params {
        self.contour.params()
    }

    pub(super) fn from_given(given: &mut Given<'_>) -> Result<Self> {
        Ok(Self { contour: Contour::from_given(given)? })
    }

    /// Draws instance `instance` on a canvas of `size` by `size`: see
    /// [`LineClass::render`](crate::LineClass::render).
    ///
    /// # Errors
    /// `Usage` for a size that is 0 or too large.
    pub fn render(&self, seed: u64, class: u32, instance: u32, size: u32) -> Result<Pixels> {
        let random = &mut keyed(seed, INSTANCE_STREAM, class, instance);
        let placement = if instance == 0 {
            self.contour.first
        } else {
            let oval = Placement::draw_oval(random);
            let radius = draw_radius(random);
            Placement { radius, oval, centre: Placement::draw_centre(random, REACH) }
        };
        let mut canvas = canvas(size, WHITE)?;
        let perlin = self.contour.perlin;
        Figure { contour: &self.contour, placement, moved: true }.draw(
            random,
            &mut canvas,
            size,
            // The original draws 0 to 256, and Pillow treats 256 as 255.
            |random| random.integer(0, 256).min(255) as u8,
            |noise, _| noise * perlin * 2.0 - perlin,
        );
        Ok(canvas.into_pixels())
    }

    /// Returns the original's path of an instance, below its folder `image`.
    #[must_use]
    pub fn name(&self, class: u32, instance: u32) -> String {
        format!("{class:05}/{class:05}_{instance:04}.png")
    }
}

/// Draws exponentials of mean 100, truncated, until one is from 3 to 200.
fn draw_vertices(random: &mut KeyedRandom) -> u32 {
    loop {
        let n_vertices = (-libm::log(1.0 - random.unit()) / (1.0 / 100.0)).trunc();
        if n_vertices > 2.0 && n_vertices <= MAX_VERTICES {
            return n_vertices as u32;
        }
    }
}

fn draw_radius(random: &mut KeyedRandom) -> u32 {
    random.integer(0, 100).unsigned_abs()
}
