//! Workloads of tests and measurements: files of folders, and crops as in training.
use crate::fixtures::Random;
use std::{
    io,
    path::{Path, PathBuf},
};

/// Returns all files below a folder, in order of their paths.
///
/// # Errors
/// When a folder cannot be listed.
pub fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

/// A part of an image, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Position of the left edge.
    pub x: f64,
    /// Position of the upper edge.
    pub y: f64,
    /// Number of columns; may be a fraction.
    pub width: f64,
    /// Number of rows; may be a fraction.
    pub height: f64,
}

/// Draws a crop as in training: 8 % to all of the area, aspect ratios from 3:4 to 4:3; the largest
/// square after ten attempts.
pub fn resized_crop(random: &mut Random, width: u32, height: u32) -> Part {
    let mut unit = || random.below(1 << 30) as f64 / f64::from(1 << 30);
    let (full_width, full_height) = (f64::from(width), f64::from(height));
    let side = full_width.min(full_height);
    let mut crop = (side, side);
    for _ in 0..10 {
        let area = full_width * full_height * (0.08 + 0.92 * unit());
        let ratio = (0.75f64.ln() * (1.0 - 2.0 * unit())).exp();
        let sides = ((area * ratio).sqrt(), (area / ratio).sqrt());
        if sides.0 <= full_width && sides.1 <= full_height {
            crop = sides;
            break;
        }
    }
    let (x, y) = ((full_width - crop.0) * unit(), (full_height - crop.1) * unit());
    Part { x, y, width: crop.0, height: crop.1 }
}
