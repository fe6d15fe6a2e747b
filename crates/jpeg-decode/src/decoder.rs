#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::{Damage, guess::Guesses, tasks::Interleaved};
use crate::{
    Error, Header, Instructions, Options, PixelFormat, Unsupported,
    entropy::{self, Scan},
    instructions::Loops,
    options::{Entropy, check_supported},
    part::Part,
    progressive,
    renderer::{Renderer, Work},
    runs::{Runs, Start},
    table::Tables,
    window::Window,
};
#[cfg(target_arch = "x86_64")]
use crate::{
    choice,
    lanes::{self, Lanes},
};
use fdconvert_jpeg::{
    Color, EntryPoints, Jpeg, ProgressiveScans, Refused, Unstuffed, parse_unstuffed,
};
use std::ops::Range;

/// Approximate number of blocks of a window: their coefficients and samples fit the second-level
/// cache.
const WINDOW_BLOCKS: usize = 1200;
/// Approximate number of blocks of a window for lanes, whose blocks take half the memory: larger
/// windows keep more lanes in use.
#[cfg(target_arch = "x86_64")]
const LANES_WINDOW_BLOCKS: usize = 4800;

/// Most blocks of a progressive image, all of which are in memory at once, whose memory is kept for
/// the next one: 4 MB.
const MOST_KEPT_BLOCKS: usize = 32_768;

/// Decodes baseline and progressive JPEGs, with the pixels of libjpeg-turbo. It keeps its memory and
/// tables between images; an error leaves it usable.
#[derive(Debug)]
pub struct Decoder {
    instructions: Instructions,
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    streams: Option<Interleaved>,
    #[cfg(target_arch = "x86_64")]
    lanes: Option<Lanes>,
    data: Unstuffed,
    /// For each block of a progressive image, the positions of its nonzero values, as bits.
    masks: Vec<u64>,
    renderer: Renderer,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// Creates a decoder without memory, with the fastest instructions of the processor.
    #[must_use]
    pub fn new() -> Self {
        let best = Instructions::best();
        Self::with(best).unwrap_or_else(|| Self::of(Instructions::Portable, Loops::Portable))
    }

    /// Creates a decoder with these instructions; `None` if the processor lacks them.
    #[must_use]
    pub fn with(instructions: Instructions) -> Option<Self> {
        Loops::new(instructions).map(|loops| Self::of(instructions, loops))
    }

    fn of(instructions: Instructions, loops: Loops) -> Self {
        Self {
            instructions,
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            streams: loops.base().map(Interleaved::new),
            #[cfg(target_arch = "x86_64")]
            lanes: loops.avx512().map(Lanes::new),
            data: Unstuffed::default(),
            masks: Vec::new(),
            renderer: Renderer::new(loops),
        }
    }

    /// Returns the instructions in use.
    #[must_use]
    pub fn instructions(&self) -> Instructions {
        self.instructions
    }

    /// Decodes an image, or a part of it, to rows of pixels that fill `out`. For a part, codes are
    /// read only from the last place before it that entry points or restarts give.
    ///
    /// # Errors
    /// `Unsupported` for images that are left to libjpeg-turbo, `Region` for a region outside the
    /// image, `Output` when `out` has another size; `Damaged` when the scan, as far as it was read,
    /// is not exactly the expected blocks; `EntryPoints` and `OtherEntryPoints` when those are
    /// broken or belong to another image. `out` may be partly written.
    pub fn decode(
        &mut self,
        bytes: &[u8],
        options: &Options<'_>,
        out: &mut [u8],
    ) -> Result<Header, Error> {
        self.decode_to(bytes, options, |expected| match out.len() {
            found if found as u64 == expected => Ok(out),
            found => Err(Error::Output { expected, found }),
        })
    }

