//! Applies the policy to one image: keep it, or decode, transform and encode it.

use super::{
    Alpha, Check, Encode, Gray, Nanos, Outcome, Policy, Worker,
    seat::{Goal, Seat, Shape},
    worker::timed,
};
use crate::{
    Notes,
    claim::{claim, claim_pixels},
    convert,
    jpeg::to_baseline,
    metadata::{must_be_encoded_again, strip_metadata},
    orient::orient_into,
    region::whole,
    support::not_decoded,
};
use fdconvert_core::probe::{Ending, bands_only, check_complete, has_pages, is_animated};
use fdconvert_core::{
    Codec, Color, Encoded, Error, Format, Image, ImageHeader, Pixels, Result, option,
};

/// Notes that a strict policy turns into errors: doubts about an image, and losses.
const REFUSED_BY_STRICT: [(Notes, &str); 6] = [
    (Notes::NO_END_MARKER, "the JPEG has no end marker"),
    (Notes::COEFFICIENTS_LEFT_OUT, "the JPEG's scans do not send all coefficients"),
    (Notes::FIRST_FRAME, "is animated, and only its first frame would be stored"),
    (Notes::FIRST_PAGE, "has several pages, and only the first would be stored"),
    (Notes::CHANNELS_LEFT_OUT, "has channels besides its colours, which would be left out"),
    (Notes::DEPTH_REDUCED, "has more than 8 bits per channel, and would be rounded to 8"),
];

struct Job<'a> {
    key: &'a str,
    format: &'a dyn Format,
    /// The size by the rule, before any turn.
    size: (u32, u32),
    source: ImageHeader,
    goal: Goal,
    jpeg: Option<&'a [u8]>,
}

impl Policy {
    /// Turns an image into its stored form.
    ///
    /// # Errors
    /// `Sample` or `Limit`, naming `key`: the image is damaged, too large, or the format cannot
    /// hold the result. The worker stays usable.
    pub fn apply(
        &self,
        key: &str,
        image: Image,
        format: &dyn Format,
        worker: &mut Worker,
    ) -> Result<Outcome> {
        match image {
            Image::Encoded(encoded) => self.apply_encoded(key, encoded, format, worker),
            Image::Pixels(pixels) => {
                self.apply_pixels(key, pixels, format, Nanos::default(), worker)
            }
            Image::Bilevel(image) => self.apply_bilevel(key, &image, format, worker),
        }
    }

    /// Applies the policy to pixels of a source: there are no bytes to keep or to refuse.
    pub(super) fn apply_pixels(
        &self,
        key: &str,
        pixels: Pixels,
        format: &dyn Format,
        nanos: Nanos,
        worker: &mut Worker,
    ) -> Result<Outcome> {
        let mut source = claim_pixels(key, &pixels, &self.limits)?;
        if pixels.channels == 4 {
            source.color = Color::Rgba;
        }
        let size = self.target(&source);
        let resize = size != (source.width, source.height);
        let goal = self.goal(key, None, resize, format)?;
        let job = Job { key, format, size, source, goal, jpeg: None };
        let (outcome, _) = self.make(&job, pixels, Notes::MADE, nanos, worker)?;
        Ok(outcome)
    }

    fn apply_encoded(
        &self,
        key: &str,
        encoded: Encoded,
        format: &dyn Format,
        worker: &mut Worker,
    ) -> Result<Outcome> {
        let source = claim(key, &encoded, &self.limits)?;
        let size = self.target(&source);
        let resize = size != (source.width, source.height);
        if !resize && self.keeps(&source) && format.holds(&source) {
            return self.keep(key, encoded, &source, worker);
        }
        let goal = self.goal(key, Some(&source), resize, format)?;
        let mut nanos = Nanos::default();
        let buffer = worker.take();
        let decoded = timed(&mut nanos.decode, || {
            worker.decoder.decode_reusing(key, &encoded, &self.limits, buffer)
        })?;
        let notes = decoded.notes
            | Notes::FIRST_FRAME.when(is_animated(&encoded.bytes, encoded.codec))
            | Notes::FIRST_PAGE.when(has_pages(&encoded.bytes, encoded.codec));
        self.check_strict(key, notes)?;
        let jpeg = (encoded.codec == Codec::Jpeg).then_some(&*encoded.bytes);
        let job = Job { key, format, size, source, goal, jpeg };
        let (mut outcome, seat) = self.make(&job, decoded.pixels, notes, nanos, worker)?;
        outcome.notes |= if seat.fell_back { Notes::FELL_BACK } else { Notes::REENCODED };
        Ok(outcome)
    }

    pub(super) fn target(&self, header: &ImageHeader) -> (u32, u32) {
        let (width, height) = (header.width, header.height);
        self.size.map_or((width, height), |size| size.target(width, height))
    }

