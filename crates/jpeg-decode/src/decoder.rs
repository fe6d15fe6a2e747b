#[cfg(target_arch = "x86_64")]
use crate::guess::Guesses;
use crate::{
    Damage, Error, Header, Instructions, Options, PixelFormat, Unsupported,
    dc::Predictions,
    entropy::{self, Scan},
    instructions::Loops,
    options::check_supported,
    part::Part,
    plane::{Memory, Plane},
    rows::{self, Row, Scratch},
    runs::{Runs, Start},
    table::Tables,
    window::{self, Cell, Window},
};
use fdconvert_jpeg::{Color, EntryPoints, Jpeg, Unstuffed, parse_unstuffed};
use std::ops::Range;

/// Approximate number of blocks of a window: their coefficients and samples fit the second-level
/// cache.
const WINDOW_BLOCKS: usize = 1200;

/// Decodes baseline JPEGs, with the pixels of libjpeg-turbo. It keeps its memory and tables between
/// images; an error leaves it usable.
#[derive(Debug)]
pub struct Decoder {
    instructions: Instructions,
    loops: Loops,
    #[cfg(target_arch = "x86_64")]
    interleaved: Option<crate::tasks::Interleaved>,
    data: Unstuffed,
    window: Window,
    planes: Vec<Memory>,
    scratch: Scratch,
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
            loops,
            #[cfg(target_arch = "x86_64")]
            interleaved: loops.avx2().map(crate::tasks::Interleaved::new),
            data: Unstuffed::default(),
            window: Window::default(),
            planes: Vec::new(),
            scratch: Scratch::default(),
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
        let jpeg = parse_unstuffed(bytes, data)?;
        check_supported(&jpeg)?;
        if options.format == PixelFormat::Luma && jpeg.color == Color::Rgb {
            return Err(Unsupported::Luma.into());
        }
        let header = Header::of(&jpeg);
        let part = Part::new(&jpeg, options.scale, options.region)?;
        let out = room(header.n_bytes(options))?;
        let data = &*data;
        entropy::check_claims(&jpeg, data)?;
        let entry_points = match options.entry_points {
            None => None,
            Some(stored) => Some(EntryPoints::from_bytes(stored, &jpeg)?),
        };
        let block = part.first_block(&jpeg);
        let runs = || match &entry_points {
            None => Ok(Runs::of_restarts(&jpeg, data, block)),
            Some(it) => Runs::of_entry_points(&jpeg, data, it, block),
        };
        let format = options.format;
        // Without entry points and restarts the scan is a single run, in which starts can only be
        // guessed.
        let guess = entry_points.is_none() && jpeg.n_restarts() == 0;
        let mut work = |decoder: &mut Self, interleaved: bool| {
            let (start, mut runs) = runs()?;
            let averages = interleaved && part.takes_averages(&jpeg, format);
            let part = &part;
            let work = Work { jpeg: &jpeg, data, part, start, format, guess, averages };
            match interleaved {
                true => decoder.decode_interleaved(&work, &mut runs, options.n_places, out),
                false => decoder.decode_portable(&work, &mut runs, options.n_places, out),
            }
        };
        #[cfg(target_arch = "x86_64")]
        if self.loops.avx2().is_some() {
            match work(self, true) {
                // The portable code finds the exact fault.
                Err(Error::Damaged { .. }) => self.window.clear(),
                decoded => return decoded.map(|()| header),
            }
        }
        let decoded = work(self, false);
        if decoded.is_err() {
            self.window.clear();
        }
        decoded.map(|()| header)
    }

    #[cfg(target_arch = "x86_64")]
    fn decode_interleaved(
        &mut self,
        work: &Work<'_>,
        runs: &mut Runs,
        n_places: usize,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let damaged = Error::Damaged { block: 0, bit: 0, what: Damage::DataEnds };
        // Taken: it is lost after a panic.
        let interleaved = self.interleaved.take();
        let again = || self.loops.avx2().map(crate::tasks::Interleaved::new);
        let Some(mut interleaved) = interleaved.or_else(again) else { return Err(damaged) };
        let Work { jpeg, data, .. } = *work;
        let mut guesses = Guesses::new();
        let decoded = match interleaved.prepare(jpeg, data, work.averages) {
            None => Err(damaged),
            Some(()) => self.each_window(work, out, |blocks, window| {
                let decoded = match work.guess {
                    true => {
                        let until = work.part.end_block(jpeg);
                        guesses.decode(&mut interleaved, jpeg, data, until, n_places, window)
                    }
                    false => interleaved.decode(data, runs, blocks, n_places, window),
                };
                decoded.ok_or(damaged.clone())
            }),
        };
        self.interleaved = Some(interleaved);
        decoded
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn decode_interleaved(
        &mut self,
        work: &Work<'_>,
        runs: &mut Runs,
        n_places: usize,
        out: &mut [u8],
    ) -> Result<(), Error> {
        self.decode_portable(work, runs, n_places, out)
    }

    fn decode_portable(
        &mut self,
        work: &Work<'_>,
        runs: &mut Runs,
        n_places: usize,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let tables = Tables::new(work.jpeg);
        let scan = Scan::new(work.jpeg, work.data, &tables);
        let decode = entropy_of(n_places);
        self.each_window(work, out, |blocks, window| decode(&scan, runs, blocks, window))
    }

    /// Makes pixels window by window: a few rows of MCUs, with coefficients that fit the
    /// second-level cache. `decode` fills a window with the coefficients of some blocks.
    fn each_window(
        &mut self,
        work: &Work<'_>,
        out: &mut [u8],
        mut decode: impl FnMut(&Range<u32>, &mut Window) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Work { jpeg, part, start, .. } = *work;
        let row_blocks = ((jpeg.mcus_x * jpeg.blocks_per_mcu()) as usize).max(1);
        let window_mcus = (WINDOW_BLOCKS / row_blocks).max(1);
        let mut image = Image::new(work, self);
        let mut mcu_y = part.mcus_y.start;
        // Blocks before the first row, from the place where decoding could start.
        let mut n_lead = part.first_block(jpeg).saturating_sub(start.block) as usize;
        let mut from = start.block;
        // Taken, so that a panic cannot leave cells that become pixels of the next image.
        let mut window = std::mem::take(&mut self.window);
        window.cell_of.clear();
        let mut decoded = Ok(());
        while mcu_y < part.mcus_y.end {
            let behind = (mcu_y + window_mcus).min(part.mcus_y.end);
            let blocks = from..(behind * row_blocks) as u32;
            from = blocks.end;
            decoded = decode(&blocks, &mut window);
            if decoded.is_err() {
                break;
            }
            let Window { cells, cell_of } = &mut window;
            let (lead, rest) = cell_of.split_at(n_lead.min(cell_of.len()));
            let mut is_sound = image.predictions.add_up(lead, cells);
            window::clear(lead, cells);
            n_lead -= lead.len();
            let mut n_taken = lead.len();
            for row in rest.chunks_exact(row_blocks).take(part.mcus_y.end - mcu_y) {
                is_sound &= image.samples(self.loops, row, cells);
                image.pixels(self.loops, mcu_y, &mut self.scratch, out);
                mcu_y += 1;
                n_taken += row_blocks;
            }
            window.take(n_taken);
            if !is_sound {
                let (block, bit) = (blocks.start, 0);
                decoded = Err(Error::Damaged { block, bit, what: Damage::TooManyValues });
                break;
            }
        }
        // Blocks after the last row.
        let Window { cells, cell_of } = &mut window;
        window::clear(cell_of, cells);
        self.window = window;
        self.planes = image.planes.into_iter().map(Plane::into_memory).collect();
        decoded
    }
}