    /// As [`decode`](Self::decode), into a buffer that gets the length of the pixels.
    ///
    /// # Errors
    /// As for `decode`, but `Output` only for pixels that exceed the memory of this machine.
    pub fn decode_vec(
        &mut self,
        bytes: &[u8],
        options: &Options<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Header, Error> {
        self.decode_to(bytes, options, |expected| {
            let length = usize::try_from(expected);
            let length = length.map_err(|_| Error::Output { expected, found: 0 })?;
            // Every byte is written or there is an error: only the added part is cleared.
            out.resize(length, 0);
            Ok(out)
        })
    }

    fn decode_to<'a>(
        &mut self,
        bytes: &[u8],
        options: &Options<'_>,
        room: impl FnOnce(u64) -> Result<&'a mut [u8], Error>,
    ) -> Result<Header, Error> {
        let mut data = std::mem::take(&mut self.data);
        let decoded = self.decode_unstuffed(bytes, &mut data, options, room);
        self.data = data;
        decoded
    }

    fn decode_unstuffed<'a>(
        &mut self,
        bytes: &[u8],
        data: &mut Unstuffed,
        options: &Options<'_>,
        room: impl FnOnce(u64) -> Result<&'a mut [u8], Error>,
    ) -> Result<Header, Error> {
        let jpeg = match parse_unstuffed(bytes, data) {
            Err(Refused::Progressive { .. }) => {
                return self.decode_progressive(bytes, data, options, room);
            }
            parsed => parsed?,
        };
        let (header, part) = check(&jpeg, options)?;
        let out = room(header.n_bytes(options))?;
        let data = &*data;
        entropy::check_claims(&jpeg, data)?;
        let entry_points = match options.entry_points {
            None => None,
            Some(stored) => Some(EntryPoints::from_bytes(stored, &jpeg)?),
        };
        let (jpeg, part, entry_points) = (&jpeg, &part, entry_points.as_ref());
        let format = options.format;
        let averages = part.takes_averages(jpeg, format);
        let work = Work { jpeg, data, entry_points, part, format, averages };
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        if self.streams.is_some() {
            match self.decode_fast(&work, options.entropy, out) {
                // The portable code finds the exact fault.
                Err(Error::Damaged { .. }) => self.renderer.clear(),
                decoded => return decoded.map(|()| header),
            }
        }
        let n_places = options.entropy.unwrap_or(Entropy::STREAMS).n_streams();
        let decoded = self.decode_portable(&work, n_places, out);
        if decoded.is_err() {
            self.renderer.clear();
        }
        decoded.map(|()| header)
    }

    /// Decodes a progressive JPEG: all of its blocks, and then the pixels of the part.
    fn decode_progressive<'a>(
        &mut self,
        bytes: &[u8],
        data: &mut Unstuffed,
        options: &Options<'_>,
        room: impl FnOnce(u64) -> Result<&'a mut [u8], Error>,
    ) -> Result<Header, Error> {
        let mut scans = ProgressiveScans::new(bytes)?;
        let jpeg = &scans.jpeg().clone();
        let (header, part) = check(jpeg, options)?;
        if options.entry_points.is_some() {
            return Err(Error::OtherEntryPoints { segment: 0 });
        }
        let out = room(header.n_bytes(options))?;
        let none = Unstuffed::default();
        let (part, format) = (&part, options.format);
        let work = Work { jpeg, data: &none, entry_points: None, part, format, averages: false };
        let (start, masks) = (Start { block: 0, dc: [0; 3] }, &mut self.masks);
        let (loops, n_blocks) = (self.renderer.loops(), jpeg.n_blocks as usize);
        let decoded = self.renderer.render(&work, start, n_blocks, out, |_, window| {
            progressive::decode(loops, jpeg, &mut scans, data, masks, window)
        });
        if decoded.is_err() || n_blocks > MOST_KEPT_BLOCKS {
            self.renderer.forget();
            self.masks = Vec::new();
        }
        decoded.map(|()| header)
    }

    /// Decodes with this kind of entropy decoding, or with the faster one.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn decode_fast(
        &mut self,
        work: &Work<'_>,
        entropy: Option<Entropy>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        #[cfg(target_arch = "x86_64")]
        let Some(entropy) = entropy.or_else(|| self.faster(work)) else {
            return choice::try_both(|entropy| self.decode_vectors(work, entropy, out));
        };
        #[cfg(target_arch = "aarch64")]
        let entropy = entropy.unwrap_or(Entropy::STREAMS);
        self.decode_vectors(work, entropy, out)
    }

    /// Returns the faster kind of entropy decoding, if that is known.
    #[cfg(target_arch = "x86_64")]
    fn faster(&self, work: &Work<'_>) -> Option<Entropy> {
        let least = match work.entry_points {
            Some(_) => lanes::LEAST_RUNS,
            None => lanes::LEAST_RESTARTS,
        };
        let lanes_pay = self.lanes.is_some()
            && !work.averages
            && work.n_runs_within(LANES_WINDOW_BLOCKS) >= least;
        if lanes_pay { choice::fastest_entropy() } else { Some(Entropy::STREAMS) }
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn decode_vectors(
        &mut self,
        work: &Work<'_>,
        entropy: Entropy,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let damaged = Error::Damaged { block: 0, bit: 0, what: Damage::DataEnds };
        let (start, mut runs) = work.runs()?;
        let Work { jpeg, data, .. } = *work;
        #[cfg(target_arch = "x86_64")]
        if let Entropy::Lanes(n_groups) = entropy
            && !work.averages
            && let Some(lanes) = &mut self.lanes
            && lanes.prepare(jpeg).is_some()
        {
            let decode = |blocks: &Range<u32>, window: &mut Window| {
                let decoded = lanes.decode(data, &mut runs, blocks, n_groups, window);
                decoded.ok_or(damaged.clone())
            };
            return self.renderer.render(work, start, LANES_WINDOW_BLOCKS, out, decode);
        }
        let Some(streams) = &mut self.streams else { return Err(damaged) };
        streams.prepare(jpeg, data, work.averages).ok_or(damaged.clone())?;
        let n_streams = entropy.n_streams();
        if work.is_single_run() {
            let (mut guesses, until) = (Guesses::new(), work.part.end_block(jpeg));
            return self.renderer.render(work, start, WINDOW_BLOCKS, out, |_, window| {
                let decoded = guesses.decode(streams, jpeg, data, until, n_streams, window);
                decoded.ok_or(damaged.clone())
            });
        }
        self.renderer.render(work, start, WINDOW_BLOCKS, out, |blocks, window| {
            let decoded = streams.decode(data, &mut runs, blocks, n_streams, window);
            decoded.ok_or(damaged.clone())
        })
    }

    fn decode_portable(
        &mut self,
        work: &Work<'_>,
        n_places: usize,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let work = &Work { averages: false, ..*work };
        let (start, mut runs) = work.runs()?;
        let tables = Tables::new(work.jpeg);
        let scan = Scan::new(work.jpeg, work.data, &tables);
        let decode = entropy_of(n_places);
        let decode =
            |blocks: &Range<u32>, window: &mut Window| decode(&scan, &mut runs, blocks, window);
        self.renderer.render(work, start, WINDOW_BLOCKS, out, decode)
    }
}

/// Checks that an image can be decoded with these options; returns its properties and the part.
fn check(jpeg: &Jpeg, options: &Options<'_>) -> Result<(Header, Part), Error> {
    check_supported(jpeg)?;
    if options.format == PixelFormat::Luma && jpeg.color == Color::Rgb {
        return Err(Unsupported::Luma.into());
    }
    Ok((Header::of(jpeg), Part::new(jpeg, options.scale, options.region)?))
}

type DecodeWindow = fn(&Scan<'_>, &mut Runs, &Range<u32>, &mut Window) -> Result<(), Error>;

/// Returns the loop for a number of places at once.
pub(crate) fn entropy_of(n_places: usize) -> DecodeWindow {
    match n_places {
        0 | 1 => entropy::decode::<1>,
        2 => entropy::decode::<2>,
        3 => entropy::decode::<3>,
        4 => entropy::decode::<4>,
        5 => entropy::decode::<5>,
        6 => entropy::decode::<6>,
        7 => entropy::decode::<7>,
        _ => entropy::decode::<8>,
    }
}
