//! The fields of one row that follow its image.
use super::{
    ObjectOptions, Objects, Role, RowGeometry, classes::category, objects::in_row, path::Path,
    placement::Nearest,
};
use crate::{
    decoding::{DecodeOptions, Needed, decode, upright_size},
    fields::{FieldValue, Fields, RowValues},
    transform::{Change, DType, Layout, Output, Painter, Tables, check_pixels, fuse},
};
use fdconvert_codec::{Decoder, Levels, is_gray16, orient, orientation};
use fdconvert_core::{Encoded, Error, Pixels, Result, Turn, Value, objects::Annotations};
use std::sync::Arc;

/// What follows the image in one view.
#[derive(Debug, Clone)]
pub(crate) struct Followed {
    pub(crate) geometry: RowGeometry,
    /// The objects of this one row, if they were requested.
    pub(crate) objects: Option<Objects>,
    /// Values of the fields that follow, except for the first view: there they are among the values
    /// of the row.
    pub(crate) values: Option<Arc<[FieldValue]>>,
}

#[derive(Debug, Clone)]
pub(crate) struct FollowOptions {
    pub(crate) decode: DecodeOptions,
    pub(crate) objects: Option<ObjectOptions>,
}

/// Transforms fields that follow the image; one for each decoding thread, for its buffers.
pub(crate) struct Follower {
    options: FollowOptions,
    painter: Painter,
    nearest: Nearest,
    pixels: Vec<u8>,
    /// Number of images that were rounded to 8 bits since this was read.
    pub(crate) n_rounded: u64,
}

/// The image of the row, which the fields follow.
pub(crate) struct Leader<'a> {
    pub(crate) dataset: u32,
    pub(crate) key: &'a str,
    /// Its changes in each view.
    pub(crate) changes: &'a [Vec<Change>],
    /// Size of its image after turning.
    pub(crate) source: (u32, u32),
    /// The stored image; `None` for one that is drawn.
    pub(crate) image: Option<&'a Encoded>,
}

impl Leader<'_> {
    /// Converts objects to the coordinates of the shown image: turned by EXIF, or as stored. They
    /// refer to the upright image, unless their size matches only the stored one.
    fn in_frame(&self, objects: Annotations, orient: bool) -> Result<Annotations, String> {
        let Some(image) = self.image.filter(|_| !objects.boxes.is_empty()) else {
            return Ok(objects);
        };
        let turned = orientation(image);
        let sides = |(width, height): (u32, u32)| [f64::from(width), f64::from(height)];
        let stored = sides((image.width, image.height));
        let upright = sides(upright_size(image, turned));
        let are_of_stored = stored != upright && objects.size == Some(stored);
        let turn = match (turned > 1, orient, are_of_stored) {
            (true, true, true) => Turn::upright(stored, turned),
            (true, false, false) => Turn::stored(objects.size.unwrap_or(upright), turned),
            _ => return Ok(objects),
        };
        objects.turned(turn)
    }
}

impl Follower {
    pub(crate) fn new(options: FollowOptions) -> Self {
        let (painter, nearest, pixels) = (Painter::default(), Nearest::default(), Vec::new());
        Self { options, painter, nearest, pixels, n_rounded: 0 }
    }

