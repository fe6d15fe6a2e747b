//! The images of a sheet, and where they stand.
use crate::thumbnail::{reduced, shrink_while};
use fdconvert_codec::{Decoder, Filter, Resizer, Size, orient};
use fdconvert_core::{Error, Limits, Pixels, Reader, Result, Value};
use fdconvert_storage::sigbus;

/// Between images, and around all of them.
const GAP: u64 = 4;
/// Its colour, which few images have at their edges.
const GAP_COLOR: [u8; 3] = [48, 64, 96];
/// The colour of the cross that stands for an image that cannot be read.
const CROSS: [u8; 3] = [200, 48, 48];

/// Rows and columns of square tiles.
#[derive(Debug)]
pub(super) struct Grid {
    pub(super) rows: u64,
    pub(super) columns: u64,
    side: u64,
}

impl Grid {
    /// Places for so many images, in rows of `columns` or in about as many rows as columns.
    pub(super) fn new(n_images: u64, columns: Option<u32>, side: u32) -> Self {
        let columns =
            columns.map_or_else(|| ceil_sqrt(n_images), u64::from).clamp(1, n_images.max(1));
        Self { rows: n_images.div_ceil(columns), columns, side: side.into() }
    }

    fn length(&self, n: u64) -> u64 {
        n.saturating_mul(self.side + GAP).saturating_add(GAP)
    }

    pub(super) fn n_pixels(&self) -> u64 {
        self.length(self.columns).saturating_mul(self.length(self.rows))
    }

    /// The sheet: images in the middle of their places, crosses for those that are missing.
    pub(super) fn lay_out(&self, tiles: &[Result<Pixels>]) -> Pixels {
        let (width, height) = (self.length(self.columns), self.length(self.rows));
        let mut data = GAP_COLOR.repeat((width * height) as usize);
        for (number, tile) in (0_u64..).zip(tiles) {
            let left = self.length(number % self.columns);
            let top = self.length(number / self.columns);
            match tile {
                Ok(tile) => {
                    let left = left + (self.side - u64::from(tile.width).min(self.side)) / 2;
                    let top = top + (self.side - u64::from(tile.height).min(self.side)) / 2;
                    let rows = tile.data.chunks_exact((tile.width as usize * 3).max(1));
                    for (y, row) in (top..).zip(rows) {
                        put(&mut data, (y * width + left) as usize, row);
                    }
                }
                Err(_) => {
                    for at in 0..self.side {
                        put(&mut data, ((top + at) * width + left + at) as usize, &CROSS);
                        let back = left + self.side - 1 - at;
                        put(&mut data, ((top + at) * width + back) as usize, &CROSS);
                    }
                }
            }
        }
        Pixels { width: width as u32, height: height as u32, channels: 3, data }
    }
}

/// Writes pixels from one on.
fn put(data: &mut [u8], pixel: usize, row: &[u8]) {
    if let Some(place) = data.get_mut(pixel * 3..pixel * 3 + row.len()) {
        place.copy_from_slice(row);
    }
}

fn ceil_sqrt(n: u64) -> u64 {
    let root = n.isqrt();
    if root * root < n { root + 1 } else { root }
}

/// The first image of a sample, upright, in three channels, with a longer side of `side` at most.
pub(super) fn tile(
    reader: &dyn Reader,
    index: u64,
    (side, limits): (u32, &Limits),
    (decoder, resizer): (&mut Decoder, &mut Resizer),
) -> Result<Pixels> {
    let small = sigbus::caught(|| {
        let sample = reader.get(index)?;
        let field = reader.schema().first_image();
        let image = match field.and_then(|field| sample.values.get(field)) {
            Some(Value::Image(image)) => image,
            _ => return Err(Error::sample(&sample.key, "it has no image")),
        };
        let longer = image.width.max(image.height);
        let shrink = shrink_while(|by| longer.div_ceil(by) >= side);
        let found = reduced(decoder, (&sample.key, image), limits, shrink, Vec::new())?;
        let pixels = found.pixels;
        let (width, height) = Size::MaxSide(side).target(pixels.width, pixels.height);
        if (width, height) == (pixels.width, pixels.height) {
            return Ok((pixels, found.header.orientation));
        }
        let mut data = Vec::new();
        resizer.resize(&sample.key, &pixels, (width, height), Filter::Area, &mut data)?;
        Ok((Pixels { width, height, channels: pixels.channels, data }, found.header.orientation))
    });
    let (pixels, orientation) = small?;
    Ok(orient(in_rgb(pixels), orientation))
}

/// Gray as three equal channels; alpha is blended over the colour of the gaps.
fn in_rgb(pixels: Pixels) -> Pixels {
    let Pixels { width, height, channels, data } = pixels;
    let data = match channels {
        1 => data.iter().flat_map(|level| [*level; 3]).collect(),
        4 => data
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|[red, green, blue, alpha]| {
                let blend = |level: u8, gap: u8| {
                    let (alpha, level, gap) = (u32::from(*alpha), u32::from(level), u32::from(gap));
                    ((level * alpha + gap * (255 - alpha) + 127) / 255) as u8
                };
                let [gap_red, gap_green, gap_blue] = GAP_COLOR;
                [blend(*red, gap_red), blend(*green, gap_green), blend(*blue, gap_blue)]
            })
            .collect(),
        _ => data,
    };
    Pixels { width, height, channels: 3, data }
}
