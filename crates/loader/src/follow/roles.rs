//! The role of each field that follows the image.
use super::MaskOptions;
use crate::fields::Asked;
use fdconvert_codec::is_gray16;
use fdconvert_core::{ArraySpec, DType, Error, FieldSpec, Kind, Reader, Result, Value};
use fdconvert_storage::sigbus;
use std::sync::Arc;

/// Form in which a batch shows a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The value as stored.
    Value,
    /// A mask: single values by nearest neighbour.
    Mask {
        /// True for values of two bytes.
        is_wide: bool,
        /// Value around the image.
        fill: u16,
    },
    /// Gray of 16 bits, such as depth: like a mask.
    Depth,
    /// An image in three channels, like the first one.
    Image,
    /// The objects in the image.
    Objects,
    /// A list of images, which are decoded at their own sizes, and not moved.
    List,
}

/// Number of samples probed for the contents of a column: the first readable one decides.
const PROBED: u64 = 64;

impl Role {
    /// Returns the role of a field that all datasets have.
    ///
    /// # Errors
    /// `Usage` for a mask that is not an image, and objects that are not JSON.
    pub(crate) fn of<'a>(
        FieldSpec { name, kind, .. }: &FieldSpec,
        asked: &Asked<'_>,
        readers: impl Iterator<Item = &'a Arc<dyn Reader>>,
    ) -> Result<Self> {
        if let Some(MaskOptions { fill, .. }) = asked.masks.iter().find(|it| it.field == *name) {
            if *kind != Kind::Image {
                let what = format!("`{name}` is of kind {}, and masks are images", kind.name());
                return Err(Error::usage("masks", what));
            }
            let (is_wide, fill) = (is_wide(name, readers), *fill);
            if fill > u8::MAX.into() && !is_wide {
                let what = format!(
                    "{fill} around `{name}` does not fit its values, which have 8 bits: take 0 to 255"
                );
                return Err(Error::usage("masks", what));
            }
            return Ok(Self::Mask { is_wide, fill });
        }
        if asked.objects.is_some_and(|objects| objects.field == *name) {
            if *kind != Kind::Json {
                let what = format!("`{name}` is of kind {}, and objects are JSON", kind.name());
                return Err(Error::usage("objects", what));
            }
            return Ok(Self::Objects);
        }
        Ok(match kind {
            Kind::Image if is_wide(name, readers) => Self::Depth,
            Kind::Image => Self::Image,
            Kind::Images => Self::List,
            _ => Self::Value,
        })
    }

    /// Returns true if the field is moved as the pixels of the image are.
    pub(crate) fn follows(self) -> bool {
        !matches!(self, Self::Value | Self::List)
    }

    /// Returns the kind that batches show for a field, in rows of that size.
    pub(crate) fn shown(self, kind: &Kind, (width, height): (u32, u32)) -> Kind {
        let array = |dtype, channels: &[u64]| {
            let shape = [&[height.into(), width.into()], channels].concat();
            Kind::Array(ArraySpec { dtype, shape, torch: false })
        };
        match self {
            Self::Value | Self::Objects | Self::List => kind.clone(),
            Self::Mask { is_wide: false, .. } => array(DType::U8, &[]),
            Self::Mask { is_wide: true, .. } | Self::Depth => array(DType::U16, &[]),
            Self::Image => array(DType::U8, &[3]),
        }
    }
}

/// Returns true if a dataset has gray values of 16 bits in a field, by its first samples. An
/// unreadable sample fails only when a row shows it.
fn is_wide<'a>(name: &str, mut readers: impl Iterator<Item = &'a Arc<dyn Reader>>) -> bool {
    readers.any(|reader| {
        let Some(position) = reader.schema().position(name) else { return false };
        let images = (0..reader.len().min(PROBED)).map(|index| {
            let sample = sigbus::caught(|| {
                let sample = reader.get(index)?;
                Ok(match sample.values.get(position) {
                    Some(Value::Image(image)) => Some(is_gray16(image)),
                    _ => None,
                })
            });
            sample.ok().flatten()
        });
        images.flatten().next() == Some(true)
    })
}