    /// Transforms the fields of a row for each view, and replaces their values by those of the first
    /// one.
    ///
    /// # Errors
    /// `Sample` or `Limit`, with key and field.
    pub(crate) fn follow(
        &mut self,
        decoder: &mut Decoder,
        leader: &Leader<'_>,
        fields: &Fields,
        values: &mut RowValues,
    ) -> Result<Vec<Followed>> {
        let source = leader.source;
        let geometry = |changes: &Vec<Change>| Followed {
            geometry: RowGeometry::new(changes, source),
            objects: None,
            values: None,
        };
        let mut views: Vec<Followed> = leader.changes.iter().map(geometry).collect();
        let Some(stored) = values.fields.as_deref().filter(|_| fields.follow()) else {
            return Ok(views);
        };
        let moving = |changes: &Vec<Change>| {
            changes.iter().filter(|change| change.moves_pixels()).cloned().collect()
        };
        let moves: Vec<Vec<Change>> = leader.changes.iter().map(moving).collect();
        for changes in &moves {
            check(changes, source).map_err(|what| Error::sample(leader.key, what))?;
        }
        let mut first = Vec::with_capacity(stored.len());
        let mut others = vec![Vec::new(); moves.len().saturating_sub(1)];
        for ((value, role), spec) in stored.iter().zip(fields.roles()).zip(fields.specs()) {
            let named = Named { key: leader.key, field: &spec.name };
            let shown = match (value, role) {
                (Value::Image(image), Role::Mask { .. } | Role::Depth) => {
                    self.levels(decoder, &named, image, leader, &moves, *role)?
                }
                (Value::Image(image), _) => self.image(decoder, &named, image, leader, &moves)?,
                (Value::Json(json), Role::Objects) => {
                    self.objects(json, leader, &moves, fields, &mut views)
                        .map_err(|what| named.error(&what))?;
                    vec![value.clone(); moves.len()]
                }
                (value, _) => {
                    first.push(value.clone());
                    continue;
                }
            };
            let mut shown = shown.into_iter();
            first.extend(shown.next());
            others.iter_mut().zip(shown).for_each(|(values, value)| values.push(value));
        }
        values.fields = Some(first.into());
        for (view, values) in views.iter_mut().skip(1).zip(others) {
            view.values = Some(values.into());
        }
        Ok(views)
    }

    fn objects(
        &mut self,
        json: &[u8],
        leader: &Leader<'_>,
        moves: &[Vec<Change>],
        fields: &Fields,
        views: &mut [Followed],
    ) -> Result<(), String> {
        let Some(options) = &self.options.objects else { return Ok(()) };
        let mut objects = Annotations::parse(json, options.segmentations)?;
        let classes = std::mem::take(&mut objects.classes);
        objects.classes.numbers = category(classes, fields.classes())?;
        let objects = leader.in_frame(objects, self.options.decode.orient)?;
        for (view, changes) in views.iter_mut().zip(moves) {
            let mut path = Path::new(changes, leader.source, &mut self.nearest);
            view.objects = Some(in_row(&objects, &mut path, options)?);
        }
        Ok(())
    }

    /// Moves single values by nearest neighbour, for each view.
    fn levels(
        &mut self,
        decoder: &mut Decoder,
        named: &Named<'_>,
        image: &Encoded,
        leader: &Leader<'_>,
        moves: &[Vec<Change>],
        role: Role,
    ) -> Result<Vec<FieldValue>> {
        let turned = self.options.decode.turn(image);
        named.check_size(upright_size(image, turned), leader.source)?;
        let pixels = &mut self.pixels;
        let levels = decoder
            .decode_levels_into(leader.key, image, &self.options.decode.limits, pixels)
            .map_err(|error| named.wrap(error))?;
        let Levels { width, height, n_bytes } = levels;
        let data = std::mem::take(pixels);
        let upright = orient(Pixels { width, height, channels: n_bytes, data }, turned);
        let size = (upright.width, upright.height);
        *pixels = upright.data;
        let fill = match role {
            Role::Mask { fill, .. } => fill.to_le_bytes(),
            _ => [0; 2],
        };
        let is_wide = match (n_bytes, role) {
            (2, Role::Mask { is_wide: true, .. } | Role::Depth) => true,
            // Levels with another scale than the others have.
            (_, Role::Depth) => {
                return Err(named.error(
                    "it has values of 8 bits or fewer, and the first sample of the dataset, which \
                     says what the column holds, has 16: store all of them alike",
                ));
            }
            // Labels of one byte in a column of two.
            (_, Role::Mask { is_wide: true, .. }) => {
                *pixels = pixels.iter().flat_map(|level| [*level, 0]).collect();
                true
            }
            (1, _) => false,
            _ => {
                return Err(named.error(
                    "it has values of 16 bits, and the first sample of the dataset, which decides \
                     about the column, has 8: store all of them alike",
                ));
            }
        };
        let Self { nearest, pixels, .. } = self;
        let moved = |changes: &Vec<Change>| {
            let row = if is_wide {
                nearest.moved::<2>(pixels, size, changes, fill)
            } else {
                nearest.moved::<1>(pixels, size, changes, [fill[0]])
            };
            Value::Array(row.into())
        };
        Ok(moves.iter().map(moved).collect())
    }

