use super::kernel::{self, Bounds, Lanes, N_MAPS, Table, Window};
use super::rescale::Axis;
use super::simd::{self, Isa, Level};
use crate::bitmap::{Bitmap, WORD};
use crate::frame::Frame;
use crate::system::{System, Weights};

/// Number of vectors that advance together. Their steps are independent, which hides the latency of
/// each chain.
const N_VECTORS: usize = 4;

/// Number of weight rows per call of [`ExactScratch::cover`].
pub(super) fn rows_at_once(level: Level) -> usize {
    N_VECTORS * level.width()
}

/// Buffers of [`ExactSampler::coverage`](super::ExactSampler::coverage) between its passes: the
/// chosen maps, a byte per point, and the bitmaps of 16 or 32 instances. Any scratch works for any
/// call; one per thread saves the allocations.
#[derive(Debug, Clone, Default)]
pub struct ExactScratch {
    maps: Vec<u8>,
    words: Vec<u64>,
}

impl ExactScratch {
    /// Chooses the maps of all steps.
    ///
    /// The map is the first with `random <= sums[j]`. As it is then also the first with `random <=
    /// max(sums[..=j])`, it can be counted instead, as the number of these maxima that are below
    /// the random number. Steps that choose no map are skipped, since they only repeat a point.
    pub(super) fn choose(&mut self, level: Level, system: &System, random: &[f64]) {
        let mut thresholds = [f64::INFINITY; N_MAPS];
        let mut max = f64::NEG_INFINITY;
        for (threshold, sum) in thresholds.iter_mut().zip(system.cumulative()) {
            max = max.max(sum);
            *threshold = max;
        }
        // The first point is the start, so there is one step less than numbers.
        let random = random.split_last().map_or(random, |(_, steps)| steps);
        self.maps.resize(random.len(), 0);
        simd::choose(level, &thresholds, random, &mut self.maps);
        let n_maps = system.maps().len();
        if random.iter().any(|&number| number > max) {
            self.maps.retain(|&map| usize::from(map) < n_maps);
        }
    }

    /// Draws the coverage of up to [`rows_at_once`] instances into as many bitmaps of `out`.
    /// Returns a bit for every row that the reference must draw.
    pub(super) fn cover(
        &mut self,
        level: Level,
        frame: Frame,
        system: &System,
        weights: &[Weights],
        out: &mut [Bitmap],
    ) -> u32 {
        let Self { maps, words } = self;
        let mut group = Group { frame, system, weights, maps, words, out };
        simd::cover(level, &mut group)
    }
}

/// Instances drawn together.
pub(super) struct Group<'a> {
    frame: Frame,
    system: &'a System,
    weights: &'a [Weights],
    maps: &'a [u8],
    words: &'a mut Vec<u64>,
    out: &'a mut [Bitmap],
}

/// Draws a group with as few vectors as possible.
#[inline(always)]
pub(super) fn cover<const W: usize, I: Isa<W>>(isa: I, group: &mut Group) -> u32 {
    match group.weights.len().div_ceil(W) {
        0 => 0,
        1 => cover_vectors::<W, 1, I>(isa, group),
        2 => cover_vectors::<W, 2, I>(isa, group),
        3 => cover_vectors::<W, 3, I>(isa, group),
        _ => cover_vectors::<W, N_VECTORS, I>(isa, group),
    }
}

#[inline(always)]
fn cover_vectors<const W: usize, const N: usize, I: Isa<W>>(isa: I, group: &mut Group) -> u32 {
    let mut table = table::<W, N>(group);
    let bounds = kernel::bounds(isa, &table, group.maps);
    let (window, failed) = window(&bounds, group);
    // A failed lane stays at the start, where it disturbs no other.
    for lanes in table.iter_mut().flatten() {
        for (lane, value) in lanes.0.as_flattened_mut().iter_mut().enumerate() {
            if failed >> lane & 1 == 1 {
                *value = 0.0;
            }
        }
    }
    let n_words = group.out.first().map_or(0, |bitmap| bitmap.words().len());
    group.words.clear();
    group.words.resize(n_words * W * N, 0);
    let (canvas, _) = group.words.as_chunks_mut::<W>();
    let (canvas, _) = canvas.as_chunks_mut::<N>();
    kernel::draw(isa, &table, group.maps, &window, group.out.len(), canvas);
    for (lane, bitmap) in group.out.iter_mut().enumerate() {
        for (word, words) in bitmap.words_mut().iter_mut().zip(&*canvas) {
            *word = words[lane / W % N][lane % W];
        }
        let start = |axis: usize| {
            let [min, span] = [&window.min[axis], &window.span[axis]];
            let [min, span] = [min, span].map(|lanes| lanes.0[lane / W % N][lane % W]);
            u32::from(Axis::of_span(span, group.frame).pixel(0.0 - min))
        };
        bitmap.set(start(0), start(1));
    }
    failed
}

/// Returns the weighted parameters of every map; zero in unused lanes.
#[inline(always)]
fn table<const W: usize, const N: usize>(group: &Group) -> Table<W, N> {
    let mut table = [[Lanes([[0.0; W]; N]); 6]; N_MAPS];
    for (parameters, map) in table.iter_mut().zip(group.system.maps()) {
        for (parameter, (lanes, value)) in parameters.iter_mut().zip(map).enumerate() {
            let lanes = lanes.0.as_flattened_mut().iter_mut();
            for (lane, weights) in lanes.zip(group.weights) {
                *lane = value * weights[parameter];
            }
        }
    }
    table
}

/// Returns how the instances fill the frame, and a bit for every one that cannot: its orbit
/// overflowed, or has no extent to divide by.
#[inline(always)]
fn window<const W: usize, const N: usize>(
    bounds: &Bounds<W, N>,
    group: &Group,
) -> (Window<W, N>, u32) {
    let none = [Lanes([[0.0; W]; N]); 2];
    let mut window = Window {
        min: none,
        span: none,
        scale: none,
        shift: none,
        inner: Axis::inner(group.frame),
        pad: f64::from(group.frame.pad()),
        stride: (group.frame.size() as usize).next_multiple_of(WORD) as f64,
    };
    let mut failed = 0;
    for lane in 0..W * N {
        for axis in 0..2 {
            let at = |lanes: &[Lanes<W, N>; 2]| lanes[axis].0[lane / W][lane % W];
            let [min, max, end] = [&bounds.min, &bounds.max, &bounds.end].map(at);
            let span = max - min;
            let scale = window.inner / span;
            // Also false for an extent of NaN or infinity.
            let usable = end.is_finite() && scale.is_finite() && scale > 0.0;
            if !usable {
                failed |= 1 << lane;
            }
            let put = |lanes: &mut [Lanes<W, N>; 2], value: f64| {
                lanes[axis].0[lane / W][lane % W] = if usable { value } else { 0.0 };
            };
            put(&mut window.min, min);
            put(&mut window.span, span);
            put(&mut window.scale, scale);
            put(&mut window.shift, window.pad - 0.5 - min * scale);
        }
    }
    (window, failed)
}
