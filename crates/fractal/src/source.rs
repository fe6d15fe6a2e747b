//! A formula as a dataset: any image by its number, in any order and from any thread.

use crate::{
    Bitmap, Category, Coin, Draw, ExactSampler, ExactScratch, Flip, Formula, Frame, Key,
    LanesSampler, LanesScratch, LanesSystem, LineClass, Owners, PatchScratch, Place, Sampler,
    Shape, SpaceSystem, System, Weights,
    cache::{Pool, Recent, Shared},
    coin_bitmap, patch,
    random::keyed,
    space::{SpaceSampler, points_seed},
};
use fdconvert_core::{
    Bilevel, Error, FieldSpec, Image, Kind, LanesImage, Look, Pixels, Result, Sample, Schema,
    Source, SourceFacts, Value, read_value,
};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU32, Ordering},
};

/// Gray of a point, as in FractalDB; a point of a three-dimensional fractal is white.
pub const GRAY: u8 = 127;

/// Share of covered pixels below which an image is called degenerate.
pub const DEGENERATE_FILL: f64 = 0.01;

/// Number of redraws with other weights for an image that is too empty, before it gets the
/// unweighted row.
const MAX_REDRAWS: u32 = 8;

/// Bytes of coverage that the exact sampler keeps: enough for all of FractalDB-1k, so that a
/// shuffled run renders every orbit once.
const CACHE_BYTES: usize = 512 << 20;

/// Separates the streams of [`KeyedRandom`].
const REDRAWS: u64 = 0x5244;
const EPOCHS: u64 = 0x4550;

/// The images of a [`Formula`], made on demand.
pub struct FractalSource {
    formula: Formula,
    facts: Box<SourceFacts>,
    rows: Vec<Weights>,
    /// Seed of the formula, or of the epoch.
    seed: u64,
    /// Created on first use, because it holds a number for each point.
    exact: OnceLock<ExactSampler>,
    lanes: LanesSampler,
    /// Present for formulas with views.
    space: Option<SpaceSampler>,
    /// Coverage of all rows of a category, from the exact sampler.
    coverages: Shared<Arc<[Arc<Bitmap>]>>,
    /// Coverage of an image, by its number without flips.
    recent: Recent<(u32, Arc<Bitmap>)>,
    systems: Recent<Arc<LanesSystem>>,
    owners: Recent<Arc<Owners>>,
    scratches: Pool<Scratch>,
    last_class: AtomicU32,
}

#[derive(Default)]
struct Scratch {
    exact: ExactScratch,
    lanes: LanesScratch,
    patch: PatchScratch,
}

/// Facts about a drawn image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {
    /// Place of the image in the dataset.
    pub place: Place,
    /// The row of weights it was drawn with, which differs from the place's if that one was too
    /// empty.
    pub row: u32,
    /// Share of lit pixels.
    pub fill: f64,
    /// True if its points cover almost nothing.
    pub degenerate: bool,
}

/// A drawn image, not yet turned.
enum Drawing {
    /// Two values: 0 and the formula's level.
    Bits(Arc<Bitmap>),
    /// Final pixels.
    Pixels(Pixels),
}

impl FractalSource {
    /// Creates the dataset of a formula. `name` is its name in records, e.g. the recipe.
    ///
    /// # Errors
    /// `Usage` for an invalid formula.
    pub fn new(formula: Formula, name: impl Into<String>) -> Result<Self> {
        formula.check()?;
        let names = formula.categories.iter().map(|category| category.name.clone()).collect();
        let schema = Schema::new(vec![
            FieldSpec::new("image", Kind::Image),
            FieldSpec::label("label", names),
            FieldSpec::new("meta", Kind::Json),
        ])?;
        let rows = formula.rows();
        let bitmap_bytes = size_of_val(formula.frame.bitmap().words());
        let capacity = CACHE_BYTES / (bitmap_bytes * rows.len()).max(1);
        Ok(Self {
            facts: Box::new(SourceFacts::new(name, schema, formula.len())),
            rows,
            seed: formula.seed,
            exact: OnceLock::new(),
            lanes: LanesSampler::new(formula.frame),
            space: formula.has_views().then(|| SpaceSampler::new(&formula)).transpose()?,
            coverages: Shared::new(capacity.min(formula.categories.len())),
            recent: Recent::new(256),
            systems: Recent::new(1024),
            owners: Recent::new(16),
            scratches: Pool::new(),
            last_class: AtomicU32::new(u32::MAX),
            formula,
        })
    }

