use super::{BandForm, BandPixels, lines::LineWriter, planes::Planes};
use crate::transform::{
    Area, Change, Output,
    geometry::Rect,
    list::{Resample, Stage},
    painter::check_pixels,
};
use fdconvert_resize::Stretcher;

/// Makes rows of images of bands; one per thread, for its buffers, which are kept.
#[derive(Default)]
pub(crate) struct BandPainter {
    stretcher: Stretcher,
    image: Planes,
    made: Planes,
    /// A line of pixels, and the same as numbers.
    turned: Vec<u8>,
    line: Vec<f32>,
}

impl BandPainter {
    /// Writes the row of a batch: the image of these stages in the form of an output.
    ///
    /// # Errors
    /// The reason if pixels are missing or the stages make another size, as the end of a sentence. The
    /// contents of the row are unspecified then.
    pub(crate) fn row(
        &mut self,
        pixels: &BandPixels<'_>,
        stages: &[Stage],
        (form, output): (&BandForm, &Output),
        row: &mut [u8],
    ) -> Result<(), String> {
        if row.len() != output.n_bytes() {
            return Err(format!("{} bytes are not {}", row.len(), output.n_bytes()));
        }
        let mut writer = LineWriter::new(form, output, row);
        if let [Stage::Resample(resample)] = stages
            && resample.size == output.size
            && let Some(at) = whole_pixels(resample.rect, resample.size)
        {
            return self.copy(pixels, at, resample, &mut writer);
        }
        let mut is_first = true;
        for stage in stages {
            match stage {
                Stage::Resample(resample) => {
                    check_pixels(resample.size)?;
                    let Area { x, y, .. } = resample.needed;
                    let mut rect = resample.rect;
                    if is_first {
                        self.image.load(pixels, resample.needed)?;
                        rect = Rect { x: rect.x - f64::from(x), y: rect.y - f64::from(y), ..rect };
                    }
                    self.resample(rect, resample)?;
                }
                Stage::Change(change) => {
                    if is_first {
                        self.image.load(pixels, pixels.area)?;
                    }
                    check_pixels(change.size(self.image.size))?;
                    self.change(change)?;
                }
            }
            is_first = false;
        }
        if self.image.size != output.size {
            let (width, height) = self.image.size;
            return Err(format!("{width}x{height} are not {:?}", output.size));
        }
        self.write(&mut writer);
        Ok(())
    }

    /// Writes a cut without a resize, line by line.
    fn copy(
        &mut self,
        pixels: &BandPixels<'_>,
        (x, y): (u32, u32),
        resample: &Resample,
        writer: &mut LineWriter<'_>,
    ) -> Result<(), String> {
        let (width, height) = resample.size;
        let lines = pixels.lines(Area { x, y, width, height })?;
        let pixel_bytes = pixels.bands.pixel_bytes().max(1);
        for (number, line) in lines.enumerate() {
            let at = if resample.upside_down { height as usize - 1 - number } else { number };
            if resample.mirrored {
                self.turned.clear();
                self.turned.extend(line.rchunks_exact(pixel_bytes).flatten());
                writer.stored(at, &self.turned, pixels.bands, &mut self.line);
            } else {
                writer.stored(at, line, pixels.bands, &mut self.line);
            }
        }
        Ok(())
    }

    /// Writes the image, line by line.
    fn write(&mut self, writer: &mut LineWriter<'_>) {
        let Self { image, line, .. } = self;
        let (n, width) = (image.n(), image.size.0 as usize);
        line.resize(n * width, 0.0);
        for row in 0..image.size.1 as usize {
            for (band, plane) in image.planes().enumerate() {
                let from = plane.get(row * width..(row + 1) * width).unwrap_or_default();
                let to = line.iter_mut().skip(band).step_by(n.max(1));
                to.zip(from).for_each(|(to, from)| *to = *from);
            }
            writer.values(row, line);
        }
    }

    /// Stretches a rectangle of the image over a size, and flips it.
    fn resample(&mut self, rect: Rect, resample: &Resample) -> Result<(), String> {
        let Resample { size, mirrored, upside_down, .. } = *resample;
        let Self { stretcher, image, made, .. } = self;
        let Rect { x, y, width, height } = rect;
        if let Some((x, y)) = whole_pixels(rect, size) {
            self.cut((x.into(), y.into()), size);
        } else {
            made.resize(size, image.n());
            let (planes, made_planes) = (image.planes(), made.planes_mut());
            for (from, to) in planes.zip(made_planes) {
                // Undoes a rounding that is slightly outside.
                let (x, y) = (x.max(0.0), y.max(0.0));
                let width = width.min(f64::from(image.size.0) - x);
                let height = height.min(f64::from(image.size.1) - y);
                stretcher.floats((from, image.size), (x, y, width, height), size, to)?;
            }
            std::mem::swap(image, made);
        }
        if mirrored {
            self.image.rows_mut().for_each(<[f32]>::reverse);
        }
        if upside_down {
            let row = (size.0 as usize).max(1);
            for plane in self.image.planes_mut() {
                let half = plane.len() / row / 2 * row;
                let (upper, lower) = plane.split_at_mut(half);
                for (upper, lower) in upper.chunks_mut(row).zip(lower.rchunks_mut(row)) {
                    upper.swap_with_slice(lower);
                }
            }
        }
        Ok(())
    }

    fn change(&mut self, change: &Change) -> Result<(), String> {
        match change {
            Change::Crop { top, left, height, width } => self.cut((*left, *top), (*width, *height)),
            Change::Pad { padding: [left, top, ..], .. } => {
                let size = change.size(self.image.size);
                self.cut((-i64::from(*left), -i64::from(*top)), size);
            }
            // The list of transforms has no others.
            _ => return Err("bands do not have this change".into()),
        }
        Ok(())
    }

    /// Cuts a part out, with 0 where it is outside the image.
    fn cut(&mut self, (left, top): (i64, i64), size: (u32, u32)) {
        let Self { image, made, .. } = self;
        if (left, top) == (0, 0) && size == image.size {
            return;
        }
        made.resize(size, image.n());
        made.values.fill(0.0);
        let (width, height) = (i64::from(image.size.0), i64::from(image.size.1));
        // First column and their number, in the image and in the part.
        let first = left.clamp(0, width);
        let n_columns =
            (left.saturating_add(size.0.into()).clamp(0, width) - first).max(0) as usize;
        let at = first.saturating_sub(left).clamp(0, size.0.into()) as usize;
        for (from, to) in image.planes().zip(made.planes_mut()) {
            for (row, to) in to.chunks_exact_mut((size.0 as usize).max(1)).enumerate() {
                let row = top.saturating_add(row as i64);
                if !(0..height).contains(&row) {
                    continue;
                }
                let start = (row * width + first) as usize;
                let from = from.get(start..start + n_columns).unwrap_or_default();
                if let Some(to) = to.get_mut(at..at + from.len()) {
                    to.copy_from_slice(from);
                }
            }
        }
        std::mem::swap(image, made);
    }
}

/// Returns the corner of a rectangle of whole pixels that a resize to this size would not change.
fn whole_pixels(rect: Rect, size: (u32, u32)) -> Option<(u32, u32)> {
    let Rect { x, y, width, height } = rect;
    let is_whole = |at: f64| at == at.round() && at >= 0.0;
    let is_same = (width, height) == (f64::from(size.0), f64::from(size.1));
    (is_same && is_whole(x) && is_whole(y)).then_some((x as u32, y as u32))
}
