//! Draws the changes of a list for one image.
use super::{
    super::geometry::{Draw, inner, random},
    Chain, Change, EraseValue, Erased, Fill, Interpolation, PaddingMode, ResizeTo, Transform, Warp,
    policy::{self, Look, PARTIAL, USUAL, WIDE},
};
use fdconvert_core::KeyedRandom;
use std::f64::consts::TAU;

/// Key of all random choices for one view of a sample in one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawKey {
    /// Seed of the run.
    pub seed: u64,
    /// Epoch, from 0.
    pub epoch: u64,
    /// Number of the sample in the dataset, not its place in the epoch.
    pub sample: u64,
    /// Number of earlier occurrences of the sample in this epoch.
    pub occurrence: u64,
    /// Number of the view of the sample.
    pub view: u64,
}

/// Separates these draws from those of the order and of batches. Must never change.
const PURPOSE: u64 = 5;

impl DrawKey {
    /// Returns the random numbers of a place in the list.
    fn stream(self, place: u64) -> KeyedRandom {
        let Self { seed, epoch, sample, occurrence, view } = self;
        KeyedRandom::new(&[seed, epoch, sample, PURPOSE, occurrence, view, place])
    }
}

/// Draws the changes of a list for an image of this width and height. Transforms of the row's form
/// and of batches change nothing here.
///
/// # Errors
/// The reason if an image of this size cannot be changed so, as the end of a sentence.
pub(super) fn draw(
    list: &[Transform],
    size: (u32, u32),
    key: DrawKey,
) -> Result<Vec<Change>, String> {
    if size.0 == 0 || size.1 == 0 {
        return Err("an image has at least one pixel".into());
    }
    let mut drawing = Drawing { key, size, changes: Vec::with_capacity(list.len()) };
    drawing.all(list, 0)?;
    let mut size = size;
    for change in &drawing.changes {
        size = change.size(size);
        if size.0.max(size.1) > MOST_BETWEEN {
            let (width, height) = size;
            return Err(format!(
                "it becomes {width}x{height} pixels on the way: cut it before it is enlarged"
            ));
        }
    }
    Ok(drawing.changes)
}

/// Longest side of an image between two changes. What is resized and then cut never exists as a
/// whole, but its columns and rows are counted.
const MOST_BETWEEN: u32 = 1 << 24;

struct Drawing {
    key: DrawKey,
    /// Width and height after the changes so far.
    size: (u32, u32),
    changes: Vec<Change>,
}

impl Drawing {
    fn push(&mut self, change: Change) {
        self.size = change.size(self.size);
        self.changes.push(change);
    }

    /// Draws a list within the transform at `place`; each has streams of its own.
    fn all(&mut self, list: &[Transform], place: u64) -> Result<(), String> {
        for (transform, number) in list.iter().zip(1..) {
            self.one(transform, inside(place, number))?;
        }
        Ok(())
    }

