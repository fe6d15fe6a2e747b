//! Decoded samples of a picture, and how they become pixels.
use super::colors::{Fixed, Matrix, Range};
use fdconvert_core::probe::{AvifColors, AvifPicture, AvifTile};

/// Samples of one channel.
#[derive(Debug, Clone, Default)]
pub(super) struct Plane {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) samples: Vec<u16>,
}

/// Samples of a picture: one channel, or lumas and two colours, which may have fewer samples.
#[derive(Debug, Clone)]
pub(super) struct Planes {
    pub(super) bits: u8,
    /// What the AV1 data says of the colours.
    pub(super) colors: AvifColors,
    pub(super) all: Vec<Plane>,
    /// 1 if colours have half the columns, or half the rows; else 0.
    pub(super) halved: (u8, u8),
}

impl Plane {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { width, height, samples: vec![0; width * height] }
    }

    fn row(&self, y: usize) -> &[u16] {
        let y = y.min(self.height.saturating_sub(1));
        self.samples.get(y * self.width..(y + 1) * self.width).unwrap_or_default()
    }

    /// Copies a tile to its place, as far as it is inside.
    fn paste(&mut self, tile: &Self, left: usize, top: usize) {
        let width = tile.width.min(self.width.saturating_sub(left));
        for y in 0..tile.height.min(self.height.saturating_sub(top)) {
            let at = (top + y) * self.width + left;
            let to = self.samples.get_mut(at..at + width);
            if let Some((to, from)) = to.zip(tile.row(y).get(..width)) {
                to.copy_from_slice(from);
            }
        }
    }
}

impl Planes {
    /// Decodes the tiles of a picture, and puts them together.
    pub(super) fn of_tiles(
        picture: &AvifPicture,
        decode: impl Fn(&AvifTile) -> Result<Self, String>,
    ) -> Result<Self, String> {
        let (tile_width, tile_height) = (picture.tile.0 as usize, picture.tile.1 as usize);
        let across = picture.across as usize;
        let mut whole: Option<Self> = None;
        for (index, tile) in picture.tiles.iter().enumerate() {
            let tile = decode(tile)?;
            if (tile.bits, tile.is_gray()) != (picture.bits, picture.is_gray) {
                return Err("its AV1 data has other channels or bits than the AVIF says".into());
            }
            if let [_] = picture.tiles[..]
                && (picture.width, picture.height) == picture.tile
            {
                return Ok(tile);
            }
            let whole = whole.get_or_insert_with(|| tile.of_size(picture));
            let (left, top) = (index % across * tile_width, index / across * tile_height);
            whole.paste(&tile, (left, top))?;
        }
        whole.ok_or_else(|| "it has no tiles".into())
    }

    pub(super) fn is_gray(&self) -> bool {
        self.all.len() == 1
    }

    /// Returns empty planes of the same kind for a whole picture.
    fn of_size(&self, picture: &AvifPicture) -> Self {
        let (width, height) = (picture.width as usize, picture.height as usize);
        let planes = (0..self.all.len()).map(|channel| {
            let (across, down) = if channel == 0 { (0, 0) } else { self.halved };
            let half = |side: usize, shift: u8| (side + usize::from(shift)) >> shift;
            Plane::new(half(width, across), half(height, down))
        });
        Self { all: planes.collect(), ..*self }
    }

    fn paste(&mut self, tile: &Self, (left, top): (usize, usize)) -> Result<(), String> {
        let (across, down) = self.halved;
        if (self.all.len(), self.halved, self.colors) != (tile.all.len(), tile.halved, tile.colors)
        {
            return Err("the tiles of its grid differ in their colours".into());
        }
        if left & usize::from(across) != 0 || top & usize::from(down) != 0 {
            return Err("the tiles of its grid begin between two samples of a colour".into());
        }
        for (channel, (whole, part)) in self.all.iter_mut().zip(&tile.all).enumerate() {
            let (across, down) = if channel == 0 { (0, 0) } else { self.halved };
            whole.paste(part, left >> across, top >> down);
        }
        Ok(())
    }

    /// Writes a gray level into each colour of pixels that have as many channels.
    pub(super) fn write_gray(&self, range: Range, channels: usize, out: &mut [u8]) {
        let Some(lumas) = self.all.first() else { return };
        let n_colors = channels.min(3);
        for (pixel, luma) in out.chunks_exact_mut(channels).zip(&lumas.samples) {
            let level = to_u8(range.luma(*luma));
            pixel.iter_mut().take(n_colors).for_each(|color| *color = level);
        }
    }

    /// Writes the last of four channels.
    pub(super) fn write_alpha(&self, range: Range, out: &mut [u8]) {
        let Some(lumas) = self.all.first() else { return };
        for ([.., alpha], luma) in out.as_chunks_mut::<4>().0.iter_mut().zip(&lumas.samples) {
            *alpha = to_u8(range.luma(*luma));
        }
    }

