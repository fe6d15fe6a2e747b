use super::{
    camera::Camera,
    model::{Model, points_seed},
    weights::{SpaceWeights, base_row, space_weights},
};
use crate::{Bitmap, Formula, Place, SpaceSystem, cache::Recent, random::keyed};
use fdconvert_core::Result;
use std::sync::Arc;

/// Separate these streams from others of the same seed.
const TURNS: u64 = 0x5455;
const OTHER_ROWS: u64 = 0x4f52;

/// Number of redraws with other weights for an instance without a model, before it gets the
/// unweighted row.
const MAX_REDRAWS: u32 = 8;

/// Bytes of cached models, at 120 KB for 10,000 points: neighbouring views share one, and a small
/// dataset fits as a whole.
const MODEL_BYTES: u64 = 32 << 20;

pub(crate) struct SpaceSampler {
    size: u32,
    points: u32,
    rows: Vec<SpaceWeights>,
    base_row: u32,
    n_views: u32,
    /// Largest turn of a view, in degrees.
    turn: f64,
    /// Cameras of all views, if none is turned.
    cameras: Vec<Camera>,
    models: Recent<(u32, Option<Arc<Model>>)>,
}

impl SpaceSampler {
    /// Creates a sampler of this formula's images.
    ///
    /// # Errors
    /// `Usage` for weights that do not exist.
    pub(crate) fn new(formula: &Formula) -> Result<Self> {
        let rows = space_weights(formula.weight)?;
        let (size, n_views, turn) = (formula.frame.size(), formula.patches, formula.turn);
        let views = if turn == 0.0 { 0..n_views } else { 0..0 };
        let n_models = (formula.categories.len() * rows.len()) as u64;
        let model_bytes = u64::from(formula.frame.points()) * size_of::<[f32; 3]>() as u64;
        let n_kept = n_models.min(MODEL_BYTES / model_bytes.max(1));
        Ok(Self {
            size,
            points: formula.frame.points(),
            rows,
            base_row: base_row(formula.weight),
            n_views,
            turn,
            cameras: views.map(|view| Camera::new(view, n_views, 0.0, size)).collect(),
            models: Recent::new(n_kept as usize),
        })
    }

    /// Draws the image of a place, and returns the row of weights used. Without a model the image
    /// is empty.
    pub(crate) fn draw(&self, system: &SpaceSystem, seed: u64, place: &Place) -> (u32, Bitmap) {
        let number = u64::from(place.class) << 32 | u64::from(place.row);
        let (row, model) = self.models.get(number, || self.model(system, seed, place));
        let mut bitmap = Bitmap::new(self.size, self.size);
        let Some(model) = model else { return (row, bitmap) };
        let turned;
        let camera = match self.cameras.get(place.patch as usize) {
            Some(camera) => camera,
            None => {
                let turn = self.turn_of(seed, place);
                turned = Camera::new(place.patch, self.n_views, turn, self.size);
                &turned
            }
        };
        for point in &model.points {
            if let Some((x, y)) = camera.pixel(*point) {
                // The original keeps rows in OpenGL's order, the bottom first: its files show the
                // scene upside down. Bitmaps are turned over when they are written.
                bitmap.set(x, self.size - 1 - y);
            }
        }
        (row, bitmap)
    }

    /// Returns the turn of a view beyond its place on the circle, in degrees.
    pub(crate) fn turn_of(&self, seed: u64, place: &Place) -> f64 {
        if self.turn == 0.0 {
            return 0.0;
        }
        let image = place.row * self.n_views + place.patch;
        keyed(seed, TURNS, place.class, image).between(-self.turn, self.turn)
    }

    /// Returns the model of an instance, with other weights if those of its row give none.
    fn model(&self, system: &SpaceSystem, seed: u64, place: &Place) -> (u32, Option<Arc<Model>>) {
        let numpy_seed = points_seed(seed, place.class, place.row);
        let of_row = |row: u32| {
            let weights = self.rows.get(row as usize)?;
            Model::new(&system.weighted(weights), self.points, numpy_seed).map(Arc::new)
        };
        let mut row = place.row;
        let mut model = of_row(row);
        let mut random = keyed(seed, OTHER_ROWS, place.class, place.row);
        for redraw in 1..=MAX_REDRAWS {
            if model.is_some() {
                break;
            }
            row = random.below(self.rows.len() as u64) as u32;
            if redraw == MAX_REDRAWS {
                row = self.base_row;
            }
            model = of_row(row);
        }
        (row, model)
    }
}
