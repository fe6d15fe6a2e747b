//! The two passes over an orbit, for `N` vectors of `W` instances side by side.
//!
//! Everything is inlined into functions compiled for one instruction set (see `simd`).

use super::simd::Isa;

pub(super) const N_MAPS: usize = crate::System::MAX_MAPS;

/// A value for every lane.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Lanes<const W: usize, const N: usize>(pub(super) [[f64; W]; N]);

/// The parameters of every map, for all instances.
pub(super) type Table<const W: usize, const N: usize> = [[Lanes<W, N>; 6]; N_MAPS];

/// The words of all instances' bitmaps, interleaved, so that a lane's word needs no lookup.
pub(super) type Canvas<const W: usize, const N: usize> = [[[u64; W]; N]];

/// Bounds of the orbits, including the start (0, 0), and their ends.
///
/// A value that is not finite never becomes finite again: a product with an infinity or NaN is one
/// of the two, and so is a sum with it, and both coordinates depend on both. So if the end is
/// finite, every point was.
pub(super) struct Bounds<const W: usize, const N: usize> {
    pub(super) min: [Lanes<W, N>; 2],
    pub(super) max: [Lanes<W, N>; 2],
    pub(super) end: [Lanes<W, N>; 2],
}

/// The mapping of the coordinates x and y to pixels.
pub(super) struct Window<const W: usize, const N: usize> {
    pub(super) min: [Lanes<W, N>; 2],
    /// Extent; above 0 and finite.
    pub(super) span: [Lanes<W, N>; 2],
    /// Pixels per unit: `inner / span`, finite.
    pub(super) scale: [Lanes<W, N>; 2],
    /// `pad - 1/2 - min * scale`.
    pub(super) shift: [Lanes<W, N>; 2],
    /// Pixels between the pads.
    pub(super) inner: f64,
    pub(super) pad: f64,
    /// Bits from one row of a bitmap to the next.
    pub(super) stride: f64,
}

/// Adding it to a double of magnitude below 2^51 rounds that to an integer, which then lies in the
/// low bits of the sum: 1.5 * 2^52.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Distance of a coordinate from an integer within which the division is done; see [`draw`].
const MARGIN: f64 = 1e-9;

/// Finds the map chosen by every random number: the count of `thresholds`, which are sorted, below
/// it. That is the number of maps if none is chosen.
#[inline(always)]
pub(super) fn choose(thresholds: &[f64; N_MAPS], random: &[f64], maps: &mut [u8]) {
    for (map, &number) in maps.iter_mut().zip(random) {
        *map = thresholds.iter().map(|&threshold| u8::from(number > threshold)).sum();
    }
}

/// The first pass: computes the bounds.
#[inline(always)]
pub(super) fn bounds<const W: usize, const N: usize, I: Isa<W>>(
    isa: I,
    table: &Table<W, N>,
    maps: &[u8],
) -> Bounds<W, N> {
    let start = [isa.splat(0.0); N];
    let [mut x, mut y] = [start; 2];
    let [mut min_x, mut max_x, mut min_y, mut max_y] = [start; 4];
    for &map in maps {
        step(isa, table, map, &mut x, &mut y);
        for v in 0..N {
            min_x[v] = isa.min(min_x[v], x[v]);
            max_x[v] = isa.max(max_x[v], x[v]);
            min_y[v] = isa.min(min_y[v], y[v]);
            max_y[v] = isa.max(max_y[v], y[v]);
        }
    }
    Bounds {
        min: [store(isa, min_x), store(isa, min_y)],
        max: [store(isa, max_x), store(isa, max_y)],
        end: [store(isa, x), store(isa, y)],
    }
}

