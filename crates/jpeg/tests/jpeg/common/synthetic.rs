//! Synthetic JPEGs with known coefficients: any sampling, tables with short and with the longest
//! codes, 8- and 16-bit quantisation, fill bytes, restarts.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each user takes a part; tests fail by panicking"
)]

use fdconvert_jpeg::{HuffmanTable, reference::Block};
use fdconvert_testkit::fixtures::Random;

#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) width: u16,
    pub(crate) height: u16,
    /// Horizontal and vertical factor of each component.
    pub(crate) sampling: Vec<(u8, u8)>,
    pub(crate) restart_interval: u16,
    /// Largest number of nonzero values in a block.
    pub(crate) n_values: u64,
    pub(crate) seed: u64,
}

impl Recipe {
    pub(crate) fn new(width: u16, height: u16, sampling: &[(u8, u8)]) -> Self {
        let sampling = sampling.to_vec();
        Self { width, height, sampling, restart_interval: 0, n_values: 12, seed: 1 }
    }
}

/// Returns the bytes of the file, and its blocks in scan order.
pub(crate) fn jpeg(recipe: &Recipe) -> (Vec<u8>, Vec<Block>) {
    let mut random = Random::new(recipe.seed);
    let (dc, ac) = (dc_table(), ac_table());
    let mut bytes = headers(recipe, &dc, &ac);
    let max = |part: fn(&(u8, u8)) -> u8| recipe.sampling.iter().map(part).max().unwrap();
    let (max_h, max_v) =
        if recipe.sampling.len() == 1 { (1, 1) } else { (max(|it| it.0), max(|it| it.1)) };
    let n_mcus = usize::from(recipe.width).div_ceil(8 * usize::from(max_h))
        * usize::from(recipe.height).div_ceil(8 * usize::from(max_v));
    let mut blocks = Vec::new();
    let mut bits = Vec::new();
    let mut predictions = vec![0; recipe.sampling.len()];
    for mcu in 0..n_mcus {
        let interval = usize::from(recipe.restart_interval);
        if interval > 0 && mcu > 0 && mcu % interval == 0 {
            flush(&mut bytes, &mut bits);
            bytes.extend([0xFF; 2].iter().take(1 + mcu % 2));
            bytes.push(0xD0 + ((mcu / interval - 1) % 8) as u8);
            predictions.fill(0);
        }
        for (component, (h, v)) in recipe.sampling.iter().enumerate() {
            let n_blocks = if recipe.sampling.len() == 1 { 1 } else { h * v };
            for _ in 0..n_blocks {
                let (values, block) = block(&mut random, recipe.n_values);
                let difference = i32::from(values[0]) - predictions[component];
                predictions[component] = values[0].into();
                encode(&mut bits, &dc, &ac, difference, &values);
                blocks.push(block);
            }
        }
    }
    flush(&mut bytes, &mut bits);
    bytes.extend([0xFF, 0xFF, 0xD9, 1, 2, 3]);
    (bytes, blocks)
}

fn headers(recipe: &Recipe, dc: &HuffmanTable, ac: &HuffmanTable) -> Vec<u8> {
    let mut bytes = vec![0xFF, 0xD8, 0xFF, 0xFF, 0xFE, 0, 4, b'h', b'i'];
    let mut segment = |marker: u8, body: &[u8]| {
        bytes.extend([0xFF, marker]);
        bytes.extend((body.len() as u16 + 2).to_be_bytes());
        bytes.extend(body);
    };
    segment(0xDB, &[&[0][..], &(1..=64).collect::<Vec<u8>>()].concat());
    let wide = (1..=64u16).flat_map(|value| (value * 300).to_be_bytes());
    segment(0xDB, &[vec![0x11], wide.collect()].concat());
    let mut frame = vec![8];
    frame.extend(recipe.height.to_be_bytes());
    frame.extend(recipe.width.to_be_bytes());
    frame.push(recipe.sampling.len() as u8);
    let mut scan = vec![recipe.sampling.len() as u8];
    for (number, (h, v)) in (0..).zip(&recipe.sampling) {
        frame.extend([10 + number, h << 4 | v, u8::from(number > 0)]);
        scan.extend([10 + number, 0x23]);
    }
    scan.extend([0, 63, 0]);
    segment(0xC1, &frame);
    segment(0xC4, &[&[0x02], &dc.counts[..], &dc.values, &[0x13], &ac.counts, &ac.values].concat());
    if recipe.restart_interval > 0 {
        segment(0xDD, &recipe.restart_interval.to_be_bytes());
    }
    segment(0xDA, &scan);
    bytes
}

