//! Tar files: their names, compression and contents.
use crate::{
    shards::among::Held,
    tar::{Entry, entries, groups, is_header},
};
use bytes::Bytes;
use fdconvert_core::{Codec, Error, MaxDecompressed, Result, option};
use fdconvert_storage::{
    map,
    place::{self, Kind, is_url},
};
#[cfg(feature = "compressed")]
use std::io::Read;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::xxh3_128;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Bytes of a compressed tar to read for detection.
const LOOKED_AT: u64 = 8 << 20;

/// File name suffixes of the supported tars.
const SUFFIXES: [&str; 4] = [".tar", ".tar.gz", ".tgz", ".tar.zst"];

/// Returns true if the file name has a supported suffix.
pub(crate) fn is_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    !name.starts_with(b".") && suffix_len(name).is_some()
}

/// Returns the file name without its tar suffix.
pub(crate) fn stem(path: &Path) -> &str {
    let name = path.file_name().unwrap_or_default();
    let end = name.len() - suffix_len(name.as_encoded_bytes()).unwrap_or(0);
    // A name that is not UTF-8 has no stem.
    name.to_str().and_then(|name| name.get(..end)).unwrap_or_default()
}

fn suffix_len(name: &[u8]) -> Option<usize> {
    let has = |suffix: &str| {
        let start = name.len().checked_sub(suffix.len())?;
        name.get(start..).filter(|end| end.eq_ignore_ascii_case(suffix.as_bytes()))
    };
    SUFFIXES.iter().find_map(|suffix| has(suffix)).map(<[u8]>::len)
}

/// Returns true if a file starts like a tar, compressed or not.
pub(crate) fn starts_as_one(path: &Path) -> bool {
    let start = place::read_start(path, 512).unwrap_or_default();
    is_compressed(&start) || is_header(&start)
}

/// Returns true if a file starts like an uncompressed tar.
pub(crate) fn starts_bare(path: &Path) -> bool {
    is_header(&place::read_start(path, 512).unwrap_or_default())
}

pub(crate) fn is_compressed(start: &[u8]) -> bool {
    start.starts_with(&GZIP) || is_zstd(start)
}

/// zstd has sixteen magic numbers for skippable frames, which pzstd puts at the start.
fn is_zstd(start: &[u8]) -> bool {
    start.starts_with(&ZSTD) || matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Returns true if a tar on a disk is an archived folder of images and not a shard of samples: its
/// images are in folders, and no other file shares the name of an image. Reads all headers (of a
/// compressed tar only those at the start), and stops at the first sign of a sample.
pub(crate) fn is_folder(path: &Path) -> bool {
    if is_url(path) {
        return false;
    }
    let Ok(file) = map(path) else { return false };
    let look = |archive: &[u8], is_cut| match look_at(archive, is_cut) {
        Look { has_images, beside: None, is_flat: false } => has_images,
        _ => false,
    };
    if is_compressed(&file) {
        return start_of(&file).is_some_and(|start| look(&start, true));
    }
    look(&file, false)
}

/// What the names in an archive reveal, up to the first that makes it a shard.
#[derive(Debug, Default)]
pub(crate) struct Look {
    has_images: bool,
    /// True if an image is at the top level.
    is_flat: bool,
    /// A file with the name of an image, or an image with the name of another file.
    pub(crate) beside: Option<Vec<u8>>,
}

/// Checks all names: the files of one sample need not be neighbours.
pub(crate) fn look_at(archive: &[u8], is_cut: bool) -> Look {
    let mut look = Look::default();
    let mut stems = Stems::default();
    for entry in entries(archive) {
        let name = match &entry {
            Ok(entry) => entry.name.strip_prefix(b"./").unwrap_or(&entry.name),
            Err(_) if is_cut => return look,
            Err(_) => return Look::default(),
        };
        let is_shown = |part: &[u8]| !part.starts_with(b".") && !part.starts_with(b"__");
        let dot = name.iter().rposition(|&byte| byte == b'.');
        let Some((stem, extension)) = dot.and_then(|dot| name.split_at_checked(dot)) else {
            continue;
        };
        if !name.split(|&byte| byte == b'/').all(is_shown) {
            continue;
        }
        let extension = std::str::from_utf8(extension).unwrap_or_default();
        let is_image = Codec::from_extension(extension.trim_start_matches('.')).is_some();
        look.has_images |= is_image;
        look.is_flat |= is_image && !name.contains(&b'/');
        if look.is_flat {
            return look;
        }
        if stems.has_beside(stem, is_image) {
            look.beside = Some(name.to_vec());
            return look;
        }
    }
    look
}

/// Lists the tars in a folder, sorted by name.
///
/// # Errors
/// `Io`.
pub(crate) fn in_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_tar = |(path, kind): &(PathBuf, Kind)| is_name(path) && matches!(kind, Kind::File);
    let tars = place::list(folder)?.into_iter().filter(is_tar);
    Ok(tars.map(|(path, _)| path).collect())
}

