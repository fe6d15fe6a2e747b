//! Finishes a shard: table, hashes, compression.
#[cfg(not(feature = "compressed"))]
use super::layout::FORMAT;
use crate::mds::{
    hash::Hashes,
    layout::{FileInfo, config_offset},
};
use fdconvert_core::{Error, Result};
use fdconvert_storage::{Scratch, partial_path};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3Default;
#[cfg(feature = "compressed")]
use {super::layout::ZSTD_LEVEL, std::io::Write as _};

const BLOCK_BYTES: u64 = 1 << 20;

/// A complete shard that still needs its final name.
pub(crate) struct Sealed {
    pub(crate) file: Scratch,
    pub(crate) raw_data: FileInfo,
    pub(crate) zip_data: Option<FileInfo>,
    /// XXH3 of the file.
    pub(crate) xxh3: u64,
}

/// Checksums of an uncompressed shard.
pub(crate) struct Sums {
    hashes: Hashes,
    xxh3: Xxh3Default,
}

impl Sums {
    fn new(hashes: &[String]) -> Self {
        Self { hashes: Hashes::new(hashes), xxh3: Xxh3Default::new() }
    }

    fn update(&mut self, block: &[u8]) {
        self.hashes.update(block);
        self.xxh3.update(block);
    }
}

/// Moves the samples, which start at `from`, to their final place now that their number is known,
/// and writes everything before them. `ends` begins with 0. Moving reads the whole shard, so it
/// then also returns the checksums, by these `hashes`, if wanted.
pub(crate) fn write_header(
    raw: &Scratch,
    from: u64,
    config: &[u8],
    ends: &[u64],
    hashes: Option<&[String]>,
) -> Result<Option<Sums>> {
    let n_samples = ends.len() as u64 - 1;
    // Below 4 GiB: every sample was checked with the planned, larger table.
    let to = config_offset(n_samples).unwrap_or(0) + config.len() as u64;
    let n_bytes = ends.last().copied().unwrap_or(0);
    let word = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let mut header = Vec::with_capacity(to as usize);
    header.extend_from_slice(&word(n_samples));
    ends.iter().for_each(|end| header.extend_from_slice(&word(to + end)));
    header.extend_from_slice(config);
    let mut sums = hashes.filter(|_| to < from).map(Sums::new);
    if let Some(sums) = &mut sums {
        sums.update(&header);
    }
    if to < from {
        let mut block = Vec::new();
        let mut done = 0;
        // Moves block by block to lower offsets: everything is read before it is overwritten.
        while done < n_bytes {
            let len = (n_bytes - done).min(BLOCK_BYTES);
            block.resize(len as usize, 0);
            raw.read_exact_at(&mut block, from + done)?;
            if let Some(sums) = &mut sums {
                sums.update(&block);
            }
            raw.write_all_at(&block, to + done)?;
            done += len;
        }
        raw.set_len(to + n_bytes)?;
    }
    raw.write_all_at(&header, 0)?;
    Ok(sums)
}

/// Reads the shard once, hashes it, and compresses it if there is a path for the result. An
/// uncompressed shard with known checksums is not read.
pub(crate) fn seal(
    raw: Scratch,
    sums: Option<Sums>,
    hashes: &[String],
    raw_name: String,
    zip: Option<(PathBuf, String)>,
    claimed: bool,
    fingerprint: [u8; 16],
) -> Result<Sealed> {
    let len = raw.size()?;
    let Some((zip_path, zip_name)) = zip else {
        let sums = match sums {
            Some(sums) => sums,
            None => {
                let mut sums = Sums::new(hashes);
                raw.each_block(|block| {
                    sums.update(block);
                    Ok(())
                })?;
                sums
            }
        };
        let raw_data = FileInfo { basename: raw_name, bytes: len, hashes: sums.hashes.finish() };
        return Ok(Sealed { file: raw, raw_data, zip_data: None, xxh3: sums.xxh3.digest() });
    };
    let mut raw_hashes = Hashes::new(hashes);
    let mut xxh3 = Xxh3Default::new();
    let file = Scratch::start(&partial_path(&zip_path), claimed)?.marked(fingerprint);
    let mut zip_hashes = Hashes::new(hashes);
    let mut zip_bytes = 0;
    let mut drain = |compressed: &mut Vec<u8>| {
        zip_hashes.update(compressed);
        xxh3.update(compressed);
        file.write_all_at(compressed, zip_bytes)?;
        zip_bytes += compressed.len() as u64;
        compressed.clear();
        Ok(())
    };
    compress(&raw, &zip_path, &mut raw_hashes, &mut drain)?;
    let raw_data = FileInfo { basename: raw_name, bytes: len, hashes: raw_hashes.finish() };
    let hashes = zip_hashes.finish();
    let zip_data = Some(FileInfo { basename: zip_name, bytes: zip_bytes, hashes });
    Ok(Sealed { file, raw_data, zip_data, xxh3: xxh3.digest() })
}

/// Compresses a shard, passes on the pieces, and hashes the raw bytes.
#[cfg(feature = "compressed")]
fn compress(
    raw: &Scratch,
    zip_path: &Path,
    hashes: &mut Hashes,
    drain: &mut dyn FnMut(&mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let failed = || Error::io("compress", zip_path);
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), ZSTD_LEVEL).map_err(failed())?;
    // Streaming's decoder needs the size.
    encoder.set_pledged_src_size(Some(raw.size()?)).map_err(failed())?;
    encoder.include_contentsize(true).map_err(failed())?;
    raw.each_block(|block| {
        hashes.update(block);
        encoder.write_all(block).map_err(failed())?;
        drain(encoder.get_mut())
    })?;
    drain(&mut encoder.finish().map_err(failed())?)
}

/// Unreachable: the option has been refused.
#[cfg(not(feature = "compressed"))]
fn compress(
    _: &Scratch,
    zip_path: &Path,
    _: &mut Hashes,
    _: &mut dyn FnMut(&mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let what = "this build lacks the feature `compressed`".into();
    Err(Error::Unsupported { format: FORMAT, path: zip_path.to_owned(), what })
}
