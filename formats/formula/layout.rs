//! Encoding and decoding of a file's bytes. See SPEC.md.

use fdconvert_core::{Error, Provenance, Result};
use fdconvert_fractal::{
    Category, Draw, Formula, Frame, LineClass, LineFamily, Sampler, Shape, System,
};
use serde::{Deserialize, Serialize};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128;

pub(crate) const FORMAT: &str = "formula";
pub(crate) const MAGIC: &[u8; 8] = b"FDFORMUL";
pub(crate) const END: &[u8; 8] = b"LUMROFDF";
pub(crate) const MAX_FILE_BYTES: u64 = 4 << 30;
pub(crate) const MAX_PROBES: usize = 64;

const MAX_HEADER_BYTES: usize = 16 << 20;
const PREFIX_BYTES: usize = 24;
const PROBE_BYTES: usize = 24;
const CHECKSUM_BYTES: usize = 16;
const TRAILER_BYTES: usize = CHECKSUM_BYTES + END.len();

/// Version of files with fractals of the plane and with figures; that of three-dimensional fractals
/// follows.
const VERSION: u32 = 1;
const SPACE_VERSION: u32 = 2;

const SYSTEM: u8 = 1;
const LINES: u8 = 2;
const SPACE_SYSTEM: u8 = 3;

/// Returns the version for the file of a formula: the first that supports all its features.
pub(crate) fn version(formula: &Formula) -> u32 {
    if formula.has_views() { SPACE_VERSION } else { VERSION }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Contents {
    pub(crate) formula: Formula,
    pub(crate) provenance: Provenance,
    pub(crate) probes: Vec<Probe>,
}

/// A sample's number and the hash of its pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) index: u64,
    pub(crate) hash: u128,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    family: String,
    classes: usize,
    probes: usize,
    size: u32,
    pad: u32,
    points: u32,
    draw: String,
    sampler: String,
    weight: Option<f64>,
    patches: u32,
    flips: bool,
    seed: u64,
    min_fill: f64,
    varies: bool,
    /// Present from version 2 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<f64>,
    provenance: Provenance,
}

/// Encodes a file.
///
/// # Errors
/// `Usage` for names that are too long.
pub(crate) fn to_bytes(contents: &Contents) -> Result<Vec<u8>> {
    let formula = &contents.formula;
    let header = Header {
        family: formula.family.clone(),
        classes: formula.categories.len(),
        probes: contents.probes.len(),
        size: formula.frame.size(),
        pad: formula.frame.pad(),
        points: formula.frame.points(),
        draw: formula.draw.name().into(),
        sampler: formula.sampler.name().into(),
        weight: formula.weight,
        patches: formula.patches,
        flips: formula.flips,
        seed: formula.seed,
        min_fill: formula.min_fill,
        varies: formula.varies,
        turn: formula.has_views().then_some(formula.turn),
        provenance: contents.provenance.clone(),
    };
    let refuse = |what: String| Error::usage("formula", what);
    let header = serde_json::to_vec(&header).map_err(|cause| refuse(cause.to_string()))?;
    if header.len() > MAX_HEADER_BYTES {
        return Err(refuse("the record of how it was made is too long".into()));
    }
    let mut body = Vec::new();
    for category in &formula.categories {
        put_category(&mut body, category)?;
    }
    let mut bytes = Vec::with_capacity(PREFIX_BYTES + header.len() + body.len() + TRAILER_BYTES);
    bytes.extend(MAGIC);
    bytes.extend(version(formula).to_le_bytes());
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(header);
    bytes.extend(body);
    for probe in &contents.probes {
        bytes.extend(probe.index.to_le_bytes());
        bytes.extend(probe.hash.to_le_bytes());
    }
    bytes.extend(xxh3_128(&bytes).to_le_bytes());
    bytes.extend(END);
    Ok(bytes)
}

fn put_category(out: &mut Vec<u8>, category: &Category) -> Result<()> {
    let too_long = |_| Error::usage("category", "a name is longer than 65,535 bytes");
    let name = category.name.as_bytes();
    out.push(kind(&category.shape));
    out.extend(u16::try_from(name.len()).map_err(too_long)?.to_le_bytes());
    out.extend(name);
    match &category.shape {
        Shape::Ifs(system) => put_system(out, system),
        Shape::Space(system) => put_system(out, system),
        Shape::Lines(class) => {
            let family = class.family().name().as_bytes();
            let params = class.params();
            out.push(family.len() as u8);
            out.extend(family);
            out.push(params.len() as u8);
            for (name, value) in params {
                out.push(name.len() as u8);
                out.extend(name.as_bytes());
                out.extend(value.to_le_bytes());
            }
        }
    }
    Ok(())
}