    /// Returns true if the bytes of such an image can stay, if its size can.
    pub(super) fn keeps(&self, header: &ImageHeader) -> bool {
        if self.must_decode(header.codec) {
            return false;
        }
        let codec = match self.encode {
            Encode::Keep => return true,
            Encode::Png => Codec::Png,
            Encode::Bmp => Codec::Bmp,
            Encode::Webp => Codec::Webp,
            Encode::Raw => Codec::Raw,
            Encode::Jpeg | Encode::Smart { .. } | Encode::Mix { .. } => return false,
        };
        let turn = self.orient && header.orientation > 1;
        let gray = matches!(header.color, Color::Gray | Color::GrayAlpha);
        header.codec == codec && !turn && !(gray && self.gray == Gray::Expand)
    }

    /// Returns true if images of this codec are re-encoded because the metadata to remove cannot be
    /// cut out of their bytes.
    #[must_use]
    pub fn must_decode(&self, codec: Codec) -> bool {
        !self.strip.is_empty() && must_be_encoded_again(codec)
    }

    /// Keeps the bytes, after the checks that need no decoding.
    fn keep(
        &self,
        key: &str,
        encoded: Encoded,
        header: &ImageHeader,
        worker: &mut Worker,
    ) -> Result<Outcome> {
        let mut nanos = Nanos::default();
        let mut notes = Notes::KEPT
            | Notes::ROTATION_LEFT.when(header.orientation > 1)
            | Notes::DEPTH_KEPT.when(header.bits > 8);
        let ending = check_complete(&encoded.bytes, header);
        let ending = ending.map_err(|what| Error::sample(key, what))?;
        if bands_only(&encoded.bytes, header).is_some() {
            return self.keep_bands(key, encoded, header, worker);
        }
        if let Some(what) = not_decoded(&encoded.bytes, header) {
            if self.check == Check::Pixels {
                return Err(Error::sample(key, what));
            }
            if self.strict {
                let refused = "cannot be decoded by fdconvert, which `strict` does not let pass";
                return Err(Error::sample(key, format!("{refused}: {what}")));
            }
            // Loaders cannot round pixels that they cannot decode.
            let notes = notes.without(Notes::DEPTH_KEPT) | Notes::NOT_DECODED;
            return self.strip(key, Outcome { encoded, notes, nanos });
        }
        let left_out = Notes::COEFFICIENTS_LEFT_OUT.when(ending == Ending::CoefficientsLeftOut);
        self.check_strict(key, left_out)?;
        notes |= left_out;
        if ending == Ending::NoEndMarker {
            self.check_strict(key, Notes::NO_END_MARKER)?;
        }
        // If the end is missing, only decoding shows whether pixels are missing too.
        if matches!(ending, Ending::NoEndMarker | Ending::Doubtful) || self.check == Check::Pixels {
            let mut pixels = worker.take();
            let (_, _, found) = timed(&mut nanos.decode, || {
                worker.decoder.decode_into(key, &encoded, &self.limits, &mut pixels)
            })?;
            worker.give(pixels);
            notes |= Notes::NO_END_MARKER.when(found.contains(Notes::NO_END_MARKER));
        }
        if self.rewrites(header) {
            let rewritten = timed(&mut nanos.encode, || to_baseline(&encoded.bytes));
            let bytes = rewritten.map_err(|what| {
                Error::sample(key, format!("it cannot be rewritten as baseline JPEG: {what}"))
            })?;
            let encoded =
                Encoded { bytes: bytes.into(), xxh3: None, entry_points: None, ..encoded };
            let notes = notes.without(Notes::KEPT) | Notes::BASELINE;
            return self.strip(key, Outcome { encoded, notes, nanos });
        }
        self.strip(key, Outcome { encoded, notes, nanos })
    }

    /// Keeps the bytes of bands, after the checks.
    fn keep_bands(
        &self,
        key: &str,
        encoded: Encoded,
        header: &ImageHeader,
        worker: &mut Worker,
    ) -> Result<Outcome> {
        let mut nanos = Nanos::default();
        if self.check == Check::Pixels {
            let mut values = worker.take();
            timed(&mut nanos.decode, || {
                let (decoder, limits) = (&mut worker.decoder, &self.limits);
                decoder.decode_bands(key, &encoded, limits, whole(header), &mut values)
            })?;
            worker.give(values);
        }
        let notes =
            Notes::KEPT | Notes::BANDS_KEPT | Notes::ROTATION_LEFT.when(header.orientation > 1);
        self.strip(key, Outcome { encoded, notes, nanos })
    }

    /// Strips the metadata of an image with bytes that stay.
    fn strip(&self, key: &str, kept: Outcome) -> Result<Outcome> {
        let Outcome { encoded, notes, nanos } = kept;
        let stripped = strip_metadata(&encoded.bytes, encoded.codec, self.strip);
        let stripped = stripped.map_err(|what| {
            Error::sample(key, what).cure("to store it without", option::ENCODE.with("jpeg"))
        })?;
        let Some(stripped) = stripped else { return Ok(Outcome { encoded, notes, nanos }) };
        let bytes = stripped.bytes.into();
        let encoded = Encoded { bytes, xxh3: None, entry_points: None, ..encoded };
        let notes = notes.without(Notes::KEPT) | Notes::STRIPPED | stripped.notes;
        Ok(Outcome { encoded, notes, nanos })
    }