#[derive(Debug, Clone, Copy)]
struct Work<'a> {
    jpeg: &'a Jpeg,
    data: &'a Unstuffed,
    part: &'a Part,
    start: Start,
    format: PixelFormat,
    /// True to guess the positions of the blocks of a run.
    guess: bool,
    /// True to read only the averages of blocks.
    averages: bool,
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

/// An image being decoded.
struct Image<'a> {
    jpeg: &'a Jpeg,
    part: &'a Part,
    format: PixelFormat,
    averages: bool,
    predictions: Predictions,
    planes: Vec<Plane>,
    y: usize,
}

impl<'a> Image<'a> {
    fn new(work: &Work<'a>, memory: &mut Decoder) -> Self {
        let Work { jpeg, part, format, start, averages, .. } = *work;
        let mut memories = std::mem::take(&mut memory.planes).into_iter();
        let planes = (0..format.n_components(jpeg)).filter_map(|component| {
            Plane::new(jpeg, component, part, memories.next().unwrap_or_default())
        });
        let planes = planes.collect();
        memory.scratch.reach(part.mcus_x.len() * part.mcu_size.0);
        let predictions = Predictions::new(jpeg, start.block, start.dc);
        Self { jpeg, part, format, averages, predictions, planes, y: part.y.start }
    }

    /// Fills the planes with the next row of MCUs from these cells, and clears the cells. Returns
    /// whether the blocks are sound.
    fn samples(&mut self, loops: Loops, cell_of: &[u32], cells: &mut [Cell]) -> bool {
        let is_sound = self.predictions.add_up(cell_of, cells);
        for plane in &mut self.planes {
            match self.averages {
                true => plane.fill_averages(self.jpeg, cell_of, cells),
                false => plane.fill(loops, self.jpeg, cell_of, cells),
            }
        }
        if self.averages {
            window::clear_averages(cell_of, cells);
            return is_sound;
        }
        let n_slots = self.jpeg.slots.len();
        let Range { start, end } = self.part.mcus_x;
        if self.planes.len() < self.jpeg.components.len() {
            window::clear(cell_of, cells);
        } else {
            window::clear(cell_of.get(..start * n_slots).unwrap_or_default(), cells);
            window::clear(cell_of.get(end * n_slots..).unwrap_or_default(), cells);
        }
        is_sound
    }

    /// Writes the rows of pixels that the planes allow: the last one of a row of MCUs waits for the
    /// next one if it depends on the row below.
    fn pixels(&mut self, loops: Loops, mcu_y: usize, scratch: &mut Scratch, out: &mut [u8]) {
        let Part { x, y, mcus_x, mcus_y, mcu_size, .. } = self.part;
        let waits = self.planes.iter().any(|plane| plane.method().looks_down());
        let until = match mcu_y + 1 == mcus_y.end {
            true => y.end,
            false => ((mcu_y + 1) * mcu_size.1 - usize::from(waits)).min(y.end),
        };
        let left = mcus_x.start * mcu_size.0;
        let columns = x.start - left..x.end - left;
        let rows = out.chunks_mut((x.len() * self.format.n_channels()).max(1));
        for (y, out) in (self.y..until).zip(rows.skip(self.y - y.start)) {
            let row = Row { y, x: columns.clone(), mcu_y };
            match self.format {
                PixelFormat::Rgb => {
                    rows::rgb(loops, self.jpeg.color, &self.planes, &row, scratch, out);
                }
                PixelFormat::Luma => rows::luma(&self.planes, &row, scratch, out),
            }
        }
        self.y = self.y.max(until);
    }
}
