//! Carries out the stages of an image.
use super::{
    geometry::Area,
    list::{Change, Erased, Interpolation, Resample, Stage, Warp},
    output::{DType, Layout, Output, Tables},
    pixel::{
        self, Affine, BlurRows, Content, Counts, Curves, Gauss, Noise, Padding, Pixel, crop, erase,
        flip_columns, flip_rows, gaussian_blur, hue, mean_gray, perspective_coefficients,
        saturation, sharpness, to_grayscale, weighted_sum,
    },
    plan::{Plan, Region},
};
use fdconvert_core::{KeyedRandom, Limits};
use fdconvert_resize::Stretcher;

/// Makes images of decoded pixels; one per thread, for its buffers, which are kept.
#[derive(Default)]
pub(crate) struct Painter {
    stretcher: Stretcher,
    gray: Vec<u8>,
    image: Image,
    other: Vec<u8>,
    blur: BlurRows,
    sums: Vec<u16>,
    noise: Option<([f64; 3], [f64; 3], Box<Noise>)>,
}

/// RGB of a size.
#[derive(Debug, Clone, Default)]
struct Image {
    data: Vec<u8>,
    size: (u32, u32),
}

impl Image {
    fn pixels(&self) -> &[Pixel] {
        self.data.as_chunks().0
    }

    fn pixels_mut(&mut self) -> &mut [Pixel] {
        self.data.as_chunks_mut().0
    }
}

fn n_bytes((width, height): (u32, u32)) -> usize {
    width as usize * height as usize * 3
}

impl Painter {
    /// Writes the row of a batch: the image of these stages in the form of an output.
    ///
    /// # Errors
    /// The reason if the region lacks pixels or the stages make another size, as the end of a
    /// sentence. The contents of the row are unspecified then.
    pub(crate) fn row(
        &mut self,
        region: &Region<'_>,
        stages: &mut [Stage],
        (output, tables): (&Output, &Tables),
        row: &mut [u8],
    ) -> Result<(), String> {
        if row.len() != output.n_bytes() {
            return Err(format!("{} bytes are not {}", row.len(), output.n_bytes()));
        }
        let is_as_painted = (output.dtype, output.layout) == (DType::U8, Layout::Nhwc);
        if let [Stage::Resample(resample)] = stages
            && is_as_painted
            && (resample.size, resample.mirrored, resample.upside_down)
                == (output.size, false, false)
        {
            let plan = Plan::of(region, resample)?;
            return plan.resize(region, output.size, &mut self.stretcher, &mut self.gray, row);
        }
        let mirrored = take_last_mirror(stages);
        let (image, size) = self.paint(region, stages)?;
        if size != output.size {
            let (width, height) = size;
            return Err(format!("{width}x{height} are not {:?}", output.size));
        }
        tables.write(image, size.0 as usize, output.layout, mirrored, row);
        Ok(())
    }

    /// Carries out stages, the first of which takes its pixels from a decoded region; returns RGB,
    /// and its width and height.
    ///
    /// # Errors
    /// The reason if the region lacks pixels, as the end of a sentence.
    pub(crate) fn paint(
        &mut self,
        region: &Region<'_>,
        stages: &[Stage],
    ) -> Result<(&mut [u8], (u32, u32)), String> {
        let mut is_first = true;
        // Curves that are not applied yet, so that the next ones join them.
        let mut curves = None;
        for stage in stages {
            match stage {
                Stage::Resample(resample) => {
                    check_pixels(resample.size)?;
                    self.apply(&mut curves);
                    if is_first {
                        self.sample(region, resample)?;
                    } else {
                        let pixels = std::mem::take(&mut self.image.data);
                        let (width, height) = self.image.size;
                        let area = Area { x: 0, y: 0, width, height };
                        let own = Region { pixels: &pixels, area, channels: 3, denominator: 1 };
                        self.sample(&own, resample)?;
                    }
                }
                Stage::Change(change) => {
                    check_pixels(change.size(self.image.size))?;
                    self.change(change, &mut curves);
                }
            }
            is_first = false;
        }
        self.apply(&mut curves);
        Ok((&mut self.image.data, self.image.size))
    }

    /// Takes the pixels of a rectangle.
    fn sample(&mut self, region: &Region<'_>, resample: &Resample) -> Result<(), String> {
        let Resample { size, mirrored, upside_down, .. } = *resample;
        let plan = Plan::of(region, resample)?;
        self.image.size = size;
        self.image.data.resize(n_bytes(size), 0);
        plan.resize(region, size, &mut self.stretcher, &mut self.gray, &mut self.image.data)?;
        if mirrored {
            flip_columns(self.image.pixels_mut(), size.0);
        }
        if upside_down {
            flip_rows(self.image.pixels_mut(), size.0);
        }
        Ok(())
    }

