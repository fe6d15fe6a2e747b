//! All kinds of damage to a small dataset, one after the other.
use fdconvert_storage::os::FileExt as _;
use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
};

/// Longer runs of zeros are only sampled.
const ZERO_RUN: usize = 4096;
/// Step in such runs: a prime, so that all positions in a page and a word occur.
const ZERO_STEP: usize = 997;

/// Damage to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// A bit was flipped.
    Flip {
        /// Position of the byte.
        at: u64,
        /// Number of the bit, from 0.
        bit: u32,
    },
    /// The file was truncated to this length.
    Cut(u64),
    /// This byte was appended.
    Grown(u8),
    /// The file was removed.
    Gone,
}

/// Results for a file.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Path below the dataset.
    pub file: String,
    /// Size of the file.
    pub bytes: u64,
    /// Number of tested cases of damage.
    pub tries: u64,
    /// Damage that was not noticed.
    pub missed: Vec<Damage>,
}

/// Extent of the damage that is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Every bit and every length; every 997th byte in long runs of zeros.
    All,
    /// One bit of every nth byte, and every nth length.
    Every(usize),
}

/// Damages all files at or below `dataset`, one at a time, and calls `notices` each time. Files are
/// restored afterwards.
///
/// # Panics
/// When a file cannot be changed.
pub fn campaign(dataset: &Path, extent: Extent, notices: impl Fn() -> bool) -> Vec<Tally> {
    let name = |path: &Path| match path.strip_prefix(dataset) {
        Ok(below) if below != Path::new("") => below.to_string_lossy().into_owned(),
        _ => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    let files = files_below(dataset).into_iter().map(|path| (name(&path), path));
    files.map(|(name, path)| damage(name, &path, extent, &notices)).collect()
}

fn damage(file: String, path: &Path, extent: Extent, notices: &impl Fn() -> bool) -> Tally {
    let whole = fs::read(path).unwrap();
    let mut tally = Tally { file, bytes: whole.len() as u64, tries: 0, missed: Vec::new() };
    let mut note = |damage| {
        tally.tries += 1;
        if !notices() {
            tally.missed.push(damage);
        }
    };
    let open = || OpenOptions::new().write(true).open(path).unwrap();
    let places = places(&whole, extent);
    for &at in &places {
        let all = [0, 1, 2, 3, 4, 5, 6, 7];
        let bits = match extent {
            Extent::All => &all[..],
            Extent::Every(_) => &all[at % 8..=at % 8],
        };
        for &bit in bits {
            open().write_all_at(&[whole[at] ^ 1 << bit], at as u64).unwrap();
            note(Damage::Flip { at: at as u64, bit });
        }
        open().write_all_at(&whole[at..=at], at as u64).unwrap();
    }
    // From the end to the start, in place: nothing has the file open in between.
    for &len in places.iter().rev() {
        open().set_len(len as u64).unwrap();
        note(Damage::Cut(len as u64));
    }
    for byte in [0, b' ', b'\n', 0xff] {
        fs::write(path, [&whole[..], &[byte]].concat()).unwrap();
        note(Damage::Grown(byte));
    }
    fs::remove_file(path).unwrap();
    note(Damage::Gone);
    fs::write(path, whole).unwrap();
    tally
}

fn places(whole: &[u8], extent: Extent) -> Vec<usize> {
    let every = match extent {
        Extent::All => 1,
        Extent::Every(step) => step.max(1),
    };
    let mut places = Vec::new();
    let mut at = 0;
    while at < whole.len() {
        let zeros = whole[at..].iter().take_while(|&&byte| byte == 0).count();
        let (run, step) = if zeros > ZERO_RUN {
            // Most of a sparse file, whatever its size.
            (zeros, (ZERO_STEP * every).max(zeros / 512))
        } else {
            (zeros.max(1), 1)
        };
        places.extend((at..at + run).step_by(step));
        if step > 1 {
            places.push(at + run - 1);
        }
        at += run;
    }
    let in_runs = |pair: &[usize]| pair[1] - pair[0] > 1;
    let sparse = places.windows(2).filter(|pair| in_runs(pair)).map(|pair| pair[1]);
    let mut kept: Vec<_> = places.iter().copied().step_by(every).chain(sparse).collect();
    kept.sort_unstable();
    kept.dedup();
    kept
}

/// Returns the files at or below a path, sorted by path.
#[must_use]
pub fn files_below(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_path_buf()];
    }
    let mut entries: Vec<_> = fs::read_dir(path).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    entries.iter().flat_map(|path| files_below(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missed_is_named_and_files_stay_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"ab-").unwrap();
        // Damage to the last byte is not noticed.
        let tallies = campaign(folder.path(), Extent::All, || {
            !fs::read(&path).is_ok_and(|read| read.starts_with(b"ab"))
        });
        assert_eq!(fs::read(&path).unwrap(), b"ab-");
        let [tally] = &tallies[..] else { panic!("{tallies:?}") };
        assert_eq!((tally.file.as_str(), tally.bytes, tally.tries), ("a", 3, 3 * 8 + 3 + 4 + 1));
        assert_eq!(tally.missed.len(), 8 + 1 + 4);
        assert!(tally.missed.contains(&Damage::Cut(2)), "{:?}", tally.missed);
        let zeros = vec![0; 1 << 20];
        assert!((400..2000).contains(&places(&zeros, Extent::All).len()));
    }
}
