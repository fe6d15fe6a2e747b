//! The plan file (`.fdplan`), version 4: with it, several runs write one dataset together.
//!
//! ```text
//! 0    8   magic: 46 44 50 4C 41 4E 0D 0A ("FDPLAN\r\n")
//! 8    4   version: 4
//! 12   4   reserved: 0
//! 16   8   body_len: bytes of the body before compression
//! 24   8   XXH3 (64 bits, seed 0) of the body before compression
//! 32       the body as one Zstandard frame, up to the end of the file
//! ```
//!
//! All integers are little endian. The body is a sequence of records in the encoding of bincode 2
//! with integers of fixed width: the head ([`Head`]), the order (a list of the index in the source
//! of every planned sample; empty for all of the source in its order), the mixture (a list of words
//! with a bit for every planned sample, the lowest of the first word for the first, set if its
//! image becomes BMP; empty if the policy is no mixture), and the listing of each source (bytes in
//! the source's form that avoid listing it again; empty for none).
use crate::{Plan, Positions, own_splits::is_part_of_file_name};
use bincode::{
    config::Config,
    error::{DecodeError, EncodeError},
};
use bytes::Bytes;
use fdconvert_core::{Common, Error, Ignored, Result, Schema, Shard, bytes::u64_at, option};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{self, BufReader, BufWriter, Read, Write},
};
use xxhash_rust::xxh3::Xxh3Default;

const MAGIC: &[u8; 8] = b"FDPLAN\r\n";
const VERSION: u32 = 4;
const HEADER_BYTES: usize = 32;
/// Limit on the whole body: a hundred million samples take four gigabytes.
const MAX_BODY_BYTES: usize = 64 << 30;
/// Limit on a text, which may be allocated before it is read.
const MAX_HEAD_BYTES: usize = 1 << 30;
const FORMAT: &str = "plan";
/// Compression level: names compress well, and more effort gains little.
const ZSTD_LEVEL: i32 = 3;

/// Plan, with everything that other runs need for it.
///
/// `O` is the type of a program's further options.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanFile<O> {
    /// Options that affect the bytes and are not part of the plan: formats, policies.
    pub options: O,
    /// Sources of the samples, in order.
    pub sources: Vec<PlannedSource>,
    /// Order, shards, and what the samples have in common.
    pub plan: Plan,
}

/// Source at the time of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedSource {
    /// Its path, as given.
    pub path: String,
    /// Fingerprint: a different one means that the source has changed since.
    pub fingerprint: [u8; 16],
    /// Number of samples.
    pub n_samples: u64,
    /// Its fields.
    #[serde(with = "json")]
    pub schema: Schema,
    /// Listing, which avoids listing the source again.
    #[serde(skip)]
    pub listing: Option<Bytes>,
    /// Contents that are not samples.
    #[serde(with = "json")]
    pub left_out: Ignored,
}

/// The small parts. Values with optional fields are JSON in a text.
#[derive(Serialize, Deserialize)]
struct Head<'a> {
    #[serde(with = "json")]
    options: serde_json::Value,
    sources: Cow<'a, [PlannedSource]>,
    shards: Cow<'a, [Shard]>,
    #[serde(with = "json")]
    common: Common,
}