    fn apply(&mut self, curves: &mut Option<Curves>) {
        if let Some(curves) = curves.take() {
            curves.apply(self.image.pixels_mut());
        }
    }

    fn change(&mut self, change: &Change, curves: &mut Option<Curves>) {
        if let Some(next) = self.curves(change, curves) {
            *curves = Some(match curves.take() {
                Some(before) => before.then(&next),
                None => next,
            });
            return;
        }
        self.apply(curves);
        match change {
            Change::AdjustSaturation(factor) => saturation(self.image.pixels_mut(), *factor),
            Change::AdjustHue(turn) => hue(self.image.pixels_mut(), *turn),
            Change::Grayscale => to_grayscale(self.image.pixels_mut()),
            Change::GaussianBlur { kernel_size: [columns, rows], sigma: [x, y] } => {
                let along = [Gauss::new(*columns as usize, *x), Gauss::new(*rows as usize, *y)];
                let size = self.image.size;
                self.made(size, |painter, from, to| {
                    gaussian_blur(from, size, to, [&along[0], &along[1]], &mut painter.blur);
                });
            }
            Change::AdjustSharpness(factor) => {
                let size = self.image.size;
                self.made(size, |painter, from, to| {
                    sharpness(from, size.0, to, *factor, &mut painter.sums);
                });
            }
            Change::HorizontalFlip => {
                let width = self.image.size.0;
                flip_columns(self.image.pixels_mut(), width);
            }
            Change::VerticalFlip => {
                let width = self.image.size.0;
                flip_rows(self.image.pixels_mut(), width);
            }
            Change::Crop { top, left, height, width } => {
                // Beyond any image, all is black.
                let start = [*left, *top].map(|at| at.clamp(-(1 << 30), 1 << 30) as i32);
                self.cut((start[0], start[1]), (*width, *height), Padding::Constant([0; 3]));
            }
            Change::Pad { padding: [left, top, ..], fill, padding_mode } => {
                let padding = padding_mode.padding(*fill);
                let start = (-(*left as i32), -(*top as i32));
                self.cut(start, change.size(self.image.size), padding);
            }
            Change::Resize { size: [height, width], .. } => self.nearest((*width, *height)),
            Change::Warp { warp, interpolation, fill } => {
                self.warp(warp, *interpolation, *fill);
            }
            Change::Erase { top, left, height, width, value } => {
                self.erase((*left, *top, *width, *height), value);
            }
            Change::Mix { weight, chains } => {
                let before = self.image.clone();
                let made: Vec<Vec<u8>> = chains
                    .iter()
                    .map(|chain| {
                        self.image.clone_from(&before);
                        let mut curves = None;
                        for change in &chain.changes {
                            self.change(change, &mut curves);
                        }
                        self.apply(&mut curves);
                        self.image.data.clone()
                    })
                    .collect();
                let chains = chains.iter().zip(&made);
                let images: Vec<_> = std::iter::once((before.pixels(), *weight as f32))
                    .chain(chains.map(|(chain, made)| (made.as_chunks().0, chain.weight as f32)))
                    .collect();
                weighted_sum(&images, self.image.pixels_mut());
            }
            // The others are curves.
            _ => {}
        }
    }

    /// Returns the curves of a change that maps levels, given those that are not applied yet.
    fn curves(&mut self, change: &Change, before: &mut Option<Curves>) -> Option<Curves> {
        Some(match change {
            Change::AdjustBrightness(factor) => Curves::brightness(*factor),
            Change::Solarize(threshold) => Curves::solarize(*threshold),
            Change::Posterize(n_bits) => Curves::posterize(u32::from(*n_bits)),
            Change::Invert => Curves::invert(),
            Change::AdjustContrast(factor) => {
                self.apply(before);
                Curves::contrast(*factor, mean_gray(self.image.pixels()))
            }
            Change::Autocontrast => Curves::autocontrast(self.counts(before).extremes()),
            Change::Equalize => Curves::equalize(&self.counts(before)),
            _ => return None,
        })
    }

    /// Returns the levels of the image after curves.
    fn counts(&self, curves: &Option<Curves>) -> Counts {
        let counts = Counts::of(self.image.pixels());
        curves.as_ref().map_or_else(|| counts.clone(), |curves| counts.after(curves))
    }

