use crate::{
    Block, Error, Unsupported, color,
    dc::Predictions,
    entropy::{self, Scan},
    plane::Plane,
    runs::Runs,
    table::Tables,
};
use fdconvert_jpeg::{Color, EntryPoints, Jpeg, parse, unstuff};
use std::ops::Range;

/// Blocks of a window, roughly: their coefficients and samples stay in the second cache.
const WINDOW_BLOCKS: usize = 1200;

/// Decodes baseline JPEGs to RGB, with the pixels of libjpeg-turbo. It keeps its memory from image
/// to image; an error leaves it usable.
#[derive(Debug, Default)]
pub struct Decoder {
    blocks: Vec<Block>,
    planes: Vec<Vec<u8>>,
    scratch: [Vec<u8>; 3],
}

/// How to decode.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// The entry points of this JPEG, as datasets store them
    /// ([`EntryPoints::to_bytes`](fdconvert_jpeg::EntryPoints::to_bytes)).
    pub entry_points: Option<&'a [u8]>,
    /// Places of the scan in flight at once, 1 to 8; others count as the nearest of these.
    /// The pixels do not depend on it. 1 by default.
    pub n_places: usize,
}

impl Default for Options<'_> {
    fn default() -> Self {
        // The portable loop keeps the state of one place in registers, and is fastest so.
        Self { entry_points: None, n_places: 1 }
    }
}

/// What the markers say about the pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// Columns of pixels.
    pub width: u32,
    /// Rows of pixels.
    pub height: u32,
    /// What the components mean. The pixels are RGB all the same.
    pub color: Color,
}

impl Header {
    /// Reads the markers of a JPEG.
    ///
    /// # Errors
    /// `Unsupported`, when [`Decoder::decode`] would not decode it either.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        Ok(Self::of(&supported(bytes)?))
    }

    /// Bytes of the pixels, three each.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height) * 3
    }

    fn of(jpeg: &Jpeg) -> Self {
        Self { width: jpeg.width, height: jpeg.height, color: jpeg.color }
    }
}

impl Decoder {
    /// A decoder without memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes an image to rows of RGB, which take all of `out`.
    ///
    /// # Errors
    /// `Unsupported` for what is left to libjpeg-turbo, `Output` when `out` has another size;
    /// `Damaged` when the scan does not hold exactly the blocks of the image; `EntryPoints` and
    /// `OtherEntryPoints` when those are broken or of another image. `out` may be partly written.
    pub fn decode(
        &mut self,
        bytes: &[u8],
        options: &Options<'_>,
        out: &mut [u8],
    ) -> Result<Header, Error> {
        let jpeg = supported(bytes)?;
        let header = Header::of(&jpeg);
        let (expected, found) = (header.n_bytes(), out.len());
        if expected != found as u64 {
            return Err(Error::Output { expected, found });
        }
        let data = unstuff(&jpeg, bytes)?;
        let mut runs = match options.entry_points {
            None => Runs::of_restarts(&jpeg, &data),
            Some(stored) => {
                let entry_points = EntryPoints::from_bytes(stored, &jpeg)?;
                Runs::of_entry_points(&jpeg, &data, &entry_points)?
            }
        };
        let tables = Tables::new(&jpeg);
        let scan = Scan::new(&jpeg, &data, &tables)?;
        let mut image = Image::new(&jpeg, self);
        let decoded = image.decode(&scan, &mut runs, entropy_of(options.n_places), self, out);
        self.planes = image.planes.into_iter().map(Plane::into_memory).collect();
        decoded.map(|()| header)
    }
}

/// The markers of a JPEG that this decoder can do something with.
fn supported(bytes: &[u8]) -> Result<Jpeg, Error> {
    let jpeg = parse(bytes)?;
    let (max_h, max_v) = jpeg.max_sampling();
    let is_whole = |max: u32, part: u8| max.checked_rem(part.into()) == Some(0);
    match jpeg.components.iter().find(|it| !is_whole(max_h, it.h) || !is_whole(max_v, it.v)) {
        Some(it) => Err(Unsupported::Sampling { h: it.h, v: it.v, max_h, max_v }.into()),
        None => Ok(jpeg),
    }
}