    /// Transforms an image like the first one, for each view.
    fn image(
        &mut self,
        decoder: &mut Decoder,
        named: &Named<'_>,
        image: &Encoded,
        leader: &Leader<'_>,
        moves: &[Vec<Change>],
    ) -> Result<Vec<FieldValue>> {
        if is_gray16(image) {
            return Err(named.error(
                "it has gray of 16 bits, and the first sample of the dataset, which says what the \
                 column holds, has not: store all of them alike",
            ));
        }
        let turned = self.options.decode.turn(image);
        let (key, source, pixels) = (leader.key, leader.source, &mut self.pixels);
        named.check_size(upright_size(image, turned), source)?;
        let mut stages: Vec<_> =
            moves.iter().map(|changes| fuse(changes.clone(), source)).collect();
        let needed = Needed::of(stages.iter().map(Vec::as_slice), source);
        let part = decode(decoder, (key, image), turned, needed, &self.options.decode, pixels)
            .map_err(|error| named.wrap(error))?;
        self.n_rounded += u64::from(part.is_rounded);
        let region = part.region(&self.pixels);
        let mut rows = Vec::with_capacity(stages.len());
        for (stages, changes) in stages.iter_mut().zip(moves) {
            let size = changes.iter().fold(source, |size, change| change.size(size));
            let output = Output {
                size,
                dtype: DType::U8,
                layout: Layout::Nhwc,
                channels: 3,
                normalise: None,
            };
            let mut row = vec![0; output.n_bytes()];
            self.painter
                .row(&region, stages, (&output, &Tables::new(&output)), &mut row)
                .map_err(|what| named.error(&what))?;
            rows.push(Value::Array(row.into()));
        }
        Ok(rows)
    }
}

/// Refuses changes for which masks would take too much memory: warps need all pixels.
fn check(changes: &[Change], source: (u32, u32)) -> Result<(), String> {
    let mut size = source;
    for change in changes {
        let after = change.size(size);
        if matches!(change, Change::Warp { .. }) {
            check_pixels(size)?;
            check_pixels(after)?;
        }
        size = after;
    }
    check_pixels(size)
}

/// A field of a sample, for messages.
struct Named<'a> {
    key: &'a str,
    field: &'a str,
}

impl Named<'_> {
    fn error(&self, what: &str) -> Error {
        Error::sample(self.key, format!("its field `{}`: {what}", self.field))
    }

    /// Adds the field to an error of decoding.
    fn wrap(&self, error: Error) -> Error {
        match error {
            Error::Sample { what, .. } => {
                let in_field = |what: &str| format!("its field `{}`: {what}", self.field);
                Error::sample(self.key, what.reworded(in_field))
            }
            other => other,
        }
    }

    /// Refuses an image of another size than the first one of its sample.
    fn check_size(&self, size: (u32, u32), leader: (u32, u32)) -> Result<()> {
        if size == leader {
            return Ok(());
        }
        let what = format!(
            "it is {}x{} next to an image of {}x{}, and only images of one size take the same crop: \
             store both at the same size, or leave the field out",
            size.0, size.1, leader.0, leader.1
        );
        Err(self.error(&what))
    }
}