fn kind(shape: &Shape) -> u8 {
    match shape {
        Shape::Ifs(_) => SYSTEM,
        Shape::Lines(_) => LINES,
        Shape::Space(_) => SPACE_SYSTEM,
    }
}

fn put_system<const N: usize>(out: &mut Vec<u8>, system: &System<N>) {
    out.push(system.maps().len() as u8);
    for (map, probability) in system.maps().iter().zip(system.probabilities()) {
        out.extend(map.map(f64::to_le_bytes).as_flattened());
        out.extend(probability.to_le_bytes());
    }
}

/// Decodes a file. `path` is for messages.
///
/// # Errors
/// `Corrupt`, `Version`, or `Unsupported` for names of a later release.
pub(crate) fn from_bytes(bytes: &[u8], path: &Path) -> Result<Contents> {
    let corrupt = |at: usize, what: String| Error::corrupt(FORMAT, path, at as u64, what);
    let mut cursor = Cursor { bytes, at: 0, path };
    if cursor.array::<8>("the magic")? != *MAGIC {
        return Err(corrupt(0, "it does not begin with FDFORMUL".into()));
    }
    let version = cursor.u32("the version")?;
    if !matches!(version, VERSION | SPACE_VERSION) {
        let (path, found) = (path.to_owned(), version.into());
        return Err(Error::Version { format: FORMAT, path, found, supported: "1 and 2" });
    }
    // The checksum first: any later fault is then the writer's, not the disk's.
    let end = bytes.len().checked_sub(TRAILER_BYTES).filter(|end| *end >= PREFIX_BYTES);
    let end = end.ok_or_else(|| corrupt(bytes.len(), "the file ends too early".into()))?;
    let (content, trailer) = bytes.split_at(end);
    let (checksum, mark) = trailer.split_at(CHECKSUM_BYTES);
    if mark != END {
        return Err(corrupt(end + CHECKSUM_BYTES, "the end mark is missing: cut short?".into()));
    }
    if checksum != xxh3_128(content).to_le_bytes() {
        return Err(corrupt(end, "the checksum is wrong: the file was changed".into()));
    }
    cursor.bytes = content;
    let header_len = cursor.u32("the length of the header")? as usize;
    let body_len = cursor.u64("the length of the categories")?;
    if header_len > MAX_HEADER_BYTES {
        return Err(corrupt(12, format!("a header of {header_len} bytes")));
    }
    let header_at = cursor.at;
    let header = cursor.take(header_len, "the header")?;
    let header: Header = serde_json::from_slice(header)
        .map_err(|cause| corrupt(header_at, format!("the header: {cause}")))?;
    let body_at = cursor.at;
    let categories = categories(&mut cursor, &header)?;
    if (cursor.at - body_at) as u64 != body_len {
        let what = format!("the categories take {} bytes, not {body_len}", cursor.at - body_at);
        return Err(corrupt(16, what));
    }
    let probes = probes(&mut cursor, &header)?;
    if cursor.at != content.len() {
        return Err(corrupt(cursor.at, format!("{} bytes too many", content.len() - cursor.at)));
    }
    let provenance = header.provenance.clone();
    let formula = formula(header, categories, path)
        .map_err(|cause| corrupt(header_at, format!("the header: {cause}")))?;
    if version != self::version(&formula) {
        let what =
            format!("version {version} does not go with the sampler {}", formula.sampler.name());
        return Err(corrupt(8, what));
    }
    if let Some(probe) = probes.iter().find(|probe| probe.index >= formula.len()) {
        let what = format!("a probe of image {} of {}", probe.index, formula.len());
        return Err(corrupt(content.len(), what));
    }
    Ok(Contents { formula, provenance, probes })
}

fn categories(cursor: &mut Cursor<'_>, header: &Header) -> Result<Vec<Category>> {
    // The shortest has 68 bytes, so that a wrong count cannot allocate more memory than a few
    // files.
    let n_bytes = cursor.bytes.len() - cursor.at;
    if header.classes > Formula::MAX_CLASSES || header.classes > n_bytes / 4 {
        return Err(cursor.corrupt(format!("{} categories in {n_bytes} bytes", header.classes)));
    }
    let of = |category: &Category| kind(&category.shape);
    let categories: Vec<_> =
        (0..header.classes).map(|_| cursor.category()).collect::<Result<_>>()?;
    if categories.windows(2).any(|pair| pair.first().map(of) != pair.last().map(of)) {
        return Err(cursor.corrupt("categories of several kinds in one file".into()));
    }
    Ok(categories)
}

fn probes(cursor: &mut Cursor<'_>, header: &Header) -> Result<Vec<Probe>> {
    let n_bytes = cursor.bytes.len() - cursor.at;
    if header.probes > MAX_PROBES || header.probes * PROBE_BYTES != n_bytes {
        return Err(cursor.corrupt(format!("{} probes in {n_bytes} bytes", header.probes)));
    }
    let mut probe = || -> Result<Probe> {
        let index = cursor.u64("a probe")?;
        Ok(Probe { index, hash: u128::from_le_bytes(cursor.array("a probe")?) })
    };
    (0..header.probes).map(|_| probe()).collect()
}

