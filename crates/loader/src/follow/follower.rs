//! The fields of one row that follow its image.
use super::{
    ObjectOptions, Objects, Role, RowGeometry, classes::category, objects::in_row,
    placement::Nearest,
};
use crate::{
    decoding::{DecodeOptions, decode, upright_size},
    fields::{FieldValue, Fields, RowValues},
    transform::{Crop, DType, Geometry, Key, Layout, Output, Renderer},
};
use fdconvert_codec::{Decoder, Levels, is_gray16, orient, orientation};
use fdconvert_core::{Encoded, Error, Pixels, Result, Turn, Value, objects::Annotations};

/// Geometry and objects of a row with a field that follows the image.
#[derive(Debug, Clone)]
pub(crate) struct Followed {
    pub(crate) geometry: RowGeometry,
    /// The objects of this one row, if they were requested.
    pub(crate) objects: Option<Objects>,
}

#[derive(Debug, Clone)]
pub(crate) struct FollowOptions {
    pub(crate) decode: DecodeOptions,
    pub(crate) crop: Crop,
    pub(crate) mask_fill: u16,
    pub(crate) objects: Option<ObjectOptions>,
}

/// Transforms fields that follow the image; one for each decoding thread, for its buffers.
pub(crate) struct Follower {
    options: FollowOptions,
    renderer: Renderer,
    nearest: Nearest,
    pixels: Vec<u8>,
    /// Number of images that were rounded to 8 bits since this was read.
    pub(crate) n_rounded: u64,
}

/// The image of the row, which the fields follow.
pub(crate) struct Leader<'a> {
    pub(crate) dataset: u32,
    pub(crate) key: &'a str,
    pub(crate) geometry: &'a Geometry,
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
    /// # Errors
    /// `Usage` for invalid options.
    pub(crate) fn new(options: FollowOptions) -> Result<Self> {
        let (size, layout) = (options.decode.size, Layout::Nhwc);
        let output = Output { size, dtype: DType::U8, layout, normalise: None };
        let renderer = Renderer::new(output, None)?;
        let (nearest, pixels) = (Nearest::default(), Vec::new());
        Ok(Self { options, renderer, nearest, pixels, n_rounded: 0 })
    }

    /// Transforms the fields of a row, and replaces their values.
    ///
    /// # Errors
    /// `Sample` or `Limit`, with key and field.
    pub(crate) fn follow(
        &mut self,
        decoder: &mut Decoder,
        leader: &Leader<'_>,
        fields: &Fields,
        values: &mut RowValues,
    ) -> Result<Followed> {
        let geometry = RowGeometry::new(leader.geometry, leader.source, self.options.decode.size);
        let mut followed = Followed { geometry, objects: None };
        let Some(stored) = values.fields.as_deref().filter(|_| fields.follow()) else {
            return Ok(followed);
        };
        self.nearest.set(self.options.crop, &geometry);
        let orient = self.options.decode.orient;
        let mut shown = Vec::with_capacity(stored.len());
        for ((value, role), spec) in stored.iter().zip(fields.roles()).zip(fields.specs()) {
            let named = Named { key: leader.key, field: &spec.name };
            shown.push(match (value, role) {
                (Value::Image(image), Role::Mask { .. } | Role::Depth) => {
                    self.levels(decoder, &named, image, leader, *role)?
                }
                (Value::Image(image), _) => self.image(decoder, &named, image, leader)?,
                (Value::Json(json), Role::Objects) => {
                    if let Some(options) = &self.options.objects {
                        let objects = Annotations::parse(json, options.segmentations).and_then(
                            |mut objects| {
                                let classes = std::mem::take(&mut objects.classes);
                                objects.classes.numbers = category(classes, fields.classes())?;
                                let objects = leader.in_frame(objects, orient)?;
                                in_row(objects, (&geometry, &self.nearest), options)
                            },
                        );
                        followed.objects = Some(objects.map_err(|what| named.error(&what))?);
                    }
                    Value::Json(json.clone())
                }
                (value, _) => value.clone(),
            });
        }
        values.fields = Some(shown.into());
        Ok(followed)
    }

    /// Moves single values by nearest neighbour.
    fn levels(
        &mut self,
        decoder: &mut Decoder,
        named: &Named<'_>,
        image: &Encoded,
        leader: &Leader<'_>,
        role: Role,
    ) -> Result<FieldValue> {
        let turned = self.options.decode.turn(image);
        named.check_size(upright_size(image, turned), leader.source)?;
        let pixels = &mut self.pixels;
        let levels = decoder
            .decode_levels_into(leader.key, image, &self.options.decode.limits, pixels)
            .map_err(|error| named.wrap(error))?;
        let Levels { width, height, n_bytes } = levels;
        let data = std::mem::take(pixels);
        let upright = orient(Pixels { width, height, channels: n_bytes, data }, turned);
        let (fill, width) = (self.options.mask_fill.to_le_bytes(), upright.width);
        *pixels = upright.data;
        let row = match (n_bytes, role) {
            (2, Role::Mask { is_wide: true } | Role::Depth) => {
                self.nearest.take::<2>(&self.pixels, width, fill)
            }
            // Levels with another scale than the others have.
            (_, Role::Depth) => {
                return Err(named.error(
                    "it has values of 8 bits or fewer, and the first sample of the dataset, which \
                     says what the column holds, has 16: store all of them alike",
                ));
            }
            // Labels of one byte in a column of two.
            (_, Role::Mask { is_wide: true }) => {
                let wide: Vec<u8> = self.pixels.iter().flat_map(|level| [*level, 0]).collect();
                self.nearest.take::<2>(&wide, width, fill)
            }
            (1, _) => self.nearest.take::<1>(&self.pixels, width, [fill[0]]),
            _ => {
                return Err(named.error(
                    "it has values of 16 bits, and the first sample of the dataset, which decides \
                     about the column, has 8: store all of them alike",
                ));
            }
        };
        Ok(Value::Array(row.into()))
    }

    /// Transforms an image like the first one.
    fn image(
        &mut self,
        decoder: &mut Decoder,
        named: &Named<'_>,
        image: &Encoded,
        leader: &Leader<'_>,
    ) -> Result<FieldValue> {
        if is_gray16(image) {
            return Err(named.error(
                "it has gray of 16 bits, and the first sample of the dataset, which says what the \
                 column holds, has not: store all of them alike",
            ));
        }
        let turned = self.options.decode.turn(image);
        named.check_size(upright_size(image, turned), leader.source)?;
        let (key, pixels) = (leader.key, &mut self.pixels);
        let part =
            decode(decoder, (key, image), turned, leader.geometry, &self.options.decode, pixels)
                .map_err(|error| named.wrap(error))?;
        self.n_rounded += u64::from(part.is_rounded);
        let mut row = vec![0; self.renderer.output().n_bytes()];
        // Without augmentations there are no random choices.
        let nothing = Key { seed: 0, epoch: 0, sample: 0, occurrence: 0 };
        let region = part.region(&self.pixels);
        self.renderer
            .render(key, &region, leader.geometry, nothing, &mut row)
            .map_err(|error| named.wrap(error))?;
        Ok(Value::Array(row.into()))
    }
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