    /// Returns the dataset with the instances of this epoch, if the formula's epochs differ; epoch
    /// 0 is the dataset itself. Categories and classes stay.
    ///
    /// # Errors
    /// None that [`new`](Self::new) did not have.
    pub fn at_epoch(&self, epoch: u64) -> Result<Self> {
        let mut source = Self::new(self.formula.clone(), self.name())?;
        if self.formula.varies && epoch > 0 {
            let (high, low) = ((epoch >> 32) as u32, epoch as u32);
            source.seed = keyed(self.formula.seed, EPOCHS, high, low).next_u64();
        }
        Ok(source)
    }

    /// Returns the dataset with images drawn at another size. As always, an image that would be too
    /// empty is drawn with other weights.
    ///
    /// # Errors
    /// `Usage` for a size that the frame cannot have.
    pub fn at_size(&self, size: u32) -> Result<Self> {
        let frame = &self.formula.frame;
        let frame = Frame::new(size, frame.pad(), frame.points())?;
        let formula = Formula { frame, ..self.formula.clone() };
        Ok(Self { seed: self.seed, ..Self::new(formula, self.name())? })
    }

    /// Returns the formula.
    #[must_use]
    pub fn formula(&self) -> &Formula {
        &self.formula
    }

    /// Draws image `index` as interleaved RGB, 8 bits a channel, rows from the top, into `out`.
    ///
    /// # Errors
    /// `Usage` when there is no such image.
    pub fn rgb_into(&self, index: u64, out: &mut Vec<u8>) -> Result<Facts> {
        let (facts, drawing) = self.draw(index)?;
        match drawing {
            Drawing::Bits(bitmap) => {
                bitmap.to_rgb_into(self.formula.level(), facts.place.flip, out);
            }
            Drawing::Pixels(pixels) if pixels.channels == 3 => *out = pixels.data,
            Drawing::Pixels(pixels) => {
                out.clear();
                out.extend(pixels.data.iter().flat_map(|gray| [*gray; 3]));
            }
        }
        Ok(facts)
    }

    /// Draws image `index` as pixels: one channel for gray, three for colour.
    ///
    /// # Errors
    /// `Usage` when there is no such image.
    pub fn pixels(&self, index: u64) -> Result<Pixels> {
        let (facts, drawing) = self.draw(index)?;
        Ok(match drawing {
            Drawing::Pixels(pixels) => pixels,
            Drawing::Bits(bitmap) => {
                let mut data = Vec::new();
                bitmap.to_gray_into(self.formula.level(), facts.place.flip, &mut data);
                Pixels { width: bitmap.width(), height: bitmap.height(), channels: 1, data }
            }
        })
    }

    /// Returns the shares of pixels that the points of a class light, for every row of weights: for
    /// the first image of each row without redraws, or the first view of three-dimensional systems.
    /// Empty for figures of lines.
    ///
    /// # Errors
    /// `Usage` when there is no such class.
    pub fn fills(&self, class: u32) -> Result<Vec<f64>> {
        let category = self.category(class).ok_or_else(|| {
            Error::usage("class", format!("{class} of {}", self.formula.categories.len()))
        })?;
        let rows = 0..self.formula.n_rows();
        let first = |row| Place { class, row, patch: 0, flip: Flip::Flip0 };
        let system = match &category.shape {
            Shape::Ifs(system) => system,
            Shape::Space(system) => {
                return rows.map(|row| Ok(self.draw_view(system, first(row))?.0.fill)).collect();
            }
            Shape::Lines(_) => return Ok(Vec::new()),
        };
        Ok(self.scratches.with(|scratch| {
            let fill = |row| {
                let instance = self.formula.instance(&first(row));
                let key = Key { seed: self.seed, class, instance };
                self.covered_by(system, row, key, scratch).fill()
            };
            rows.map(fill).collect()
        }))
    }

    /// Draws image `index` in its smallest form, with two levels if possible.
    ///
    /// # Errors
    /// `Usage` when there is no such image.
    pub fn image(&self, index: u64) -> Result<(Facts, Image)> {
        let (facts, drawing) = self.draw(index)?;
        let image = match drawing {
            Drawing::Pixels(pixels) => Image::Pixels(pixels),
            Drawing::Bits(bitmap) => {
                let mut bits = Vec::new();
                bitmap.to_msb_rows(facts.place.flip, &mut bits);
                let (width, height) = (bitmap.width(), bitmap.height());
                Image::Bilevel(Bilevel { width, height, levels: [0, self.formula.level()], bits })
            }
        };
        Ok((facts, image))
    }