/// Counts the samples with an image in tars on a disk, up to `enough`. For a compressed tar this
/// extrapolates from its start.
pub(crate) fn held(tars: &[PathBuf], enough: u64) -> Held {
    let mut held = Held::default();
    for path in tars {
        if held.n_samples >= enough {
            break;
        }
        // A tar that cannot be read is an error when it is opened.
        let Ok(file) = map(path) else { continue };
        let enough = enough - held.n_samples;
        let (n_samples, has_more) = match is_compressed(&file) {
            false => samples_in(&file, enough),
            true => {
                let start = start_of(&file).unwrap_or_default();
                let (n_samples, has_more) = samples_in(&start, enough);
                (n_samples * (file.len() as u64 / LOOKED_AT).max(1), has_more)
            }
        };
        held.n_samples += n_samples;
        held.has_more |= has_more;
    }
    held
}

fn samples_in(archive: &[u8], enough: u64) -> (u64, bool) {
    let (mut n_samples, mut has_more) = (0, false);
    for group in groups(archive).map_while(Result::ok) {
        let is_image = |entry: &Entry<'_>| {
            let extension = entry.name.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
            std::str::from_utf8(extension).is_ok_and(|it| Codec::from_extension(it).is_some())
        };
        if group.entries.iter().any(is_image) {
            n_samples += 1;
            has_more |= group.entries.len() > 1;
        }
        if n_samples == enough {
            break;
        }
    }
    (n_samples, has_more)
}

/// Warns about tars beside images that were taken for the dataset.
#[cfg(feature = "folder")]
pub(crate) fn beside_images(folder: &Path) -> Option<String> {
    if is_url(folder) {
        return None;
    }
    let tars = in_folder(folder).ok()?;
    let first = tars.first()?.file_name()?.to_string_lossy().into_owned();
    let enough = 2 * crate::shards::among::MANY;
    let Held { n_samples, has_more } = held(&tars, enough);
    let least = if n_samples < enough { "" } else { "at least " };
    (n_samples > 0 && has_more).then(|| {
        format!(
            "{least}{n_samples} samples in tars ({first}{}) are next to the images and are not read: give a \
             tar, or a folder of them alone, as the source",
            if tars.len() > 1 { format!(" and {} more", tars.len() - 1) } else { String::new() }
        )
    })
}

/// Hashes of file names without extension: an archive may have millions.
#[derive(Default)]
struct Stems {
    /// Whole names, each with whether an image has it.
    whole: BTreeMap<u128, bool>,
    /// The parts before each dot in them, likewise.
    before_dots: BTreeMap<u128, bool>,
}

impl Stems {
    /// Adds a name. Returns whether it equals an earlier one, or one of the two is the part of the
    /// other before a dot, and one of the two is an image.
    fn has_beside(&mut self, stem: &[u8], is_image: bool) -> bool {
        let file = stem.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let dots = stem.iter().enumerate().skip(file).filter(|(_, byte)| **byte == b'.');
        let starts: Vec<u128> = dots.map(|(dot, _)| xxh3_128(&stem[..dot])).collect();
        let whole = xxh3_128(stem);
        let is_one = |known: Option<&bool>| known.is_some_and(|was_image| is_image || *was_image);
        let has = is_one(self.whole.get(&whole))
            || is_one(self.before_dots.get(&whole))
            || starts.iter().any(|start| is_one(self.whole.get(start)));
        *self.whole.entry(whole).or_default() |= is_image;
        for start in starts {
            *self.before_dots.entry(start).or_default() |= is_image;
        }
        has
    }
}

