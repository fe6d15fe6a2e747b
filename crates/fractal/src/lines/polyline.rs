//! Closed lines of one pixel's width, as Pillow's `ImageDraw.line` draws them.
//!
//! Coordinates are truncated; between two points runs Bresenham's line, which after `i` steps along
//! the longer axis has made `floor((2 * short * i + long) / (2 * long))` along the shorter. With
//! that closed form a line that leaves the canvas starts where it enters, with the same pixels as
//! when drawn from its start, and the work is bounded by the canvas whatever the coordinates.
use fdconvert_core::Pixels;

/// A point, in pixels. Beyond 2^24 the arithmetic would overflow: see [`Point::new`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    x: i32,
    y: i32,
}

impl Point {
    const FARTHEST: f64 = (1 << 24) as f64;

    /// Returns the pixel of a place. Places beyond 2^24 pixels are clamped, and NaN becomes 0.
    #[inline]
    pub(super) fn new(x: f64, y: f64) -> Self {
        let pixel = |value: f64| value.clamp(-Self::FARTHEST, Self::FARTHEST) as i32;
        Self { x: pixel(x), y: pixel(y) }
    }
}

/// A square of gray pixels.
pub(super) struct Canvas {
    size: i32,
    pixels: Vec<u8>,
}

impl Canvas {
    /// Creates a canvas of one gray. The caller has checked the size.
    pub(super) fn new(size: u32, background: u8) -> Self {
        let n_pixels = size as usize * size as usize;
        Self { size: i32::try_from(size).unwrap_or(0), pixels: vec![background; n_pixels] }
    }

    pub(super) fn into_pixels(self) -> Pixels {
        let size = self.size.unsigned_abs();
        Pixels { width: size, height: size, channels: 1, data: self.pixels }
    }

    /// Draws from each point to the next, and from the last to the first.
    pub(super) fn closed_polyline(&mut self, points: &[Point], gray: u8) {
        let Some(mut from) = points.last().copied() else { return };
        for &to in points {
            self.line(from, to, gray);
            from = to;
        }
    }

    /// Draws from one point to another, both included.
    #[inline]
    fn line(&mut self, from: Point, to: Point, gray: u8) {
        let (dx, dy) = (to.x - from.x, to.y - from.y);
        // As in the original, diagonals count as steep. The axis with more steps is the long one;
        // `start` is the place on it and `step` its direction.
        let steep = dx.abs() <= dy.abs();
        let (long, short) = if steep { (dy, dx) } else { (dx, dy) };
        let (long_start, short_start) = if steep { (from.y, from.x) } else { (from.x, from.y) };
        let (long_step, short_step) = (direction(long), direction(short));
        let (long, short) = (long.abs(), short.abs());

        let inside = |point: Point| {
            (point.x as u32) < self.size as u32 && (point.y as u32) < self.size as u32
        };
        let (first, last) = if inside(from) && inside(to) {
            (0, long)
        } else {
            let Some(steps) =
                self.visible((long_start, long_step, long), (short_start, short_step, short))
            else {
                return;
            };
            steps
        };

        let short_first = short_steps(long, short, first);
        let long_at = long_start + long_step * first;
        let short_at = short_start + short_step * short_first as i32;
        let (x, y) = if steep { (short_at, long_at) } else { (long_at, short_at) };
        let (long_stride, short_stride) = if steep {
            (long_step * self.size, short_step)
        } else {
            (long_step, short_step * self.size)
        };
        // Twice the distance, in long steps, to the next short step.
        let mut error = 2 * i64::from(short) * (i64::from(first) + 1)
            - i64::from(long)
            - 2 * i64::from(long) * short_first;
        let mut index = y * self.size + x;
        for _ in first..=last {
            if let Some(pixel) = self.pixels.get_mut(index as usize) {
                *pixel = gray;
            }
            if error >= 0 {
                index += short_stride;
                error -= 2 * i64::from(long);
            }
            error += 2 * i64::from(short);
            index += long_stride;
        }
    }

    /// Returns the first and the last step along the long axis with pixels on the canvas.
    fn visible(
        &self,
        (long_start, long_step, long): (i32, i32, i32),
        (short_start, short_step, short): (i32, i32, i32),
    ) -> Option<(i32, i32)> {
        // The number of steps until the line enters the canvas, and the last before it leaves.
        let crossing = |start: i32, step: i32| {
            if step < 0 { (start - self.size + 1, start) } else { (-start, self.size - 1 - start) }
        };
        let (enter, leave) = crossing(long_start, long_step);
        let (mut first, mut last) = (enter.max(0), leave.min(long));
        let (enter, leave) = crossing(short_start, short_step);
        if leave < 0 || enter > short {
            return None;
        }
        // The first long step after `n` short ones.
        let making = |n: i32| {
            let (long, short, n) = (i64::from(long), i64::from(short), i64::from(n));
            // `n` never exceeds `long`, so the quotient fits.
            ((2 * long * n - long).max(0) as u64).div_ceil(2 * short as u64) as i32
        };
        if enter > 0 {
            first = first.max(making(enter));
        }
        if leave < short {
            last = last.min(making(leave + 1) - 1);
        }
        (first <= last).then_some((first, last))
    }
}

/// Returns -1 or 1; 1 for zero.
#[inline]
fn direction(delta: i32) -> i32 {
    if delta < 0 { -1 } else { 1 }
}

/// Returns the steps along the short axis that belong to `i` along the long one.
#[inline]
fn short_steps(long: i32, short: i32, i: i32) -> i64 {
    if i == 0 {
        return 0;
    }
    (2 * i64::from(short) * i64::from(i) + i64::from(long)) / (2 * i64::from(long).max(1))
}

