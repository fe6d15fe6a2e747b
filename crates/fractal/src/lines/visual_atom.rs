use crate::lines::contour::{Contour, Figure, Placement, canvas};
use crate::lines::params::{Given, Params};
use crate::random::keyed;
use fdconvert_core::{KeyedRandom, Pixels, Result};

/// A class of VisualAtom: light lines on black, with two waves around the contour.
///
/// Sora Takashima, Ryo Hayamizu, Nakamasa Inoue, Hirokatsu Kataoka and Rio Yokota, "Visual Atoms:
/// Pre-training Vision Transformers with Sinusoidal Waves", CVPR 2023; the published renderer is
/// under the MIT licence. The numbers are those of its script for VisualAtom-1k: 200 to 1000
/// vertices, 1 to 200 lines, noise up to 4, radius 10 to 60, two frequencies up to 20. The centre
/// is that of the first instance; all others draw theirs.
#[derive(Debug, Clone, PartialEq)]
pub struct VisualAtomClass {
    contour: Contour,
    frequencies: [u32; 2],
}

/// Separate the streams of random numbers.
const CLASS_STREAM: u64 = u64::from_be_bytes(*b"atom/cls");
const INSTANCE_STREAM: u64 = u64::from_be_bytes(*b"atom/ins");

/// Twice the largest distance of centres from the middle.
const REACH: i32 = 512;
const BLACK: u8 = 0;

/// Largest number of waves per turn accepted from files: more than there are vertices to show them.
const MAX_FREQUENCY: u32 = 4096;

impl VisualAtomClass {
    /// Draws class number `class` of a seed.
    #[must_use]
    pub fn new(seed: u64, class: u32) -> Self {
        let random = &mut keyed(seed, CLASS_STREAM, class, 0);
        let n_vertices = random.integer(200, 1000).unsigned_abs();
        let n_lines = random.integer(1, 200).unsigned_abs();
        let perlin = random.between(0.0, 4.0);
        let line_width = random.between(0.0, 0.1);
        let radius = random.integer(10, 60).unsigned_abs();
        let frequencies = draw_frequencies(random);
        let oval = Placement::draw_oval(random);
        let first = Placement { radius, oval, centre: Placement::draw_centre(random, REACH) };
        Self { contour: Contour { n_vertices, n_lines, perlin, line_width, first }, frequencies }
    }

    pub(super) fn params(&self) -> Params {
        let mut params = self.contour.params();
        let [first, second] = self.frequencies.map(f64::from);
        params.extend([("nami1", first), ("nami2", second)]);
        params
    }

    pub(super) fn from_given(given: &mut Given<'_>) -> Result<Self> {
        let contour = Contour::from_given(given)?;
        let mut frequency = |name| given.whole(name, 0..=MAX_FREQUENCY);
        Ok(Self { contour, frequencies: [frequency("nami1")?, frequency("nami2")?] })
    }

    /// Draws instance `instance` on a canvas of `size` by `size`: see
    /// [`LineClass::render`](crate::LineClass::render).
    ///
    /// # Errors
    /// `Usage` for a size that is 0 or too large.
    pub fn render(&self, seed: u64, class: u32, instance: u32, size: u32) -> Result<Pixels> {
        let random = &mut keyed(seed, INSTANCE_STREAM, class, instance);
        let mut placement = self.contour.first;
        if instance != 0 {
            placement.centre = Placement::draw_centre(random, REACH);
        }
        let mut canvas = canvas(size, BLACK)?;
        let perlin = self.contour.perlin;
        let [first, second] = self.frequencies.map(|frequency| self.wave(frequency));
        Figure { contour: &self.contour, placement, moved: false }.draw(
            random,
            &mut canvas,
            size,
            |random| random.integer(0, 255) as u8,
            |noise, vertex| noise * perlin - perlin - first[vertex] - second[vertex],
        );
        Ok(canvas.into_pixels())
    }

    /// Returns the original's path of an instance.
    #[must_use]
    pub fn name(&self, class: u32, instance: u32) -> String {
        let n_vertices = self.contour.n_vertices;
        format!("{class:05}/vertex_{n_vertices:04}_instance_{instance:04}.png")
    }

    /// Returns half a sine of this frequency, for every vertex.
    fn wave(&self, frequency: u32) -> Vec<f64> {
        let height = |angle: f64| 0.5 * libm::sin(angle * f64::from(frequency));
        self.contour.angles().into_iter().map(height).collect()
    }
}

/// Draws two frequencies that differ, unless the first is 0.
fn draw_frequencies(random: &mut KeyedRandom) -> [u32; 2] {
    let first = random.integer(0, 20).unsigned_abs();
    loop {
        let second = random.integer(0, 20).unsigned_abs();
        if first != second || first == 0 {
            return [first, second];
        }
    }
}