    /// Returns the numbers from which image `index` can be drawn elsewhere; `None` if the lanes do
    /// not draw it, or it has more than one gray.
    ///
    /// # Errors
    /// `Usage` when there is no such image.
    pub fn lanes(&self, index: u64) -> Result<Option<LanesImage>> {
        let place = self.place(index)?;
        let Formula { frame, draw, sampler, min_fill, .. } = &self.formula;
        let is_drawn = *sampler == Sampler::Lanes64V1 && !draw.is_color();
        let (true, Some(Shape::Ifs(system))) =
            (is_drawn, self.category(place.class).map(|category| &category.shape))
        else {
            return Ok(None);
        };
        let prepared = self.prepared(system, place.row, place.class);
        if prepared.exact_orbit() {
            return Ok(None);
        }
        let key = self.instance_key(&place);
        Ok(Some(LanesImage {
            parameters: *prepared.parameters(),
            words: *prepared.words(),
            key: key.words(),
            side: frame.size(),
            pad: frame.pad(),
            points: frame.points(),
            patches: draw.is_patch(),
            least: least_pixels(frame.size(), *min_fill),
            mirror: place.flip.left_right(),
            turn: place.flip.top_bottom(),
            level: GRAY,
        }))
    }

    /// Makes the sample `index` around its image, in the schema's order.
    #[must_use]
    pub fn sample<I>(&self, facts: &Facts, image: I) -> Sample<I> {
        let place = &facts.place;
        let values = vec![
            Value::Image(image),
            Value::Int(place.class.into()),
            Value::Json(self.meta(facts)),
        ];
        Sample { key: self.formula.key(place), values }
    }

    /// Returns the metadata of an image: its origin and its fill.
    fn meta(&self, facts: &Facts) -> bytes::Bytes {
        let place = &facts.place;
        let category = self.category(place.class).map_or("", |category| category.name.as_str());
        let flip = Flip::ALL.iter().position(|flip| *flip == place.flip).unwrap_or(0);
        // Six decimals distinguish single pixels in the largest images used for training.
        let fill = (facts.fill * 1e6).round() / 1e6;
        if let Some(space) = &self.space {
            let meta = serde_json::json!({
                "category": category,
                "class": place.class,
                "instance": place.row,
                "weight_row": facts.row,
                "view": place.patch,
                "turn": space.turn_of(self.seed, place),
                "numpy_seed": points_seed(self.seed, place.class, place.row),
                "seed": self.seed,
                "fill": fill,
                "degenerate": facts.degenerate,
            });
            return meta.to_string().into();
        }
        let meta = serde_json::json!({
            "category": category,
            "class": place.class,
            "instance": self.formula.instance(place),
            "weight_row": facts.row,
            "count": place.patch,
            "flip": flip,
            "seed": self.seed,
            "fill": fill,
            "degenerate": facts.degenerate,
        });
        meta.to_string().into()
    }

    fn exact(&self) -> &ExactSampler {
        self.exact.get_or_init(|| ExactSampler::new(self.formula.frame))
    }

    fn category(&self, class: u32) -> Option<&Category> {
        self.formula.categories.get(class as usize)
    }

    /// # Errors
    /// `Usage` when there is no such image.
    fn place(&self, index: u64) -> Result<Place> {
        let place = self.formula.place(index);
        place.ok_or_else(|| {
            Error::usage("index", format!("{index} of {} images", self.formula.len()))
        })
    }

    fn instance_key(&self, place: &Place) -> Key {
        let instance = self.formula.instance(place);
        Key { seed: self.seed, class: place.class, instance }
    }

    fn draw(&self, index: u64) -> Result<(Facts, Drawing)> {
        let place = self.place(index)?;
        let category = self
            .category(place.class)
            .ok_or_else(|| Error::usage("index", format!("{index} is of class {}", place.class)))?;
        match &category.shape {
            Shape::Lines(class) => self.draw_lines(class, place),
            Shape::Space(system) => self.draw_view(system, place),
            Shape::Ifs(system) => {
                Ok(self.scratches.with(|scratch| self.draw_points(system, place, scratch)))
            }
        }
    }