    /// Returns true if an image with bytes that could stay becomes a baseline JPEG.
    pub(super) fn rewrites(&self, header: &ImageHeader) -> bool {
        self.baseline && header.codec == Codec::Jpeg && header.progressive
    }

    fn check_strict(&self, key: &str, notes: Notes) -> Result<()> {
        let refused = REFUSED_BY_STRICT.into_iter().find(|(note, _)| notes.contains(*note));
        match refused {
            Some((_, what)) if self.strict => {
                Err(Error::sample(key, format!("{what}, which `strict` does not let pass")))
            }
            _ => Ok(()),
        }
    }

    /// Encodes pixels in the seat for the goal, which is returned with the outcome.
    fn make(
        &self,
        job: &Job<'_>,
        mut pixels: Pixels,
        mut notes: Notes,
        mut nanos: Nanos,
        worker: &mut Worker,
    ) -> Result<(Outcome, Seat)> {
        let turn = self.orient && job.source.orientation > 1;
        let (width, height) =
            if turn && job.source.orientation >= 5 { (job.size.1, job.size.0) } else { job.size };
        let shape = Shape { width, height, channels: pixels.channels, color: job.source.color };
        let mut seat = self.seat(job.key, job.goal, shape, job.format)?;
        // First fewer channels, then fewer pixels: each reduces the work of later steps.
        timed(&mut nanos.resize, || -> Result<()> {
            if pixels.channels == 4 && seat.channels < 4 {
                self.settle_alpha(job.key, &mut pixels, seat.channels == 1, worker)?;
                notes |= Notes::ALPHA_DROPPED;
            }
            if job.size != (pixels.width, pixels.height) {
                self.shrink(job, &mut pixels, worker)?;
                notes |= Notes::RESIZED;
            }
            if turn {
                turn_upright(&mut pixels, job.source.orientation, worker);
            }
            Ok(())
        })?;
        notes |= Notes::ROTATED.when(turn);
        notes |= Notes::ROTATION_LEFT.when(!turn && job.source.orientation > 1);

        let mut encoded = self.encode_in(job, seat, &mut pixels, &mut notes, &mut nanos, worker)?;
        if let Goal::Smart(ratio) = job.goal
            && seat.codec == Codec::Jpeg
            && pixels.data.len() as f64 <= ratio * encoded.bytes.len() as f64
        {
            let shape = Shape { channels: pixels.channels, ..shape };
            seat = self.seat(job.key, Goal::Prefer(Codec::Raw), shape, job.format)?;
            encoded = self.encode_in(job, seat, &mut pixels, &mut notes, &mut nanos, worker)?;
        }
        worker.give(pixels.data);
        Ok((Outcome { encoded, notes, nanos }, seat))
    }

    /// Removes an alpha channel, according to the policy.
    fn settle_alpha(
        &self,
        key: &str,
        pixels: &mut Pixels,
        gray: bool,
        worker: &mut Worker,
    ) -> Result<()> {
        let mut out = worker.take();
        match self.alpha {
            Alpha::Refuse => {
                return Err(Error::sample(key, "has an alpha channel (refused by `alpha`)"));
            }
            Alpha::Drop => convert::drop_alpha(&pixels.data, gray, &mut out),
            Alpha::Blend(background) => {
                convert::blend_alpha(&pixels.data, background, &mut out);
                if gray {
                    let first = out.as_chunks::<3>().0.iter().map(|[value, ..]| *value).collect();
                    worker.give(std::mem::replace(&mut out, first));
                }
            }
        }
        pixels.channels = if gray { 1 } else { 3 };
        worker.give(std::mem::replace(&mut pixels.data, out));
        Ok(())
    }

    fn shrink(&self, job: &Job<'_>, pixels: &mut Pixels, worker: &mut Worker) -> Result<()> {
        let mut out = worker.take();
        worker.resizer.resize(job.key, pixels, job.size, self.filter, &mut out)?;
        (pixels.width, pixels.height) = job.size;
        worker.give(std::mem::replace(&mut pixels.data, out));
        Ok(())
    }

    fn encode_in(
        &self,
        job: &Job<'_>,
        seat: Seat,
        pixels: &mut Pixels,
        notes: &mut Notes,
        nanos: &mut Nanos,
        worker: &mut Worker,
    ) -> Result<Encoded> {
        if pixels.channels == 1 && seat.channels == 3 {
            let mut out = worker.take();
            timed(&mut nanos.resize, || convert::gray_to_rgb(&pixels.data, &mut out));
            worker.give(std::mem::replace(&mut pixels.data, out));
            pixels.channels = 3;
            *notes |= Notes::GRAY_EXPANDED;
        }
        timed(&mut nanos.encode, || {
            worker.encoder.encode(job.key, pixels, seat.codec, &self.jpeg, job.jpeg)
        })
    }
}

fn turn_upright(pixels: &mut Pixels, orientation: u8, worker: &mut Worker) {
    let mut out = worker.take();
    match orient_into(pixels, orientation, &mut out) {
        None => worker.give(out),
        Some((width, height)) => {
            (pixels.width, pixels.height) = (width, height);
            worker.give(std::mem::replace(&mut pixels.data, out));
        }
    }
}