    fn one(&mut self, transform: &Transform, place: u64) -> Result<(), String> {
        let mut stream = self.key.stream(place);
        let stream = &mut stream;
        match transform {
            Transform::Resize { size, max_size, interpolation } => {
                let size = resized(self.size, *size, *max_size);
                self.push(Change::Resize { size, interpolation: *interpolation });
            }
            Transform::CenterCrop { size: [height, width] } => {
                let top = middle(self.size.1, *height);
                let left = middle(self.size.0, *width);
                self.push(Change::Crop { top, left, height: *height, width: *width });
            }
            Transform::RandomCrop { size, padding, pad_if_needed, fill, padding_mode } => {
                let padding = padding.unwrap_or_default();
                self.crop(*size, padding, *pad_if_needed, *fill, *padding_mode, stream)?;
            }
            Transform::RandomResizedCrop { size, scale, ratio } => {
                let draw = &mut |draw| match draw {
                    Draw::Unit => stream.unit(),
                    Draw::Below(n) => stream.below(u64::from(n)) as f64,
                };
                let area = random((scale[0], scale[1]), (ratio[0], ratio[1]), self.size, draw);
                let (top, left) = (i64::from(area.y), i64::from(area.x));
                self.push(Change::Crop { top, left, height: area.height, width: area.width });
                self.push(bilinear(*size));
            }
            Transform::ScaleJitter { target_size, scale_range } => {
                let scale = stream.between(scale_range[0], scale_range[1]);
                let (width, height) = (f64::from(self.size.0), f64::from(self.size.1));
                let [target_height, target_width] = target_size.map(f64::from);
                let factor = (target_width / height).min(target_height / width) * scale;
                let side = |side: f64| ((side * factor) as u32).max(1);
                self.push(bilinear([side(height), side(width)]));
            }
            Transform::Letterbox { size: [height, width], fill } => {
                let area = inner((*width, *height), self.size);
                self.push(bilinear([area.height, area.width]));
                let (right, bottom) = (width - area.x - area.width, height - area.y - area.height);
                let padding = [area.x, area.y, right, bottom];
                if padding != [0; 4] {
                    let padding_mode = PaddingMode::Constant;
                    self.push(Change::Pad { padding, fill: *fill, padding_mode });
                }
            }
            Transform::Cover { size, random } => {
                let [rows, columns] = covering(self.size, *size);
                self.push(bilinear([rows, columns]));
                let [height, width] = *size;
                let mut start = |side: u32, cut: u32| match random {
                    true => stream.below(u64::from(side - cut) + 1) as i64,
                    false => middle(side, cut),
                };
                let (top, left) = (start(rows, height), start(columns, width));
                if [rows, columns] != *size {
                    self.push(Change::Crop { top, left, height, width });
                }
            }
            Transform::Bands { .. } => {}
            Transform::Pad { padding, fill, padding_mode } => {
                self.pad(*padding, *fill, *padding_mode);
            }
            Transform::RandomHorizontalFlip { p } => {
                self.push_if(stream.chance(*p), Change::HorizontalFlip);
            }
            Transform::RandomVerticalFlip { p } => {
                self.push_if(stream.chance(*p), Change::VerticalFlip);
            }
            Transform::RandomRotation { degrees, interpolation, expand, center, fill } => {
                let angle = stream.between(degrees[0], degrees[1]);
                let warp = Warp::Rotate { angle, expand: *expand, center: *center };
                self.warp(warp, *interpolation, *fill);
            }
            Transform::RandomAffine {
                degrees,
                translate,
                scale,
                shear,
                interpolation,
                fill,
                center,
            } => {
                let angle = stream.between(degrees[0], degrees[1]);
                let sides = [f64::from(self.size.0), f64::from(self.size.1)];
                let translate = translate.unwrap_or_default();
                let translate = std::array::from_fn(|axis| {
                    let most = translate[axis] * sides[axis];
                    stream.between(-most, most).round_ties_even()
                });
                let scale = scale.map_or(1.0, |[least, most]| stream.between(least, most));
                let shear = shear
                    .map_or([0.0; 2], |[a, b, c, d]| [stream.between(a, b), stream.between(c, d)]);
                let warp = Warp::Affine { angle, translate, scale, shear, center: *center };
                self.warp(warp, *interpolation, *fill);
            }
            Transform::RandomPerspective { distortion_scale, p, interpolation, fill } => {
                if stream.chance(*p) {
                    let warp = perspective(*distortion_scale, self.size, stream);
                    self.warp(warp, *interpolation, *fill);
                }
            }
            Transform::ColorJitter { brightness, contrast, saturation, hue } => {
                let mut value = |range: &Option<[f64; 2]>| {
                    range.map(|[least, most]| stream.between(least, most))
                };
                let mut changes = [
                    value(brightness).map(Change::AdjustBrightness),
                    value(contrast).map(Change::AdjustContrast),
                    value(saturation).map(Change::AdjustSaturation),
                    value(hue).map(Change::AdjustHue),
                ];
                shuffle(&mut changes, stream);
                changes.into_iter().flatten().for_each(|change| self.push(change));
            }
            Transform::Grayscale {} => self.push(Change::Grayscale),
            Transform::RandomGrayscale { p } => {
                self.push_if(stream.chance(*p), Change::Grayscale);
            }
            Transform::GaussianBlur { kernel_size, sigma } => {
                let sigma = [stream.between(sigma[0], sigma[1]); 2];
                self.push(Change::GaussianBlur { kernel_size: *kernel_size, sigma });
            }
            Transform::RandomInvert { p } => self.push_if(stream.chance(*p), Change::Invert),
            Transform::RandomPosterize { bits, p } => {
                self.push_if(stream.chance(*p), Change::Posterize(*bits));
            }
            Transform::RandomSolarize { threshold, p } => {
                self.push_if(stream.chance(*p), Change::Solarize(*threshold));
            }
            Transform::RandomAdjustSharpness { sharpness_factor, p } => {
                self.push_if(stream.chance(*p), Change::AdjustSharpness(*sharpness_factor));
            }
            Transform::RandomAutocontrast { p } => {
                self.push_if(stream.chance(*p), Change::Autocontrast);
            }
            Transform::RandomEqualize { p } => self.push_if(stream.chance(*p), Change::Equalize),
            Transform::RandomErasing { p, scale, ratio, value } => {
                if stream.chance(*p) {
                    self.erase(*scale, *ratio, *value, stream);
                }
            }
            Transform::AutoAugment { policy, interpolation, fill } => {
                let look = Look { interpolation: *interpolation, fill: *fill };
                let changes = policy::auto_augment(*policy, self.size, look, stream);
                changes.into_iter().for_each(|change| self.push(change));
            }
            Transform::RandAugment {
                num_ops,
                magnitude,
                num_magnitude_bins,
                interpolation,
                fill,
            } => {
                let look = Look { interpolation: *interpolation, fill: *fill };
                for _ in 0..*num_ops {
                    let bins = (*magnitude, *num_magnitude_bins);
                    let change = USUAL.draw(&policy::ALL, bins, self.size, look, stream);
                    change.into_iter().for_each(|change| self.push(change));
                }
            }
            Transform::TrivialAugmentWide { num_magnitude_bins, interpolation, fill } => {
                let look = Look { interpolation: *interpolation, fill: *fill };
                let bin = stream.below(u64::from(*num_magnitude_bins)) as u32;
                let bins = (bin, *num_magnitude_bins);
                let change = WIDE.draw(&policy::ALL, bins, self.size, look, stream);
                change.into_iter().for_each(|change| self.push(change));
            }
            Transform::AugMix {
                severity,
                mixture_width,
                chain_depth,
                alpha,
                all_ops,
                interpolation,
                fill,
            } => {
                let look = Look { interpolation: *interpolation, fill: *fill };
                let depth = u32::try_from(*chain_depth).ok().filter(|depth| *depth > 0);
                let ops: &[_] = if *all_ops { policy::MIXED_ALL } else { &policy::MIXED };
                let image = gamma(*alpha, stream);
                let weight = image / (image + gamma(*alpha, stream));
                let shares: Vec<f64> = (0..*mixture_width).map(|_| gamma(*alpha, stream)).collect();
                let sum: f64 = shares.iter().sum();
                let chains = shares.into_iter().map(|share| {
                    let depth = depth.unwrap_or_else(|| 1 + stream.below(3) as u32);
                    let changes = (0..depth).filter_map(|_| {
                        let bin = stream.below(u64::from(*severity)) as u32;
                        PARTIAL.draw(ops, (bin, 10), self.size, look, stream)
                    });
                    let changes = changes.collect();
                    Chain { weight: (1.0 - weight) * share / sum, changes }
                });
                let chains = chains.collect();
                self.push(Change::Mix { weight, chains });
            }
            Transform::RandomApply { transforms, p } => {
                if stream.chance(*p) {
                    self.all(transforms, place)?;
                }
            }
            Transform::RandomChoice { transforms, p } => {
                let p = p.as_deref().filter(|p| !p.is_empty());
                let number = choose(transforms.len(), p, stream);
                if let Some(chosen) = transforms.get(number) {
                    self.one(chosen, inside(place, number as u64 + 1))?;
                }
            }
            Transform::RandomOrder { transforms } => {
                let mut order: Vec<usize> = (0..transforms.len()).collect();
                shuffle(&mut order, stream);
                for number in order {
                    if let Some(next) = transforms.get(number) {
                        self.one(next, inside(place, number as u64 + 1))?;
                    }
                }
            }
            Transform::Normalize { .. }
            | Transform::ToDtype { .. }
            | Transform::ToLayout { .. }
            | Transform::MixUp { .. }
            | Transform::CutMix { .. } => {}
        }
        Ok(())
    }