/// The second pass: sets the bit of every point except the start. Lanes from `live` on are not
/// drawn.
///
/// The original's pixel is the integer below `q = (x - min) / span * inner + pad`, each operation
/// rounded. A division takes as long as all the rest, so this takes the integer below
/// `p = x * scale + (pad - min * scale)` instead, and does the division only where `p` is within
/// [`MARGIN`] of an integer. Elsewhere both are the same, because `p` and `q` differ by less:
///
/// Let u = 2^-53, a rounding's relative error. The start (0, 0) is a point, so `min <= 0 <= max`,
/// and each x, and `min` itself, is at most `span` from 0 (up to u). Let t be the exact
/// `(x - min) / span * inner`, from 0 to `inner`. Then `q` is t after at most four roundings
/// (`x - min`, `span`, quotient, product), so within 4.1 u inner of it, and the sum adds
/// u (inner + pad). In `p`, `span` and the quotient err by u each (4 u if `scale` is so small that
/// it is subnormal: it is at least 1 / f64::MAX), and of the two products, each of magnitude at
/// most `inner`, and the sums, none errs by more than 6 u inner, rounded once or twice; together
/// less than 25 u (inner + pad). Products that underflow err by less than 2^-1000. Frames are no
/// larger than 2^14, so `p` and `q` differ by less than 30 * 2^14 * 2^-53 < 1e-10. The bound holds
/// for any magnitude of x and `span`, as long as they and `scale` are finite, which the caller
/// checks.
///
/// The code works with `p - 1/2`. Rounded to the nearest integer, it gives the integer below `p`,
/// except where the two are half a unit apart, which means that `p` is close to an integer.
#[inline(always)]
pub(super) fn draw<const W: usize, const N: usize, I: Isa<W>>(
    isa: I,
    table: &Table<W, N>,
    maps: &[u8],
    window: &Window<W, N>,
    live: usize,
    canvas: &mut Canvas<W, N>,
) {
    let [scale_x, scale_y] = [load(isa, &window.scale[0]), load(isa, &window.scale[1])];
    let [shift_x, shift_y] = [load(isa, &window.shift[0]), load(isa, &window.shift[1])];
    let (round, stride) = (isa.splat(ROUND), isa.splat(window.stride));
    let near = isa.splat(0.5 - MARGIN);
    let last_live = live.saturating_sub(W * (N - 1)).min(W);
    let [mut x, mut y] = [[isa.splat(0.0); N]; 2];
    for &map in maps {
        step(isa, table, map, &mut x, &mut y);
        let mut bits = [isa.splat(0.0); N];
        let mut farthest = isa.splat(0.0);
        for v in 0..N {
            let column = isa.about_mul_add(x[v], scale_x[v], shift_x[v]);
            let row = isa.about_mul_add(y[v], scale_y[v], shift_y[v]);
            let rounded_column = isa.add(column, round);
            let whole_row = isa.sub(isa.add(row, round), round);
            let off_column = isa.sub(column, isa.sub(rounded_column, round));
            let off_row = isa.sub(row, whole_row);
            farthest = isa.max(farthest, isa.max(isa.abs(off_column), isa.abs(off_row)));
            bits[v] = isa.about_mul_add(whole_row, stride, rounded_column);
        }
        if isa.any_above(farthest, near) {
            bits = divide(isa, window, &x, &y);
        }
        set(isa, bits, last_live, canvas);
    }
}

/// One step of all orbits, in the original's order of operations.
#[inline(always)]
fn step<const W: usize, const N: usize, I: Isa<W>>(
    isa: I,
    table: &Table<W, N>,
    map: u8,
    x: &mut [I::Vector; N],
    y: &mut [I::Vector; N],
) {
    // No map exceeds the table, and a table of eight needs no bounds check.
    let [a, b, c, d, e, f] = &table[usize::from(map) % N_MAPS];
    let get = |lanes: &Lanes<W, N>, v: usize| isa.load(&lanes.0[v]);
    for v in 0..N {
        let next_x = isa.add(isa.mul(x[v], get(a, v)), isa.mul(y[v], get(b, v)));
        let next_y = isa.add(isa.mul(x[v], get(c, v)), isa.mul(y[v], get(d, v)));
        x[v] = isa.add(next_x, get(e, v));
        y[v] = isa.add(next_y, get(f, v));
    }
}

/// Computes the pixel coordinate with the original's operations, bit for bit.
#[cold]
#[inline(always)]
fn divide<const W: usize, const N: usize, I: Isa<W>>(
    isa: I,
    window: &Window<W, N>,
    x: &[I::Vector; N],
    y: &[I::Vector; N],
) -> [I::Vector; N] {
    let (inner, pad) = (isa.splat(window.inner), isa.splat(window.pad));
    let pixel = |axis: usize, v: usize, value: I::Vector| {
        let moved = isa.sub(value, isa.load(&window.min[axis].0[v]));
        let share = isa.div(moved, isa.load(&window.span[axis].0[v]));
        isa.floor(isa.add(isa.mul(share, inner), pad))
    };
    let mut bits = [isa.splat(0.0); N];
    for v in 0..N {
        let column = isa.add(pixel(0, v, x[v]), isa.splat(ROUND));
        bits[v] = isa.about_mul_add(pixel(1, v, y[v]), isa.splat(window.stride), column);
    }
    bits
}

/// Sets a bit of every bitmap. The positions are in the low bits of the doubles; a position outside
/// the canvas sets nothing, so memory safety does not depend on the proof about rounding.
#[inline(always)]
fn set<const W: usize, const N: usize, I: Isa<W>>(
    isa: I,
    positions: [I::Vector; N],
    last_live: usize,
    canvas: &mut Canvas<W, N>,
) {
    let mut bits = [[0; W]; N];
    for v in 0..N {
        isa.store_bits(positions[v], &mut bits[v]);
    }
    let mut mark = |v: usize, lane: usize| {
        let bit = bits[v][lane] as u32;
        if let Some(words) = canvas.get_mut(bit as usize / 64) {
            words[v][lane] |= 1 << (bit % 64);
        }
    };
    for v in 0..N - 1 {
        for lane in 0..W {
            mark(v, lane);
        }
    }
    for lane in 0..last_live {
        mark(N - 1, lane);
    }
}

#[inline(always)]
fn load<const W: usize, const N: usize, I: Isa<W>>(isa: I, lanes: &Lanes<W, N>) -> [I::Vector; N] {
    std::array::from_fn(|v| isa.load(&lanes.0[v]))
}

#[inline(always)]
fn store<const W: usize, const N: usize, I: Isa<W>>(
    isa: I,
    vectors: [I::Vector; N],
) -> Lanes<W, N> {
    let mut lanes = Lanes([[0.0; W]; N]);
    for (lanes, vector) in lanes.0.iter_mut().zip(vectors) {
        isa.store(vector, lanes);
    }
    lanes
}
