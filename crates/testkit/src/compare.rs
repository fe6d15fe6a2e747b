//! Comparison of two images, or of two folders.
use fdconvert_core::Pixels;
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, fs, path::Path};

/// Differences between two images of the same shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The largest difference of a sample, 0 to 255.
    pub max: u8,
    /// The mean of all differences.
    pub mean: f64,
    /// Peak signal to noise in dB; infinite for equal images.
    pub psnr: f64,
}

/// Compares two images.
///
/// # Panics
/// When their shapes differ.
#[must_use]
pub fn pixels(a: &Pixels, b: &Pixels) -> Difference {
    let shape = |pixels: &Pixels| (pixels.width, pixels.height, pixels.channels, pixels.data.len());
    assert_eq!(shape(a), shape(b), "the images have different shapes");
    let mut max = 0;
    let (mut sum, mut sum_of_squares) = (0, 0);
    for (&a, &b) in a.data.iter().zip(&b.data) {
        let difference = a.abs_diff(b);
        max = max.max(difference);
        sum += u64::from(difference);
        sum_of_squares += u64::from(difference).pow(2);
    }
    let n_samples = a.data.len().max(1) as f64;
    let mean_square = sum_of_squares as f64 / n_samples;
    let psnr = 10.0 * (255.0 * 255.0 / mean_square).log10();
    Difference { max, mean: sum as f64 / n_samples, psnr }
}

/// Returns SHA-256 in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns every file below a folder (or the file itself), by relative path, with its bytes. Empty
/// folders are listed with a trailing `/`.
///
/// # Panics
/// When something cannot be read.
#[must_use]
pub fn tree(root: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    fn add(path: &Path, name: &[u8], files: &mut BTreeMap<Vec<u8>, Vec<u8>>) {
        if !path.is_dir() {
            files.insert(name.to_vec(), fs::read(path).unwrap());
            return;
        }
        let prefix = if name.is_empty() { Vec::new() } else { [name, b"/"].concat() };
        let before = files.len();
        for entry in fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let name = [&prefix, entry.file_name().as_encoded_bytes()].concat();
            add(&entry.path(), &name, files);
        }
        if files.len() == before && !name.is_empty() {
            files.insert(prefix, Vec::new());
        }
    }
    let mut files = BTreeMap::new();
    add(root, b"", &mut files);
    files
}

/// Asserts that two folders contain the same names and the same bytes.
///
/// # Panics
/// When they do not, with the first difference of each kind.
pub fn assert_same_tree(a: &Path, b: &Path) {
    let (left, right) = (tree(a), tree(b));
    let show = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    for (name, bytes) in &left {
        let name_shown = show(name);
        let other = right.get(name).unwrap_or_else(|| {
            panic!("{} has `{name_shown}`, {} has not", a.display(), b.display())
        });
        if bytes != other {
            let at = bytes.iter().zip(other).position(|(a, b)| a != b);
            let at = at.unwrap_or(bytes.len().min(other.len()));
            let (a_len, b_len) = (bytes.len(), other.len());
            panic!("`{name_shown}` differs from byte {at} on ({a_len} and {b_len} bytes)");
        }
    }
    if let Some(name) = right.keys().find(|name| !left.contains_key(*name)) {
        panic!("{} has `{}`, {} has not", b.display(), show(name), a.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_measured() {
        let image = |data: &[u8]| Pixels { width: 2, height: 1, channels: 1, data: data.to_vec() };
        let none = pixels(&image(&[1, 2]), &image(&[1, 2]));
        assert_eq!((none.max, none.mean, none.psnr), (0, 0.0, f64::INFINITY));
        let some = pixels(&image(&[0, 255]), &image(&[255, 255]));
        assert_eq!((some.max, some.mean), (255, 127.5));
        assert!((some.psnr - 3.0103).abs() < 1e-3);
    }

    #[test]
    fn trees_differ_by_names_and_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        for root in [&a, &b] {
            fs::create_dir_all(root.join("x/empty")).unwrap();
            fs::write(root.join("x/1"), b"one").unwrap();
        }
        assert_same_tree(&a, &b);
        fs::write(b.join("x/1"), b"onf").unwrap();
        assert!(std::panic::catch_unwind(|| assert_same_tree(&a, &b)).is_err());
        fs::write(b.join("x/1"), b"one").unwrap();
        fs::create_dir(b.join("y")).unwrap();
        assert!(std::panic::catch_unwind(|| assert_same_tree(&a, &b)).is_err());
    }

    #[test]
    fn sha256_is_the_known_one() {
        assert!(sha256(b"").starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
    }
}
