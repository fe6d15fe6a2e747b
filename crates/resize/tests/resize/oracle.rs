//! The slow, obvious twin of the area filter: a transcription of the model that was checked against
//! OpenCV, one output value at a time, with tables of `(position, weight)` pairs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fdconvert_core::Pixels;

fn table(from: usize, to: usize) -> Vec<Vec<(usize, f32)>> {
    let scale = from as f64 / to as f64;
    let entry = |i: usize| {
        let f1 = i as f64 * scale;
        let f2 = f1 + scale;
        let cell = scale.min(from as f64 - f1);
        let mut s1 = f1.ceil() as i64;
        let s2 = (f2.floor() as i64).min(from as i64 - 1);
        s1 = s1.min(s2);
        let mut entries = Vec::new();
        if s1 as f64 - f1 > 1e-3 {
            entries.push(((s1 - 1) as usize, ((s1 as f64 - f1) / cell) as f32));
        }
        for s in s1..s2 {
            entries.push((s as usize, (1.0 / cell) as f32));
        }
        if f2 - s2 as f64 > 1e-3 {
            entries.push((s2 as usize, ((f2 - s2 as f64).min(1.0).min(cell) / cell) as f32));
        }
        entries
    };
    (0..to).map(entry).collect()
}

pub(crate) fn area(pixels: &Pixels, width: usize, height: usize) -> Vec<u8> {
    let (w, h, c) = (pixels.width as usize, pixels.height as usize, pixels.channels as usize);
    let at = |x: usize, y: usize, channel: usize| pixels.data[(y * w + x) * c + channel];
    let (scale_x, scale_y) = (w as f64 / width as f64, h as f64 / height as f64);
    let (whole_x, whole_y) = (scale_x.round(), scale_y.round());
    let mut out = Vec::new();
    if (scale_x - whole_x).abs() < f64::EPSILON && (scale_y - whole_y).abs() < f64::EPSILON {
        let (n_x, n_y) = (whole_x as usize, whole_y as usize);
        for (y, x, channel) in positions(width, height, c) {
            let cell = (0..n_y).flat_map(|dy| (0..n_x).map(move |dx| (dx, dy)));
            let sum: u32 =
                cell.map(|(dx, dy)| u32::from(at(x * n_x + dx, y * n_y + dy, channel))).sum();
            out.push(if (n_x, n_y) == (2, 2) {
                ((sum + 2) >> 2) as u8
            } else {
                (sum as f32 * (1.0 / (n_x * n_y) as f64) as f32).round_ties_even() as u8
            });
        }
        return out;
    }
    let (across, down) = (table(w, width), table(h, height));
    for (y, x, channel) in positions(width, height, c) {
        let mean = |row: usize| {
            across[x].iter().fold(0.0f32, |sum, &(column, weight)| {
                sum + f32::from(at(column, row, channel)) * weight
            })
        };
        let (&(first, weight), rest) = down[y].split_first().unwrap();
        let sum =
            rest.iter().fold(mean(first) * weight, |sum, &(row, weight)| sum + mean(row) * weight);
        out.push(sum.round_ties_even() as u8);
    }
    out
}

fn positions(
    width: usize,
    height: usize,
    channels: usize,
) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..height)
        .flat_map(move |y| (0..width).flat_map(move |x| (0..channels).map(move |c| (y, x, c))))
}
