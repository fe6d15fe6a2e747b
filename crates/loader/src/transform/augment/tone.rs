//! Changes that map a level to another level, regardless of its neighbours.

/// Returns the gray level of a pixel: ITU-R 601 weights in 16 bits, as in Pillow.
pub(super) fn luma(&[red, green, blue]: &[u8; 3]) -> u8 {
    let sum = u32::from(red) * 19_595 + u32::from(green) * 38_470 + u32::from(blue) * 7_471;
    // The weights add up to 2^16.
    ((sum + 0x8000) >> 16) as u8
}

/// Maps every level through a table.
pub(super) fn apply(image: &mut [u8], table: &[u8; 256]) {
    image.iter_mut().for_each(|level| *level = table[usize::from(*level)]);
}

/// Returns the mask of the upper bits of a level.
pub(super) fn upper_bits(n_bits: f64) -> u8 {
    let n_bits = n_bits.clamp(0.0, 8.0) as u32;
    (0xff00_u32 >> n_bits) as u8
}

/// Returns the first whole level that is not below the threshold; 256 without one.
pub(super) fn first_level(threshold: f64) -> u16 {
    threshold.ceil().clamp(0.0, 256.0) as u16
}

pub(super) fn posterize(image: &mut [u8], mask: u8) {
    image.iter_mut().for_each(|level| *level &= mask);
}

/// Inverts from a level upwards.
pub(super) fn solarize(image: &mut [u8], threshold: u16) {
    if let Ok(threshold) = u8::try_from(threshold) {
        let invert = |level: u8| if level < threshold { level } else { 255 - level };
        image.iter_mut().for_each(|level| *level = invert(*level));
    }
}

pub(super) fn invert(image: &mut [u8]) {
    image.iter_mut().for_each(|level| *level = 255 - *level);
}

/// Stretches every channel so that its darkest level becomes 0 and its brightest 255.
pub(super) fn auto_contrast(image: &mut [u8]) {
    let (darkest, brightest) = extremes(image);
    let tables: [[u8; 256]; 3] = std::array::from_fn(|channel| {
        let (low, high) = (darkest[channel], brightest[channel]);
        if high <= low {
            return identity();
        }
        let scale = 255.0 / f64::from(high - low);
        let offset = -f64::from(low) * scale;
        // Cut off, and clamped to 0 to 255.
        std::array::from_fn(|level| (level as f64 * scale + offset) as u8)
    });
    apply_each(image, &tables);
}

/// Gives every channel a histogram as even as whole levels allow.
pub(super) fn equalize(image: &mut [u8]) {
    let histograms = histograms(image);
    let tables: [[u8; 256]; 3] = std::array::from_fn(|channel| {
        let histogram = &histograms[channel];
        let n_pixels: u32 = histogram.iter().sum();
        let brightest = histogram.iter().rev().find(|&&count| count > 0).copied().unwrap_or(0);
        // Pixels per level in an even histogram. The brightest level is not spread. With a single
        // level, or less than one pixel per level, there is nothing to do.
        let step = (n_pixels - brightest) / 255;
        if step == 0 {
            return identity();
        }
        let mut n_darker = step / 2;
        std::array::from_fn(|level| {
            let equalized = (n_darker / step).min(255) as u8;
            n_darker += histogram[level];
            equalized
        })
    });
    apply_each(image, &tables);
}

fn identity() -> [u8; 256] {
    std::array::from_fn(|level| level as u8)
}

fn apply_each(image: &mut [u8], [red, green, blue]: &[[u8; 256]; 3]) {
    let (pixels, _) = image.as_chunks_mut::<3>();
    for [r, g, b] in pixels {
        (*r, *g, *b) = (red[usize::from(*r)], green[usize::from(*g)], blue[usize::from(*b)]);
    }
}

/// Returns the darkest and brightest level per channel. Sixteen pixels are compared at a time, lane
/// by lane, which compiles to vector instructions.
fn extremes(image: &[u8]) -> ([u8; 3], [u8; 3]) {
    let (mut darkest, mut brightest) = ([255_u8; 48], [0_u8; 48]);
    let (blocks, rest) = image.as_chunks::<48>();
    for block in blocks.iter().map(<[u8; 48]>::as_slice).chain([rest]) {
        for ((level, dark), bright) in block.iter().zip(&mut darkest).zip(&mut brightest) {
            *dark = (*dark).min(*level);
            *bright = (*bright).max(*level);
        }
    }
    let lanes = |channel: usize| (channel..48).step_by(3);
    let dark = |channel| lanes(channel).map(|lane| darkest[lane]).min().unwrap_or(255);
    let bright = |channel| lanes(channel).map(|lane| brightest[lane]).max().unwrap_or(0);
    (std::array::from_fn(dark), std::array::from_fn(bright))
}

/// Keeps two histograms per channel, added at the end: neighbours are often alike, and a count that
/// was just written cannot be read at once.
fn histograms(image: &[u8]) -> [[u32; 256]; 3] {
    let mut counts = [[[0_u32; 256]; 3]; 2];
    let [even, odd] = &mut counts;
    let count = |counts: &mut [[u32; 256]; 3], pixel: &[u8]| {
        for (histogram, &level) in counts.iter_mut().zip(pixel) {
            histogram[usize::from(level)] += 1;
        }
    };
    let (pairs, rest) = image.as_chunks::<6>();
    for pair in pairs {
        let (first, second) = pair.split_at(3);
        count(even, first);
        count(odd, second);
    }
    if rest.len() >= 3 {
        count(even, rest.get(..3).unwrap_or_default());
    }
    let [mut even, odd] = counts;
    for (even, odd) in even.iter_mut().flatten().zip(odd.iter().flatten()) {
        *even += odd;
    }
    even
}