    /// Replaces the image by one of that size that is made from it.
    fn made(&mut self, size: (u32, u32), make: impl FnOnce(&mut Self, &[Pixel], &mut [Pixel])) {
        let mut to = std::mem::take(&mut self.other);
        to.resize(n_bytes(size), 0);
        let from = std::mem::take(&mut self.image.data);
        make(self, from.as_chunks().0, to.as_chunks_mut().0);
        (self.image.data, self.image.size, self.other) = (to, size, from);
    }

    fn cut(&mut self, start: (i32, i32), size: (u32, u32), padding: Padding<Pixel>) {
        let before = self.image.size;
        self.made(size, |_, from, to| crop(from, before, start, to, size.0, padding));
    }

    /// Resizes by the nearest neighbour above and to the left, as torchvision's `NEAREST`.
    fn nearest(&mut self, size: (u32, u32)) {
        let before = self.image.size;
        self.made(size, |_, from, to| {
            let place = |at: usize, n: u32, of: u32| {
                // In single precision, like torch.
                let place = (at as f32 * (of as f32 / n as f32)).floor() as usize;
                place.min((of as usize).saturating_sub(1))
            };
            for (y, row) in to.chunks_exact_mut((size.0 as usize).max(1)).enumerate() {
                let start = place(y, size.1, before.1) * before.0 as usize;
                for (x, pixel) in row.iter_mut().enumerate() {
                    let from = from.get(start + place(x, size.0, before.0));
                    *pixel = from.copied().unwrap_or_default();
                }
            }
        });
    }

    fn warp(&mut self, warp: &Warp, interpolation: Interpolation, fill: Pixel) {
        let Some(warp) = pixel_warp(warp, self.image.size) else { return };
        self.made(warp.output_size(), |_, from, to| match interpolation {
            Interpolation::Nearest => warp.nearest(from, to, fill),
            Interpolation::Bilinear => warp.bilinear(from, to, Some(fill)),
        });
    }

    fn erase(&mut self, area: (u32, u32, u32, u32), value: &Erased) {
        let width = self.image.size.0;
        match value {
            Erased::Constant(fill) => {
                erase(self.image.pixels_mut(), width, area, Content::Colour(*fill));
            }
            Erased::Pixels { key, mean, std } => {
                let known = self.noise.as_ref().is_some_and(|it| (it.0, it.1) == (*mean, *std));
                if !known {
                    self.noise = Some((*mean, *std, Box::new(Noise::new(*mean, *std))));
                }
                let Some((.., noise)) = &self.noise else { return };
                let mut random = KeyedRandom::new(&[*key]);
                let content = Content::Noise(noise, &mut random);
                erase(self.image.data.as_chunks_mut().0, width, area, content);
            }
        }
    }
}

/// Refuses sizes of images that would take too much memory on their way to a row.
///
/// # Errors
/// The reason, as the end of a sentence.
pub(crate) fn check_pixels((width, height): (u32, u32)) -> Result<(), String> {
    let most = Limits::DEFAULT.max_pixels;
    if u64::from(width) * u64::from(height) > most {
        return Err(format!(
            "it becomes {width}x{height} pixels on the way, more than {most}: cut it before it is \
             enlarged"
        ));
    }
    Ok(())
}

/// Takes a flip of left and right out of the last stage that moves pixels, for the pass into the row.
fn take_last_mirror(stages: &mut [Stage]) -> bool {
    for stage in stages.iter_mut().rev() {
        match stage {
            Stage::Resample(resample) => return std::mem::take(&mut resample.mirrored),
            Stage::Change(change) if change.is_pixel_by_pixel() => {}
            Stage::Change(_) => return false,
        }
    }
    false
}

/// Returns the transform of an image of that size; `None` for a perspective that has none.
pub(crate) fn pixel_warp(warp: &Warp, size: (u32, u32)) -> Option<pixel::Warp> {
    Some(match warp {
        Warp::Rotate { angle, expand, center } => {
            pixel::Warp::rotation(size, *angle, *expand, *center)
        }
        Warp::Affine { angle, translate, scale, shear, center } => {
            let affine = Affine {
                angle: *angle,
                translate: *translate,
                scale: *scale,
                shear: *shear,
                center: *center,
            };
            pixel::Warp::affine(size, &affine)
        }
        Warp::Perspective { startpoints, endpoints } => {
            let of = |points: &[[i64; 2]; 4]| points.map(|point| point.map(|at| at as f64));
            let coefficients = perspective_coefficients(of(startpoints), of(endpoints))?;
            pixel::Warp::perspective(size, coefficients)
        }
    })
}

#[cfg(test)]
mod tests;