    fn push_if(&mut self, is_made: bool, change: Change) {
        if is_made {
            self.push(change);
        }
    }

    fn warp(&mut self, warp: Warp, interpolation: Interpolation, fill: Fill) {
        self.push(Change::Warp { warp, interpolation, fill });
    }

    fn pad(&mut self, padding: [u32; 4], fill: Fill, padding_mode: PaddingMode) {
        if padding != [0; 4] {
            self.push(Change::Pad { padding, fill, padding_mode });
        }
    }

    fn crop(
        &mut self,
        [height, width]: [u32; 2],
        [mut left, mut top, mut right, mut bottom]: [u32; 4],
        pad_if_needed: bool,
        fill: Fill,
        padding_mode: PaddingMode,
        stream: &mut KeyedRandom,
    ) -> Result<(), String> {
        if pad_if_needed {
            let missing = |side: u32, size: u32, before: u32, after: u32| {
                side.saturating_sub(size.saturating_add(before).saturating_add(after))
            };
            let rows = missing(height, self.size.1, top, bottom);
            (top, bottom) = (top + rows, bottom + rows);
            let columns = missing(width, self.size.0, left, right);
            (left, right) = (left + columns, right + columns);
        }
        self.pad([left, top, right, bottom], fill, padding_mode);
        let (Some(rows), Some(columns)) =
            (self.size.1.checked_sub(height), self.size.0.checked_sub(width))
        else {
            let (found_width, found_height) = self.size;
            return Err(format!(
                "a crop of {width}x{height} is larger than the image of {found_width}x{found_height}: \
                 resize before it, or set `pad_if_needed`"
            ));
        };
        let top = stream.below(u64::from(rows) + 1) as i64;
        let left = stream.below(u64::from(columns) + 1) as i64;
        if (rows, columns) != (0, 0) {
            self.push(Change::Crop { top, left, height, width });
        }
        Ok(())
    }