type DecodeWindow = fn(&Scan<'_>, &mut Runs, &Range<u32>, &mut [Block]) -> Result<(), Error>;

/// The loop for a number of places in flight.
fn entropy_of(n_places: usize) -> DecodeWindow {
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

/// An image while it is decoded, window by window: some rows of MCUs, so that what one step writes
/// is still in the cache when the next one reads it.
struct Image<'a> {
    jpeg: &'a Jpeg,
    planes: Vec<Plane>,
    predictions: Predictions,
    /// Rows of MCUs in a window.
    window_mcus: usize,
    /// Rows of pixels that are written.
    n_done: usize,
}

impl<'a> Image<'a> {
    fn new(jpeg: &'a Jpeg, memory: &mut Decoder) -> Self {
        let row_blocks = jpeg.mcus_x as usize * jpeg.slots.len();
        let window_mcus = (WINDOW_BLOCKS / row_blocks.max(1)).clamp(1, jpeg.mcus_y as usize);
        let mut memories = std::mem::take(&mut memory.planes).into_iter();
        let planes = jpeg.components.iter().map(|component| {
            Plane::new(jpeg, component, window_mcus, memories.next().unwrap_or_default())
        });
        let planes = planes.collect();
        let row_bytes = jpeg.width as usize;
        memory.scratch.iter_mut().for_each(|row| row.resize(row_bytes, 0));
        Self { jpeg, planes, predictions: Predictions::new(jpeg), window_mcus, n_done: 0 }
    }

    fn decode(
        &mut self,
        scan: &Scan<'_>,
        runs: &mut Runs,
        decode_window: DecodeWindow,
        memory: &mut Decoder,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let row_blocks = self.jpeg.mcus_x * self.jpeg.blocks_per_mcu();
        let n_mcus = self.jpeg.mcus_y as usize;
        for first_mcu in (0..n_mcus).step_by(self.window_mcus) {
            let behind = (first_mcu + self.window_mcus).min(n_mcus);
            let window = first_mcu as u32 * row_blocks..behind as u32 * row_blocks;
            memory.blocks.clear();
            memory.blocks.resize(window.len(), [0; 64]);
            decode_window(scan, runs, &window, &mut memory.blocks)?;
            self.predictions.add_up(&mut memory.blocks);
            if first_mcu > 0 {
                self.planes.iter_mut().for_each(Plane::next_window);
            }
            self.samples(&memory.blocks);
            self.pixels(first_mcu, behind, &mut memory.scratch, out);
        }
        Ok(())
    }

    /// Fills the planes.
    fn samples(&mut self, blocks: &[Block]) {
        let mcus_x = self.jpeg.mcus_x as usize;
        for (number, mcu) in blocks.chunks(self.jpeg.slots.len().max(1)).enumerate() {
            let mcu_at = (number % mcus_x, number / mcus_x);
            for (block, slot) in mcu.iter().zip(&self.jpeg.slots) {
                if let Some(plane) = self.planes.get_mut(usize::from(slot.component)) {
                    plane.put(mcu_at, (slot.x, slot.y), block);
                }
            }
        }
    }

    /// Writes the rows of pixels that the planes allow: the last one of a window waits for the
    /// next window if it looks down.
    fn pixels(
        &mut self,
        first_mcu: usize,
        behind: usize,
        [first, second, third]: &mut [Vec<u8>; 3],
        out: &mut [u8],
    ) {
        let (width, height) = (self.jpeg.width as usize, self.jpeg.height as usize);
        let waits = self.planes.iter().any(|plane| plane.method().looks_down());
        let last = behind * self.jpeg.max_sampling().1 as usize * 8;
        let until =
            if behind == self.jpeg.mcus_y as usize { height } else { last - usize::from(waits) };
        let rows = out.chunks_mut(width * 3).enumerate().take(until).skip(self.n_done);
        for (y, out) in rows {
            let rows = [
                self.image_row(0, (y, first_mcu), first),
                self.image_row(1, (y, first_mcu), second),
                self.image_row(2, (y, first_mcu), third),
            ];
            color::row(self.jpeg.color, rows, out);
        }
        self.n_done = until;
    }

    /// A row of the samples of a component, of which a gray image has one.
    fn image_row<'b>(
        &'b self,
        component: usize,
        (y, first_mcu): (usize, usize),
        scratch: &'b mut [u8],
    ) -> &'b [u8] {
        match self.planes.get(component) {
            Some(plane) => plane.image_row(y, first_mcu, scratch),
            None => &[],
        }
    }
}