fn formula(header: Header, categories: Vec<Category>, path: &Path) -> Result<Formula> {
    let unknown = |what: &str, name: &str| {
        let what = format!("the {what} `{name}` is not of this release");
        Error::Unsupported { format: FORMAT, path: path.to_owned(), what: what.into() }
    };
    let sampler =
        Sampler::from_name(&header.sampler).ok_or_else(|| unknown("sampler", &header.sampler))?;
    if header.turn.is_some() != (sampler == Sampler::MvFractaldbV1) {
        return Err(Error::usage("turn", "it belongs to mv-fractaldb-v1, and to no other sampler"));
    }
    let formula = Formula {
        categories,
        frame: Frame::new(header.size, header.pad, header.points)?,
        draw: Draw::from_name(&header.draw).ok_or_else(|| unknown("draw", &header.draw))?,
        sampler,
        turn: header.turn.unwrap_or_default(),
        family: header.family,
        weight: header.weight,
        patches: header.patches,
        flips: header.flips,
        seed: header.seed,
        min_fill: header.min_fill,
        varies: header.varies,
    };
    formula.check()?;
    Ok(formula)
}

/// Reads a file from front to back, never beyond its end.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    path: &'a Path,
}

impl<'a> Cursor<'a> {
    fn corrupt(&self, what: String) -> Error {
        Error::corrupt(FORMAT, self.path, self.at as u64, what)
    }

    fn take(&mut self, n_bytes: usize, what: &str) -> Result<&'a [u8]> {
        let left = self.bytes.get(self.at..).unwrap_or_default();
        let taken = left.get(..n_bytes);
        let taken = taken.ok_or_else(|| {
            self.corrupt(format!("{what}: {n_bytes} bytes, and {} are left", left.len()))
        })?;
        self.at += n_bytes;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let taken = self.take(N, what)?;
        taken.first_chunk().copied().ok_or_else(|| self.corrupt(what.to_owned()))
    }

    fn u8(&mut self, what: &str) -> Result<u8> {
        self.array(what).map(u8::from_le_bytes)
    }

    fn u32(&mut self, what: &str) -> Result<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    fn u64(&mut self, what: &str) -> Result<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    fn f64(&mut self, what: &str) -> Result<f64> {
        self.array(what).map(f64::from_le_bytes)
    }

    fn text(&mut self, n_bytes: usize, what: &str) -> Result<&'a str> {
        let text = self.take(n_bytes, what)?;
        std::str::from_utf8(text).map_err(|cause| self.corrupt(format!("{what}: {cause}")))
    }

    fn category(&mut self) -> Result<Category> {
        let kind = self.u8("a category")?;
        let name_len = u16::from_le_bytes(self.array("the name of a category")?);
        let name = self.text(name_len.into(), "the name of a category")?.to_owned();
        if name.is_empty() || name.contains(['/', '\0']) || matches!(name.as_str(), "." | "..") {
            return Err(self.corrupt(format!("a category of the name `{name}`")));
        }
        let shape = match kind {
            SYSTEM => Shape::Ifs(self.system()?),
            SPACE_SYSTEM => Shape::Space(self.system()?),
            LINES => Shape::Lines(self.lines()?),
            _ => return Err(self.corrupt(format!("a category of kind {kind}"))),
        };
        Ok(Category { name, shape })
    }

    fn system<const N: usize>(&mut self) -> Result<System<N>> {
        let n_maps = self.u8("the maps of a category")?;
        let (mut maps, mut probabilities) = (Vec::new(), Vec::new());
        for _ in 0..n_maps {
            let mut map = [0.0; N];
            for value in &mut map {
                *value = self.f64("a map")?;
            }
            maps.push(map);
            probabilities.push(self.f64("a map")?);
        }
        System::new(maps, probabilities).map_err(|cause| self.corrupt(cause.to_string()))
    }

    fn lines(&mut self) -> Result<LineClass> {
        let len = self.u8("the family of a category")?;
        let family = self.text(len.into(), "the family of a category")?;
        let family = LineFamily::from_name(family)
            .ok_or_else(|| self.corrupt(format!("a category of the family `{family}`")))?;
        let n_params = self.u8("the numbers of a category")?;
        let mut params = Vec::new();
        for _ in 0..n_params {
            let len = self.u8("the name of a number")?;
            let name = self.text(len.into(), "the name of a number")?;
            params.push((name, self.f64("a number")?));
        }
        LineClass::from_params(family, &params).map_err(|cause| self.corrupt(cause.to_string()))
    }
}