    fn erase(
        &mut self,
        scale: [f64; 2],
        ratio: [f64; 2],
        value: EraseValue,
        stream: &mut KeyedRandom,
    ) {
        let (width, height) = self.size;
        let area = f64::from(width) * f64::from(height);
        let logs = ratio.map(f64::ln);
        for _ in 0..10 {
            let erased = area * stream.between(scale[0], scale[1]);
            let shape = stream.between(logs[0], logs[1]).exp();
            let rows = (erased * shape).sqrt().round_ties_even() as u32;
            let columns = (erased / shape).sqrt().round_ties_even() as u32;
            if rows < height && columns < width {
                let top = stream.below(u64::from(height - rows) + 1) as u32;
                let left = stream.below(u64::from(width - columns) + 1) as u32;
                let value = match value {
                    EraseValue::Constant(fill) => Erased::Constant(fill),
                    EraseValue::Pixels { mean, std } => {
                        Erased::Pixels { key: stream.next_u64(), mean, std }
                    }
                };
                self.push(Change::Erase { top, left, height: rows, width: columns, value });
                return;
            }
        }
    }
}

/// Returns the place of the transform with a number, from 1 on, in the list of another.
fn inside(place: u64, number: u64) -> u64 {
    match place {
        0 => number,
        outer => KeyedRandom::new(&[outer, number]).next_u64(),
    }
}

fn bilinear(size: [u32; 2]) -> Change {
    Change::Resize { size, interpolation: Interpolation::Bilinear }
}