#[cfg(not(feature = "compressed"))]
fn start_of(_: &Bytes) -> Option<Vec<u8>> {
    None
}

/// Decompresses the start of a file.
#[cfg(feature = "compressed")]
fn start_of(file: &Bytes) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    let mut read = |decoder: &mut dyn Read| decoder.take(LOOKED_AT).read_to_end(&mut start);
    let n_read = if file.starts_with(&GZIP) {
        read(&mut Gunzip::new(file))
    } else {
        read(&mut zstd::stream::read::Decoder::with_buffer(&file[..]).ok()?)
    };
    n_read.ok()?;
    Some(start)
}

/// Decompresses a tar into an unnamed file. `budget` is the limit for this tar and those after it.
#[cfg(not(feature = "compressed"))]
pub(crate) fn inflate(path: &Path, _: &Bytes, _: MaxDecompressed, _: &mut u64) -> Result<Bytes> {
    let what = "it is compressed, and this build lacks the feature `compressed`".into();
    Err(Error::Unsupported { format: "tar", path: path.to_path_buf(), what })
}

#[cfg(feature = "compressed")]
pub(crate) fn inflate(
    path: &Path,
    file: &Bytes,
    limit: MaxDecompressed,
    budget: &mut u64,
) -> Result<Bytes> {
    let mut decompress =
        |decoder: &mut dyn Read| decompress(path, file.len() as u64, decoder, limit, budget);
    if file.starts_with(&GZIP) {
        return decompress(&mut Gunzip::new(file));
    }
    let decoder = zstd::stream::read::Decoder::with_buffer(&file[..]);
    decompress(&mut decoder.map_err(Error::io("decompress", path))?)
}

/// All members of a gzip file, up to the zeros that pad a tape or a block, as `gzip` reads it.
#[cfg(feature = "compressed")]
struct Gunzip<'a>(Option<flate2::bufread::GzDecoder<&'a [u8]>>);

#[cfg(feature = "compressed")]
impl<'a> Gunzip<'a> {
    fn new(file: &'a [u8]) -> Self {
        Self(Some(flate2::bufread::GzDecoder::new(file)))
    }
}

#[cfg(feature = "compressed")]
impl Read for Gunzip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let n_read = member.read(buffer)?;
            if n_read > 0 || buffer.is_empty() {
                return Ok(n_read);
            }
            let rest = self.0.take().map_or(&[][..], |member| member.into_inner());
            if rest.iter().any(|byte| *byte != 0) {
                self.0 = Some(flate2::bufread::GzDecoder::new(rest));
            }
        }
        Ok(0)
    }
}

#[cfg(feature = "compressed")]
fn decompress(
    path: &Path,
    stored: u64,
    decoder: &mut dyn Read,
    limit: MaxDecompressed,
    budget: &mut u64,
) -> Result<Bytes> {
    let most = limit.of(stored).min(*budget);
    let mut len = 0_u64;
    let archive = fdconvert_storage::spill(|buffer| {
        let n_read = decoder.read(buffer).map_err(|cause| {
            Error::corrupt("tar", path, len, format!("cannot be decompressed: {cause}"))
        })?;
        len += n_read as u64;
        if len > most { Err(over(path, stored, len, limit)) } else { Ok(n_read) }
    })?;
    *budget -= len;
    Ok(archive)
}

#[cfg(feature = "compressed")]
fn over(path: &Path, stored: u64, len: u64, limit: MaxDecompressed) -> Error {
    if len > limit.of(stored) {
        return limit.refuse(path, stored, len);
    }
    Error::Limit {
        what: format!(
            "the decompressed size of {} and the tars before it, which can also be decompressed \
             to files first,",
            path.display()
        ),
        asked: limit.total().saturating_add(1),
        most: limit.total(),
        option: option::MAX_DECOMPRESSED,
    }
}