#[cfg(test)]
mod tests {
    use super::{Canvas, Point};
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};

    /// The random numbers of the script that made the hashes.
    struct Lcg(u64);

    impl Lcg {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
            self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as f64 / 2_147_483_648.0
        }
    }

    /// Size, reach of the points in sizes, seed and number of polylines; SHA-256 of Pillow 13.0.0's
    /// pixels after `ImageDraw.line` from every point to the next.
    const PILLOW: [(u32, f64, u64, u32, &str); 7] = [
        (64, 1.0, 1, 60, "35188ffcb3ce5227f1d2de9c9403dfb92889a445a3895209bb20d59f0737e8ad"),
        (64, 3.0, 2, 60, "5d16f57f5b82695412e07dc4dd9a6b22f062e10b5e8231a243f502863debbd2e"),
        (100, 20.0, 3, 60, "89e889ea9e463e3aabd1cfdc6a65eae87131f2c44c42046551a066afd4153fd4"),
        (33, 1000.0, 4, 20_000, "2ecd1f7135950a71b14b55791b068d91257190f688b25bde76ca43627d225659"),
        (512, 1.5, 5, 60, "bb5663e3990b2830a3cf438eceb36f377aecda106df7cdccd7ebd4cbfbba92f7"),
        (1, 4.0, 6, 60, "8a5edab282632443219e051e4ade2d1d5bbc671c781051bf1437897cbdfea0f1"),
        (7, 300.0, 7, 3000, "accea086fc28c9afcf35ab3f9329e7ee4906f0ca0d6dbaa9c255626647555c4d"),
    ];

    #[test]
    fn pixels_are_pillows() {
        for (size, reach, seed, n_polylines, expected) in PILLOW {
            let mut random = Lcg(seed);
            let mut canvas = Canvas::new(size, 200);
            for _ in 0..n_polylines {
                let n_points = 1 + (random.next() * 9.0) as usize;
                let mut place = || ((random.next() - 0.5) * reach + 0.5) * f64::from(size);
                let points: Vec<Point> = (0..n_points)
                    .map(|_| {
                        let x = place();
                        Point::new(x, place())
                    })
                    .collect();
                let gray = (random.next() * 256.0) as u8;
                canvas.closed_polyline(&points, gray);
            }
            let hash = Sha256::digest(&canvas.into_pixels().data);
            assert_eq!(format!("{hash:x}"), expected, "{size} {reach}");
        }
    }

    /// Draws every step, on the canvas or not: the oracle of the clipping.
    fn slow_line(canvas: &mut Canvas, from: Point, to: Point, gray: u8) {
        let (dx, dy) = ((to.x - from.x).abs(), (to.y - from.y).abs());
        let (step_x, step_y) = ((to.x - from.x).signum(), (to.y - from.y).signum());
        let (long, short) = (dx.max(dy), dx.min(dy));
        let (mut x, mut y, mut error) = (from.x, from.y, 2 * short - long);
        for _ in 0..=long {
            if (0..canvas.size).contains(&x) && (0..canvas.size).contains(&y) {
                canvas.pixels[(y * canvas.size + x) as usize] = gray;
            }
            let due = error >= 0;
            if due {
                error -= 2 * long;
            }
            error += 2 * short;
            x += if dx > dy || due { step_x } else { 0 };
            y += if dx <= dy || due { step_y } else { 0 };
        }
    }

    proptest! {
        #[test]
        fn clipped_lines_keep_their_pixels(
            size in 1_u32..40,
            from in (-100_i32..140, -100_i32..140),
            to in (-100_i32..140, -100_i32..140),
        ) {
            let (from, to) = (Point { x: from.0, y: from.1 }, Point { x: to.0, y: to.1 });
            let (mut fast, mut slow) = (Canvas::new(size, 0), Canvas::new(size, 0));
            fast.line(from, to, 9);
            slow_line(&mut slow, from, to, 9);
            prop_assert_eq!(fast.pixels, slow.pixels);
        }

        #[test]
        fn any_place_can_be_drawn_to(
            size in 1_u32..40,
            places in prop::collection::vec((any::<f64>(), any::<f64>()), 0..6),
            sane in prop::collection::vec((-1e7..1e7, -50.0..50.0), 0..6),
        ) {
            let mut canvas = Canvas::new(size, 0);
            let points: Vec<Point> =
                places.into_iter().chain(sane).map(|(x, y)| Point::new(x, y)).collect();
            canvas.closed_polyline(&points, 1);
        }
    }

    #[test]
    fn far_lines_keep_their_pixels() {
        let ends = [(-16_000_000.0, -16_777_216.0), (16_777_216.0, 15_999_990.0)];
        for (x, y) in [(0.0, 0.0), (3.0, -5.0), (1e9, -1e9), (f64::NAN, 39.9)] {
            for (far_x, far_y) in ends {
                for (from, to) in [
                    (Point::new(far_x, far_y), Point::new(x, y)),
                    (Point::new(y, x), Point::new(far_y, far_x)),
                    (Point::new(far_x, far_y), Point::new(-far_x, 20.0 - far_y)),
                ] {
                    let (mut fast, mut slow) = (Canvas::new(40, 0), Canvas::new(40, 0));
                    fast.line(from, to, 9);
                    slow_line(&mut slow, from, to, 9);
                    assert_eq!(fast.pixels, slow.pixels, "{from:?} {to:?}");
                }
            }
        }
    }
}