    fn draw_lines(&self, class: &LineClass, place: Place) -> Result<(Facts, Drawing)> {
        let instance = self.formula.instance(&place);
        let size = self.formula.frame.size();
        let pixels = class.render(self.seed, place.class, instance, size)?;
        let background = class.family().background();
        let lit = pixels.data.iter().filter(|gray| **gray != background).count();
        let fill = lit as f64 / pixels.data.len().max(1) as f64;
        let facts = Facts { place, row: place.row, fill, degenerate: false };
        Ok((facts, Drawing::Pixels(pixels)))
    }

    fn draw_view(&self, system: &SpaceSystem, place: Place) -> Result<(Facts, Drawing)> {
        let none = || Error::usage("sampler", "the formula has no views");
        let (row, bitmap) = self.space.as_ref().ok_or_else(none)?.draw(system, self.seed, &place);
        let fill = bitmap.fill();
        let facts = Facts { place, row, fill, degenerate: fill < DEGENERATE_FILL };
        Ok((facts, Drawing::Bits(Arc::new(bitmap))))
    }

    fn draw_points(
        &self,
        system: &System,
        place: Place,
        scratch: &mut Scratch,
    ) -> (Facts, Drawing) {
        let formula = &self.formula;
        let key = self.instance_key(&place);
        let number = u64::from(key.class) << 32 | u64::from(key.instance);
        let (row, covered) = self.recent.get(number, || self.covered(system, &place, key, scratch));
        let degenerate = covered.fill() < DEGENERATE_FILL;
        let coin = Coin::new(key.words());
        let (size, frame) = (formula.frame.size(), formula.frame);
        let drawing = match formula.draw {
            Draw::PointGray => Drawing::Bits(covered),
            Draw::PatchGray => {
                let mut patches = frame.bitmap();
                patch(&covered, coin, &mut patches, &mut scratch.patch);
                Drawing::Bits(Arc::new(patches))
            }
            Draw::PointColor => {
                Drawing::Pixels(self.owners(system, row, key, scratch).point_color(place.flip))
            }
            Draw::PatchColor => {
                let coins = coin_bitmap(coin, size, size);
                let owners = self.owners(system, row, key, scratch);
                Drawing::Pixels(owners.patch_color(&coins, place.flip))
            }
        };
        let fill = match &drawing {
            Drawing::Bits(bitmap) => bitmap.fill(),
            Drawing::Pixels(pixels) => {
                let (colors, _) = pixels.data.as_chunks::<3>();
                let lit = colors.iter().filter(|color| **color != [0; 3]).count();
                lit as f64 / colors.len().max(1) as f64
            }
        };
        (Facts { place, row, fill, degenerate }, drawing)
    }

    /// Returns the pixels that the points of an image cover, and their row of weights.
    fn covered(
        &self,
        system: &System,
        place: &Place,
        key: Key,
        scratch: &mut Scratch,
    ) -> (u32, Arc<Bitmap>) {
        let mut row = place.row;
        let mut covered = self.covered_by(system, row, key, scratch);
        if covered.fill() >= self.formula.min_fill {
            return (row, covered);
        }
        let mut random = keyed(self.seed, REDRAWS, key.class, key.instance);
        for redraw in 1..=MAX_REDRAWS {
            row = (random.next_u64() % self.rows.len().max(1) as u64) as u32;
            if redraw == MAX_REDRAWS {
                row = self.formula.base_row();
            }
            covered = self.covered_by(system, row, key, scratch);
            if covered.fill() >= self.formula.min_fill {
                break;
            }
        }
        (row, covered)
    }

    fn covered_by(
        &self,
        system: &System,
        row: u32,
        key: Key,
        scratch: &mut Scratch,
    ) -> Arc<Bitmap> {
        match self.formula.sampler {
            Sampler::FractaldbV1 => self.exactly_covered(system, row, key.class, scratch),
            // A checked formula has no systems of the plane with the three-dimensional sampler.
            Sampler::Lanes64V1 | Sampler::MvFractaldbV1 => {
                let mut bitmap = self.formula.frame.bitmap();
                let prepared = self.prepared(system, row, key.class);
                self.lanes.coverage(&prepared, key, &mut scratch.lanes, &mut bitmap);
                Arc::new(bitmap)
            }
        }
    }