    /// Writes the colours of pixels of three or four channels.
    pub(super) fn write_colors(
        &self,
        colors: AvifColors,
        channels: usize,
        out: &mut [u8],
    ) -> Result<(), String> {
        let [lumas, blues, reds] = &self.all[..] else { return Ok(()) };
        let (matrix, is_full) = (Matrix::of(colors)?, colors.is_full_range);
        if matrix.needs_all_samples() && self.halved != (0, 0) {
            return Err("its AV1 data is RGB with fewer samples of two colours".into());
        }
        let range = Range::of(self.bits, is_full);
        let fixed = Fixed::of(matrix, is_full);
        // libavif cuts samples to 8 bits for libyuv, which converts 10 bits itself where there is alpha.
        let cut =
            if fixed.is_some() && (channels, self.bits) != (4, 10) { self.bits - 8 } else { 0 };
        let bits = self.bits - cut;
        let (mut blue, mut red) = (vec![0; lumas.width], vec![0; lumas.width]);
        let row_bytes = (lumas.width * channels).max(1);
        for (y, row) in out.chunks_exact_mut(row_bytes).enumerate() {
            self.upsample(blues, y, cut, &mut blue);
            self.upsample(reds, y, cut, &mut red);
            let samples = lumas.row(y).iter().zip(blue.iter().zip(&red));
            for (pixel, (&luma, (&blue, &red))) in row.chunks_exact_mut(channels).zip(samples) {
                let Some(rgb) = pixel.first_chunk_mut::<3>() else { continue };
                *rgb = match fixed {
                    Some(fixed) => {
                        fixed.rgb(to_u16(luma >> cut, bits), whole(blue, bits), whole(red, bits))
                    }
                    None => matrix.rgb(range, luma, sixteenths(blue), sixteenths(red)).map(to_u8),
                };
            }
        }
        Ok(())
    }

    /// Interpolates a row of a colour, cut by some bits, between the centres of its samples: of two the
    /// nearer has three quarters. The result is in 16ths.
    fn upsample(&self, plane: &Plane, y: usize, cut: u8, out: &mut [u32]) {
        let (across, down) = self.halved;
        let (near, far) = neighbours(y, down, plane.height);
        let (near, far) = (plane.row(near), plane.row(far));
        let mixed = |x: usize| {
            let at = |row: &[u16]| u32::from(row.get(x).copied().unwrap_or(0) >> cut);
            at(near) * 3 + at(far)
        };
        if across == 0 {
            out.iter_mut().enumerate().for_each(|(x, out)| *out = mixed(x) * 4);
            return;
        }
        for (x, out) in out.iter_mut().enumerate() {
            let (near, far) = neighbours(x, across, plane.width);
            *out = mixed(near) * 3 + mixed(far);
        }
        // libyuv repeats the last sample in an odd column, too.
        let is_odd = !out.len().is_multiple_of(2);
        if let Some(last) = out.last_mut().filter(|_| is_odd) {
            *last = mixed(plane.width.saturating_sub(1)) * 4;
        }
    }
}

/// Returns the nearest sample of a colour and the one beyond, for a place among the lumas.
fn neighbours(at: usize, halved: u8, len: usize) -> (usize, usize) {
    if halved == 0 {
        return (at, at);
    }
    let (near, last) = (at / 2, len.saturating_sub(1));
    let far = if at.is_multiple_of(2) { near.saturating_sub(1) } else { near + 1 };
    (near.min(last), far.min(last))
}

/// Repeats a sample of 8 to 12 bits, so that it fills 16.
fn to_u16(sample: u16, bits: u8) -> u16 {
    sample << (16 - bits) | sample >> (2 * bits - 16)
}

/// Rounds a sample in 16ths, and cuts it to 8 bits.
fn whole(sample: u32, bits: u8) -> u8 {
    (((sample + 8) >> 4) >> (bits - 8)).min(255) as u8
}

fn sixteenths(sample: u32) -> f32 {
    sample as f32 / 16.0
}

/// Rounds a level, of which 1 is the highest.
fn to_u8(level: f32) -> u8 {
    // A cast saturates to 8 bits.
    (level * 255.0 + 0.5) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_interpolated_between_centres_and_repeated_at_edges() {
        let at = |place| neighbours(place, 1, 3);
        assert_eq!([at(0), at(1), at(2), at(3)], [(0, 0), (0, 1), (1, 0), (1, 2)]);
        assert_eq!([at(4), at(5)], [(2, 1), (2, 2)]);
        assert_eq!(neighbours(5, 0, 6), (5, 5));
    }
}
