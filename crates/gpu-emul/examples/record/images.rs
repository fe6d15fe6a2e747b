//! The images, their entry points on every grid, and libjpeg-turbo's pixels.
use super::{Result, Settings};
use fdconvert_codec::{Decoder, Encoder, Filter, JpegOptions, Resizer};
use fdconvert_core::{Codec, Encoded, Limits, Pixels};
use fdconvert_gpu::Request;
use fdconvert_jpeg::{EntryPoints, GRIDS_BITS, parse};
use fdconvert_testkit::fixtures::kodak;
use std::{
    path::{Path, PathBuf},
    time::Instant,
};
use xxhash_rust::xxh3::xxh3_128;

/// Images measured together.
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) images: Vec<Image>,
    /// Number of files that libjpeg-turbo cannot decode.
    pub(crate) n_undecodable: usize,
    /// Number of files skipped for lack of time.
    pub(crate) n_left_out: usize,
}

pub(crate) struct Image {
    pub(crate) encoded: Encoded,
    /// By grid; empty if the JPEG cannot have entry points.
    entry_points: [Option<Vec<u8>>; GRIDS_BITS.len()],
    /// Hash of libjpeg-turbo's pixels.
    pub(crate) hash: u128,
}

impl Set {
    fn new(name: String) -> Self {
        Self { name, images: Vec::new(), n_undecodable: 0, n_left_out: 0 }
    }

    /// Returns the total size of the files.
    pub(crate) fn n_bytes(&self) -> usize {
        self.images.iter().map(|image| image.encoded.bytes.len()).sum()
    }

    pub(crate) fn entry_point_bytes(&self, grid: usize) -> usize {
        self.images
            .iter()
            .filter_map(|image| image.entry_points.get(grid)?.as_ref())
            .map(Vec::len)
            .sum()
    }

    /// Returns `n` requests from an image on, wrapping around after the last.
    pub(crate) fn requests(&self, grid: usize, first: usize, n: usize) -> Vec<Request<'_>> {
        let from = first % self.images.len().max(1);
        let images = self.images.iter().cycle().skip(from).take(n);
        images.map(|image| image.request(grid)).collect()
    }

    fn add(&mut self, decoder: &mut Decoder, encoded: Encoded) {
        match decoder.decode("", &encoded, &Limits::DEFAULT) {
            Ok(decoded) => {
                let entry_points = GRIDS_BITS.map(|grid_bits| {
                    let jpeg = parse(&encoded.bytes).ok()?;
                    Some(EntryPoints::build(&jpeg, &encoded.bytes, grid_bits).ok()?.to_bytes())
                });
                let hash = xxh3_128(&decoded.pixels.data);
                self.images.push(Image { encoded, entry_points, hash });
            }
            Err(_) => self.n_undecodable += 1,
        }
    }
}

impl Image {
    fn request(&self, grid: usize) -> Request<'_> {
        let entry_points = self.entry_points.get(grid).and_then(Option::as_deref);
        Request::whole(&self.encoded.bytes, entry_points)
    }
}

/// Loads the folder's images, or makes images of the photographs in the repository.
pub(crate) fn load(settings: &Settings, deadline: Instant) -> Result<Vec<Set>> {
    let sets = match &settings.folder {
        Some(folder) => vec![from_folder(folder, deadline)?],
        None => made(settings)?,
    };
    let has_images = sets.iter().all(|set| !set.images.is_empty());
    if has_images { Ok(sets) } else { Err("there are no images".into()) }
}

fn from_folder(folder: &Path, deadline: Instant) -> Result<Set> {
    // The record must not contain the folder's path.
    let name =
        folder.canonicalize()?.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut set = Set::new(name);
    let mut decoder = Decoder::new();
    for file in jpegs(folder)? {
        if Instant::now() > deadline {
            set.n_left_out += 1;
            continue;
        }
        let bytes = std::fs::read(&file)?;
        let Ok(jpeg) = parse(&bytes) else {
            // Progressive, for example: these kernels do not support it.
            set.n_undecodable += 1;
            continue;
        };
        let (width, height) = (jpeg.width, jpeg.height);
        set.add(&mut decoder, Encoded::new(Codec::Jpeg, width, height, bytes.into()));
    }
    Ok(set)
}

/// Lists the JPEGs below a folder, in order of their names.
fn jpegs(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
            if path.is_dir() {
                folders.push(path);
            } else if extension == "jpg" || extension == "jpeg" {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Makes a set for each side and quality, from a different window of the photographs for each
/// image.
fn made(settings: &Settings) -> Result<Vec<Set>> {
    let mut decoder = Decoder::new();
    let photographs = photographs(&mut decoder)?;
    let mut sets = Vec::new();
    for &side in &settings.sides {
        // Small images are squares, as training crops them; larger ones are photographs.
        let (width, height) = if side <= 256 { (side, side) } else { (side, side * 3 / 4) };
        let windows = (0..settings.images).zip(photographs.iter().cycle());
        let windows: Vec<Pixels> = windows
            .map(|(number, photograph)| window(photograph, number, (width, height)))
            .collect::<Result<_>>()?;
        for quality in [50, 90] {
            let mut set = Set::new(format!("{width}x{height} q{quality}"));
            let options = JpegOptions { quality, ..JpegOptions::default() };
            for pixels in &windows {
                let encoded = Encoder::new().encode("", pixels, Codec::Jpeg, &options, None)?;
                set.add(&mut decoder, encoded);
            }
            sets.push(set);
        }
    }
    Ok(sets)
}

/// Returns the landscape photographs of the repository, in order of their names.
fn photographs(decoder: &mut Decoder) -> Result<Vec<Pixels>> {
    const SIZE: (u32, u32) = (768, 512);
    let entries = std::fs::read_dir(kodak())?;
    let mut files =
        entries.map(|it| it.map(|it| it.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.sort();
    let mut photographs = Vec::new();
    for file in files {
        let bytes = std::fs::read(file)?.into();
        let png = Encoded::new(Codec::Png, SIZE.0, SIZE.1, bytes);
        // The others do not match this declaration.
        photographs.extend(decoder.decode("", &png, &Limits::DEFAULT).map(|it| it.pixels));
    }
    Ok(photographs)
}

/// Returns a part of a photograph, chosen by the number, at a size.
fn window(photograph: &Pixels, number: usize, (width, height): (u32, u32)) -> Result<Pixels> {
    let part_height = photograph.height * 3 / 4 + (number as u32 * 7) % (photograph.height / 4);
    let part_width = (part_height * width / height).min(photograph.width);
    let left = (number as u32 * 13) % (photograph.width - part_width + 1);
    let top = (number as u32 * 5) % (photograph.height - part_height + 1);
    let channels = usize::from(photograph.channels);
    let row_bytes = photograph.width as usize * channels;
    let columns = left as usize * channels..(left + part_width) as usize * channels;
    let rows = photograph.data.chunks_exact(row_bytes).skip(top as usize);
    let rows = rows.take(part_height as usize).filter_map(|row| row.get(columns.clone()));
    let data = rows.collect::<Vec<_>>().concat();
    let part =
        Pixels { width: part_width, height: part_height, data, channels: photograph.channels };
    let mut data = Vec::new();
    Resizer::new().resize("", &part, (width, height), Filter::Area, &mut data)?;
    Ok(Pixels { width, height, channels: photograph.channels, data })
}