    /// The exact sampler draws all rows of a category in little more time than two of them, so it
    /// draws all, unless reads alternate between more categories than are kept.
    fn exactly_covered(
        &self,
        system: &System,
        row: u32,
        class: u32,
        scratch: &mut Scratch,
    ) -> Arc<Bitmap> {
        let pick = |all: Arc<[Arc<Bitmap>]>| all.get(row as usize).cloned();
        let last = self.last_class.swap(class, Ordering::Relaxed);
        let n_classes = self.formula.categories.len() as u32;
        let in_order = class.abs_diff(last) <= 1;
        let all = match self.coverages.peek(class) {
            Some(all) => Some(all),
            None if in_order || self.coverages.capacity() >= n_classes as usize => {
                let ahead = if in_order { n_classes } else { class + 1 };
                Some(self.coverages.get(class, ahead, |class| self.all_rows(class)))
            }
            None => None,
        };
        all.and_then(pick).unwrap_or_else(|| {
            let weights = self.rows.get(row as usize..).and_then(<[_]>::first).copied();
            let weights = weights.unwrap_or(crate::NO_WEIGHTS);
            let mut one = Vec::new();
            self.exact().coverage(system, &[weights], &mut one, &mut scratch.exact);
            Arc::new(one.pop().unwrap_or_else(|| self.formula.frame.bitmap()))
        })
    }

    fn all_rows(&self, class: u32) -> Arc<[Arc<Bitmap>]> {
        let Some(Shape::Ifs(system)) = self.category(class).map(|category| &category.shape) else {
            return Arc::new([]);
        };
        let mut bitmaps = Vec::new();
        self.scratches.with(|scratch| {
            self.exact().coverage(system, &self.rows, &mut bitmaps, &mut scratch.exact);
        });
        bitmaps.into_iter().map(Arc::new).collect()
    }

    fn prepared(&self, system: &System, row: u32, class: u32) -> Arc<LanesSystem> {
        let number = u64::from(class) * self.rows.len() as u64 + u64::from(row);
        self.systems.get(number, || Arc::new(LanesSystem::new(&self.weighted(system, row))))
    }

    fn weighted(&self, system: &System, row: u32) -> System {
        self.rows.get(row as usize).map_or_else(|| system.clone(), |row| system.weighted(row))
    }

    fn owners(&self, system: &System, row: u32, key: Key, scratch: &mut Scratch) -> Arc<Owners> {
        match self.formula.sampler {
            // The same for all images of a row.
            Sampler::FractaldbV1 => {
                let number = u64::from(key.class) * self.rows.len() as u64 + u64::from(row);
                let system = self.weighted(system, row);
                self.owners.get(number, || Arc::new(self.exact().owners(&system)))
            }
            Sampler::Lanes64V1 | Sampler::MvFractaldbV1 => {
                let number = u64::from(key.class) << 32 | u64::from(key.instance);
                let prepared = self.prepared(system, row, key.class);
                self.owners
                    .get(number, || Arc::new(self.lanes.owners(&prepared, key, &mut scratch.lanes)))
            }
        }
    }
}

impl Source for FractalSource {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let (facts, image) = self.image(index)?;
        Ok(self.sample(&facts, image))
    }

    fn key(&self, index: u64) -> String {
        self.formula.place(index).map(|place| self.formula.key(&place)).unwrap_or_default()
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        if self.schema().label() != Some(field) {
            return read_value(self, index, field);
        }
        Ok(self.formula.place(index).map(|place| Value::Int(place.class.into())))
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok(self.formula.fingerprint())
    }
}

/// Returns the fewest pixels that are at least this share of the square.
fn least_pixels(side: u32, share: f64) -> u32 {
    let area = f64::from(side) * f64::from(side);
    // The product may be rounded to either side of the quotient.
    let mut least = ((share * area) as u32).saturating_sub(1);
    while f64::from(least) / area.max(1.0) < share && f64::from(least) < area {
        least += 1;
    }
    least
}

#[cfg(test)]
mod tests {
    use super::least_pixels;

    #[test]
    fn the_least_pixels_are_the_first_that_are_enough() {
        for side in [9_u32, 64, 224, 362, 16_384] {
            let area = f64::from(side) * f64::from(side);
            for share in [0.0, 1e-12, 0.01, 0.05, 0.1, 0.3, 1.0 / 3.0, 0.999_999, 1.0] {
                let least = least_pixels(side, share);
                assert!(f64::from(least) / area >= share, "{side} {share}");
                let below = least.checked_sub(1).map(f64::from);
                assert!(below.is_none_or(|below| below / area < share), "{side} {share}");
            }
        }
    }
}