/// Encodes a value as JSON in a text.
mod json {
    use serde::{
        Deserialize, Deserializer, Serialize, Serializer,
        de::{DeserializeOwned, Error as _},
        ser::Error as _,
    };

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        value: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(value).map_err(S::Error::custom)?;
        to.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        serde_json::from_str(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl<O: Serialize + DeserializeOwned> PlanFile<O> {
    /// Writes the file; equal plans give equal bytes. Only a small part is in memory: the body is
    /// encoded twice, because its length and hash come before it.
    ///
    /// # Errors
    /// `Io` if `file` cannot be written, or compression fails.
    pub fn write_to(&self, file: impl Write) -> Result<()> {
        let failed = |cause| Error::io("write", "the plan")(cause);
        let mut measured = Counted { inner: io::sink(), hash: Xxh3Default::new(), len: 0 };
        self.write_body(&mut BufWriter::new(&mut measured)).map_err(failed)?;
        let header = [
            &MAGIC[..],
            &VERSION.to_le_bytes(),
            &0_u32.to_le_bytes(),
            &measured.len.to_le_bytes(),
            &measured.hash.digest().to_le_bytes(),
        ];
        self.write_frame(file, &header.concat()).map_err(failed)
    }

    fn write_frame(&self, mut file: impl Write, header: &[u8]) -> io::Result<()> {
        file.write_all(header)?;
        let mut body = BufWriter::new(zstd::Encoder::new(file, ZSTD_LEVEL)?);
        self.write_body(&mut body)?;
        let encoder = body.into_inner().map_err(io::IntoInnerError::into_error)?;
        encoder.finish()?.flush()
    }

    fn write_body(&self, body: &mut impl Write) -> io::Result<()> {
        let head = Head {
            options: serde_json::to_value(&self.options)?,
            sources: Cow::Borrowed(&self.sources),
            shards: Cow::Borrowed(&self.plan.shards),
            common: self.plan.common.clone(),
        };
        write_record(&head, body)?;
        write_record(self.plan.order.as_deref().unwrap_or_default(), body)?;
        write_record(self.plan.bmp.as_ref().map_or(&[][..], Positions::words), body)?;
        for source in &self.sources {
            let listing = source.listing.as_deref().unwrap_or_default();
            body.write_all(&(listing.len() as u64).to_le_bytes())?;
            body.write_all(listing)?;
        }
        Ok(())
    }

    /// Parses a plan; messages call it `name`. `keep` reads the listings, each of which may be
    /// larger than memory.
    ///
    /// # Errors
    /// `Version` for another version, `Corrupt` for anything that is not as specified, `Usage` for
    /// options that do not fit `O`; the errors of `keep`.
    pub fn parse(
        bytes: &[u8],
        name: &str,
        keep: impl Fn(&mut dyn Read) -> Result<Bytes>,
    ) -> Result<Self> {
        let corrupt = |what: String| Error::corrupt(FORMAT, name, 0, what);
        let word = |at| u64_at(bytes, at).ok_or_else(|| corrupt("it has no whole header".into()));
        if bytes.get(..8) != Some(MAGIC) {
            return Err(corrupt("it does not start as a plan does".into()));
        }
        let version = word(8)?;
        if version != u64::from(VERSION) {
            let path = name.into();
            return Err(Error::Version { format: FORMAT, path, found: version, supported: "4" });
        }
        let (len, hash) = (word(16)?, word(24)?);
        if len > MAX_BODY_BYTES as u64 {
            return Err(corrupt(format!("a body of {len} bytes is too large")));
        }
        let frame = bytes.get(HEADER_BYTES..).unwrap_or_default();
        let failed = |cause: io::Error| corrupt(format!("its body cannot be read: {cause}"));
        let decoder = zstd::Decoder::new(frame).map_err(failed)?;
        let body = Counted { inner: decoder.take(len), hash: Xxh3Default::new(), len: 0 };
        let mut body = BufReader::new(body);
        let file = PlanFile::read_body(&mut body, len, &keep).map_err(|error| match error {
            Unread::Body(cause) => failed(cause),
            Unread::Kept(error) => error,
        })?;
        let is_read = body.buffer().is_empty();
        let body = body.into_inner();
        if !is_read || body.len != len || body.hash.digest() != hash {
            return Err(corrupt("its body does not match its checksum".into()));
        }
        file.check().map_err(corrupt)?;
        let PlanFile { options, sources, plan } = file;
        let options = O::deserialize(options).map_err(|cause| {
            let what = format!("{name} has options that this version does not know: {cause}");
            Error::usage(option::PLAN, what)
        })?;
        Ok(Self { options, sources, plan })
    }
}

impl PlanFile<serde_json::Value> {
    fn read_body(body: &mut impl Read, len: u64, keep: Keep<'_>) -> Result<Self, Unread> {
        let head: Head<'_> = read_record::<MAX_HEAD_BYTES, _>(body)?;
        let order: Vec<u64> = read_record::<MAX_BODY_BYTES, _>(body)?;
        let words: Vec<u64> = read_record::<MAX_BODY_BYTES, _>(body)?;
        let mut sources = head.sources.into_owned();
        for source in &mut sources {
            let listing = read_kept(body, len, keep)?;
            source.listing = (!listing.is_empty()).then_some(listing);
        }
        let plan = Plan {
            order: (!order.is_empty()).then_some(order),
            shards: head.shards.into_owned(),
            common: head.common,
            bmp: (!words.is_empty()).then(|| Positions::from_words(words)),
            unreadable: BTreeMap::new(),
        };
        Ok(Self { options: head.options, sources, plan })
    }

    /// Checks that shards follow each other without gaps and contain samples that the sources have.
    fn check(&self) -> Result<(), String> {
        let n_samples = self
            .sources
            .iter()
            .try_fold(0_u64, |sum, source| sum.checked_add(source.n_samples))
            .ok_or("its sources have too many samples")?;
        let mut end = 0;
        for shard in &self.plan.shards {
            if !is_part_of_file_name(&shard.split) {
                return Err(format!("its split `{}` is not part of a file name", shard.split));
            }
            if shard.samples.start != end || shard.samples.end <= end {
                return Err(format!("its shards do not follow each other at sample {end}"));
            }
            end = shard.samples.end;
        }
        let planned = self.plan.order.as_ref().map_or(n_samples, |order| order.len() as u64);
        if end != planned {
            return Err(format!("its shards hold {end} samples, its order {planned}"));
        }
        if let Some(bmp) = &self.plan.bmp
            && bmp.words().len() as u64 != planned.div_ceil(64)
        {
            return Err(format!("its mixture is not of {planned} samples"));
        }
        let mut order = self.plan.order.iter().flatten();
        match order.find(|index| **index >= n_samples) {
            Some(index) => Err(format!("it names sample {index} of {n_samples}")),
            None => Ok(()),
        }
    }
}

type Keep<'a> = &'a dyn Fn(&mut dyn Read) -> Result<Bytes>;

/// The reason why a body was not read.
enum Unread {
    /// The body is not as specified.
    Body(io::Error),
    /// A listing could not be kept.
    Kept(Error),
}

impl From<io::Error> for Unread {
    fn from(cause: io::Error) -> Self {
        Self::Body(cause)
    }
}

/// Parses a length and that many bytes, which `keep` reads.
fn read_kept(from: &mut impl Read, limit: u64, keep: Keep<'_>) -> Result<Bytes, Unread> {
    let mut word = [0; 8];
    from.read_exact(&mut word)?;
    let len = u64::from_le_bytes(word);
    if len > limit {
        return Err(Unread::Body(io::Error::other(format!("a length of {len} is out of bounds"))));
    }
    let mut part = Failing { inner: from.by_ref().take(len), failure: None };
    let kept = keep(&mut part);
    // A body that cannot be read is damaged, whichever part notices it.
    if let Some(cause) = part.failure {
        return Err(Unread::Body(cause));
    }
    let kept = kept.map_err(Unread::Kept)?;
    if kept.len() as u64 != len {
        return Err(Unread::Body(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(kept)
}

/// Remembers the error of a read.
struct Failing<I> {
    inner: I,
    failure: Option<io::Error>,
}

impl<I: Read> Read for Failing<I> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.inner.read(bytes).map_err(|cause| {
            let told = io::Error::new(cause.kind(), cause.to_string());
            self.failure = Some(cause);
            told
        })
    }
}

/// Returns the encoding of records of at most `MAX` bytes.
fn encoding<const MAX: usize>() -> impl Config {
    bincode::config::standard().with_fixed_int_encoding().with_limit::<MAX>()
}

fn write_record<T: Serialize + ?Sized>(record: &T, to: &mut impl Write) -> io::Result<()> {
    match bincode::serde::encode_into_std_write(record, to, encoding::<MAX_BODY_BYTES>()) {
        Ok(_) => Ok(()),
        Err(EncodeError::Io { inner, .. }) => Err(inner),
        Err(cause) => Err(io::Error::other(cause)),
    }
}

fn read_record<const MAX: usize, T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    match bincode::serde::decode_from_std_read(from, encoding::<MAX>()) {
        Ok(record) => Ok(record),
        Err(DecodeError::Io { inner, .. }) => Err(inner),
        Err(cause) => Err(io::Error::other(cause)),
    }
}

/// Counts and hashes the bytes that pass through.
struct Counted<I> {
    inner: I,
    hash: Xxh3Default,
    len: u64,
}

impl<I: Write> Write for Counted<I> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.hash.update(bytes.get(..n).unwrap_or_default());
        self.len += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<I: Read> Read for Counted<I> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(bytes)?;
        self.hash.update(bytes.get(..n).unwrap_or_default());
        self.len += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fdconvert_core::{Codec, FieldSpec, Kind};

    type PlanFile = super::PlanFile<serde_json::Value>;

    fn sample() -> PlanFile {
        let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image)]).unwrap();
        let source = |n_samples, listing: Option<&[u8]>| PlannedSource {
            path: "images".into(),
            fingerprint: [7; 16],
            n_samples,
            schema: schema.clone(),
            listing: listing.map(Bytes::copy_from_slice),
            left_out: Ignored::default(),
        };
        let shard = |number, samples| Shard { number, of: 2, samples, split: "train".into() };
        PlanFile {
            options: serde_json::json!({"jpeg_quality": 90}),
            sources: vec![source(3, Some(b"a listing")), source(2, None)],
            plan: Plan {
                order: Some(vec![4, 0, 2]),
                shards: vec![shard(0, 0..2), shard(1, 2..3)],
                common: Common {
                    codec: Some(Codec::Jpeg),
                    extension: None,
                    distinct_stems: true,
                    members: vec![None, Some("txt".into())],
                    whole_images: vec![1],
                },
                bmp: Some(Positions::from_words(vec![0b101])),
                unreadable: BTreeMap::new(),
            },
        }
    }

    fn to_bytes(file: &PlanFile) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.write_to(&mut bytes).unwrap();
        bytes
    }

    fn parse(bytes: &[u8]) -> Result<PlanFile> {
        PlanFile::parse(bytes, "p", |listing| {
            let mut bytes = Vec::new();
            listing.read_to_end(&mut bytes).map_err(Error::io("read", "p"))?;
            Ok(bytes.into())
        })
    }

    #[test]
    fn comes_back_as_it_was() {
        let file = sample();
        let bytes = to_bytes(&file);
        assert_eq!(parse(&bytes).unwrap(), file);
        assert_eq!(bytes, to_bytes(&file));
    }

    #[test]
    fn damage_is_an_error_whatever_is_cut_or_flipped() {
        let bytes = to_bytes(&sample());
        for len in 0..bytes.len() {
            assert!(parse(&bytes[..len]).is_err(), "cut at {len}");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                // The Zstandard frame has bits without meaning; then the plan is the same.
                if let Ok(file) = parse(&flipped) {
                    assert_eq!(file, sample(), "byte {at}, bit {bit}");
                }
            }
        }
    }

    #[test]
    fn plans_that_cannot_be_are_refused() {
        let refused = |change: fn(&mut PlanFile)| {
            let mut file = sample();
            change(&mut file);
            parse(&to_bytes(&file)).unwrap_err();
        };
        refused(|file| file.plan.shards[1].samples = 1..3);
        refused(|file| file.plan.shards[1].samples = 2..4);
        refused(|file| file.plan.order = Some(vec![4, 0, 5]));
        refused(|file| file.plan.order = None);
        refused(|file| file.sources[0].n_samples = u64::MAX);
        refused(|file| file.plan.bmp = Some(Positions::from_words(vec![1, 1])));
    }

    /// A listing that cannot be kept is not damaged, but one that cannot be read is.
    #[test]
    fn a_listing_that_cannot_be_kept_is_not_called_damaged() {
        let bytes = to_bytes(&sample());
        let full = PlanFile::parse(&bytes, "p", |_| Err(Error::Cancelled)).unwrap_err();
        assert!(matches!(full, Error::Cancelled), "{full}");
        let short = PlanFile::parse(&bytes, "p", |_| Ok(Bytes::new())).unwrap_err();
        assert!(matches!(short, Error::Corrupt { .. }), "{short}");
    }

    /// Bytes after the last listing are not part of a plan, even with a valid checksum.
    #[test]
    fn a_body_is_read_to_its_end() {
        let whole = to_bytes(&sample());
        let mut body = Vec::new();
        sample().write_body(&mut body).unwrap();
        body.extend([0; 3]);
        let mut longer = whole[..16].to_vec();
        longer.extend((body.len() as u64).to_le_bytes());
        longer.extend(xxhash_rust::xxh3::xxh3_64(&body).to_le_bytes());
        longer.extend(zstd::encode_all(&body[..], ZSTD_LEVEL).unwrap());
        assert!(matches!(parse(&longer), Err(Error::Corrupt { .. })));
    }
}