/// Returns the height and width that `Resize` gives an image.
pub(super) fn resized(
    (width, height): (u32, u32),
    size: ResizeTo,
    max_size: Option<u32>,
) -> [u32; 2] {
    let short = match size {
        ResizeTo::Exact(size) => return size,
        ResizeTo::Short(short) => short,
    };
    let (least, most) = (width.min(height), width.max(height));
    let share =
        |a: u32, b: u32, of: u32| (f64::from(a) * f64::from(b) / f64::from(of.max(1))) as u32;
    let mut long = share(short, most, least);
    let mut short = short;
    if let Some(max_size) = max_size.filter(|max_size| long > *max_size) {
        (short, long) = (share(max_size, short, long).max(1), max_size);
    }
    if width <= height { [long, short] } else { [short, long] }
}

/// Returns the height and width, in the proportions of an image, that just cover a size.
fn covering((width, height): (u32, u32), [rows, columns]: [u32; 2]) -> [u32; 2] {
    let scaled = |side: u32, by: u32, of: u32, least: u32| {
        let exact = f64::from(side) * f64::from(by) / f64::from(of.max(1));
        (exact.round_ties_even() as u32).max(least)
    };
    if u64::from(width) * u64::from(rows) <= u64::from(height) * u64::from(columns) {
        [scaled(height, columns, width, rows), columns]
    } else {
        [rows, scaled(width, rows, height, columns)]
    }
}

/// Returns the start of a centred cut, negative if it is larger than the image: torchvision rounds
/// halves to the even neighbour, but pads less before the image than behind it.
fn middle(side: u32, cut: u32) -> i64 {
    let (side, cut) = (i64::from(side), i64::from(cut));
    match cut > side {
        true => -((cut - side) / 2),
        false => ((side - cut) as f64 / 2.0).round_ties_even() as i64,
    }
}

/// `RandomPerspective.make_params`.
fn perspective(distortion: f64, (width, height): (u32, u32), stream: &mut KeyedRandom) -> Warp {
    let (width, height) = (i64::from(width), i64::from(height));
    let bound = |side: i64| (distortion * (side / 2) as f64) as i64 + 1;
    let (columns, rows) = (bound(width), bound(height));
    let mut near = |n: i64| stream.below(n.unsigned_abs()) as i64;
    let endpoints = [
        [near(columns), near(rows)],
        [width - columns + near(columns), near(rows)],
        [width - columns + near(columns), height - rows + near(rows)],
        [near(columns), height - rows + near(rows)],
    ];
    let (right, bottom) = (width - 1, height - 1);
    Warp::Perspective { startpoints: [[0, 0], [right, 0], [right, bottom], [0, bottom]], endpoints }
}

/// Fisher and Yates.
fn shuffle<T>(all: &mut [T], stream: &mut KeyedRandom) {
    for last in (1..all.len()).rev() {
        all.swap(last, stream.below(last as u64 + 1) as usize);
    }
}

/// Returns a number below `n`, with probabilities in these proportions.
fn choose(n: usize, weights: Option<&[f64]>, stream: &mut KeyedRandom) -> usize {
    let Some(weights) = weights else { return stream.below(n as u64) as usize };
    let mut left = stream.unit() * weights.iter().sum::<f64>();
    for (number, weight) in weights.iter().enumerate() {
        if left < *weight {
            return number;
        }
        left -= weight;
    }
    // By rounding: the last one that may be chosen.
    weights.iter().rposition(|weight| *weight > 0.0).unwrap_or_default()
}

/// Returns a number of the gamma distribution: George Marsaglia and Wai Wan Tsang, "A Simple Method
/// for Generating Gamma Variables", ACM TOMS 26 (2000).
fn gamma(alpha: f64, stream: &mut KeyedRandom) -> f64 {
    if alpha < 1.0 {
        let power = libm::log(1.0 - stream.unit()) / alpha;
        return gamma(alpha + 1.0, stream) * libm::exp(power);
    }
    let d = alpha - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(stream);
        let v = (1.0 + c * x).powi(3);
        // Above 0, so that the logarithm is finite.
        let u = 1.0 - stream.unit();
        if v > 0.0 && libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

/// Returns a number of the normal distribution, by Box and Muller.
fn normal(stream: &mut KeyedRandom) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - stream.unit())).sqrt();
    radius * libm::cos(TAU * stream.unit())
}