/// Sizes 0 to 11, all of 4 bits.
fn dc_table() -> HuffmanTable {
    let mut counts = [0; 16];
    counts[3] = 12;
    HuffmanTable { counts, values: (0..12).collect() }
}

/// The end of the block in 2 bits, a few symbols in 4, some in 9, most in 16.
fn ac_table() -> HuffmanTable {
    let mut values = vec![0, 1, 2, 3, 4, 0xF0];
    let others = (0..16).flat_map(|run| (1..=10).map(move |size| run << 4 | size));
    values.extend(others.filter(|value| !(1..=4).contains(value)));
    let mut counts = [0; 16];
    (counts[1], counts[3], counts[8]) = (1, 5, 60);
    counts[15] = values.len() as u8 - 66;
    HuffmanTable { counts, values }
}

/// Returns values in storage order, and in natural order.
fn block(random: &mut Random, n_values: u64) -> ([i16; 64], Block) {
    let mut values = [0; 64];
    values[0] = random.below(2000) as i16 - 1000;
    for _ in 0..random.below(n_values + 1) {
        let size = random.below(10) + 1;
        let value = random.below(1 << size) as i16;
        values[random.below(64) as usize] = if random.below(2) == 0 { value } else { -value };
    }
    values.iter_mut().skip(1).for_each(|value| *value = (*value).clamp(-1023, 1023));
    values[0] = values[0].clamp(-1000, 1000);
    let mut natural = [0; 64];
    // Diagonals, alternating up and down.
    let mut places: Vec<(usize, usize)> = (0..64).map(|place| (place / 8, place % 8)).collect();
    places.sort_by_key(|&(y, x)| (x + y, if (x + y) % 2 == 0 { x } else { y }));
    for (value, (y, x)) in values.iter().zip(places) {
        natural[8 * y + x] = *value;
    }
    (values, natural)
}

fn encode(
    bits: &mut Vec<bool>,
    dc: &HuffmanTable,
    ac: &HuffmanTable,
    difference: i32,
    values: &[i16; 64],
) {
    symbol(bits, dc, 0, difference);
    let mut run = 0;
    for value in &values[1..] {
        if *value == 0 {
            run += 1;
            continue;
        }
        while run > 15 {
            symbol(bits, ac, 15, 0);
            run -= 16;
        }
        symbol(bits, ac, run, i32::from(*value));
        run = 0;
    }
    if run > 0 {
        symbol(bits, ac, 0, 0);
    }
}

fn symbol(bits: &mut Vec<bool>, table: &HuffmanTable, run: u8, value: i32) {
    let size = 32 - value.unsigned_abs().leading_zeros();
    let wanted = run << 4 | size as u8;
    let (code, n_bits, _) = table.codes().find(|(.., it)| *it == wanted).unwrap();
    let value = if value < 0 { value + (1 << size) - 1 } else { value };
    bits.extend((0..n_bits).rev().map(|place| code >> place & 1 == 1));
    bits.extend((0..size).rev().map(|place| value >> place & 1 == 1));
}

/// Pads with ones and stuffs.
fn flush(bytes: &mut Vec<u8>, bits: &mut Vec<bool>) {
    for byte in bits.chunks(8) {
        let ones = std::iter::repeat(&true);
        let byte =
            byte.iter().chain(ones).take(8).fold(0u8, |byte, bit| byte << 1 | u8::from(*bit));
        bytes.push(byte);
        if byte == 0xFF {
            bytes.push(0);
        }
    }
    bits.clear();
}
