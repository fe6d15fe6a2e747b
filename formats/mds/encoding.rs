//! Streaming's names of column types, and the types that a kind of field can have.
use super::shape::MAX_DIMS;
use bytes::Bytes;
use fdconvert_core::{ArraySpec, Codec, DType, Encoded, Kind, Pixels, Shown, bytes::u32_at};

/// Supported column types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Encoding {
    Jpeg,
    Png,
    Bytes,
    Str,
    Json,
    /// Little-endian, with this size in bytes.
    Int {
        bytes: u64,
        signed: bool,
    },
    Float {
        bytes: u64,
    },
    /// A fixed element type and shape.
    Array(ArraySpec),
    /// An array with a shape in each value, and with an element type there, too, if `None`.
    Shaped(Option<DType>),
    /// Raw pixels of Pillow, after their size and mode.
    Pil,
    /// An unsupported type; the column is left out.
    Unread(String),
}

impl Encoding {
    /// Parses the name of a type; the error says why it is unsupported.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let int = |bytes, signed| Self::Int { bytes, signed };
        Ok(match name {
            "jpeg" => Self::Jpeg,
            "png" => Self::Png,
            "pil" => Self::Pil,
            "bytes" => Self::Bytes,
            "str" | "str_int" | "str_float" | "str_decimal" => Self::Str,
            "json" => Self::Json,
            "int" | "int64" => int(8, true),
            "int8" => int(1, true),
            "int16" => int(2, true),
            "int32" => int(4, true),
            "uint8" => int(1, false),
            "uint16" => int(2, false),
            "uint32" => int(4, false),
            "uint64" => int(8, false),
            "float16" => Self::Float { bytes: 2 },
            "float32" => Self::Float { bytes: 4 },
            "float64" => Self::Float { bytes: 8 },
            "pkl" => return Err("`pkl` runs code when it is read".to_owned()),
            _ => match name.strip_prefix("ndarray") {
                Some(rest) => return parse_array(rest),
                None => return Err(format!("columns of type `{name}` cannot be read")),
            },
        })
    }

    /// Returns how a field is stored. `codec` is the common codec of all images, if any.
    pub(crate) fn of_field(kind: &Kind, codec: Option<Codec>) -> Option<Self> {
        Some(match kind {
            Kind::Image => match codec {
                Some(Codec::Jpeg) => Self::Jpeg,
                Some(Codec::Png) => Self::Png,
                _ => Self::Bytes,
            },
            Kind::Int => Self::Int { bytes: 8, signed: true },
            Kind::Float => Self::Float { bytes: 8 },
            Kind::Bytes | Kind::Images => Self::Bytes,
            Kind::Text => Self::Str,
            Kind::Json => Self::Json,
            Kind::Array(spec) if is_streamable(spec) => Self::Array(spec.clone()),
            Kind::Array(_) => Self::Bytes,
            _ => return None,
        })
    }

    /// Name of the type in the datasets that fdconvert writes.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Jpeg => "jpeg".to_owned(),
            Self::Png => "png".to_owned(),
            Self::Pil => "pil".to_owned(),
            Self::Unread(name) => name.clone(),
            Self::Bytes => "bytes".to_owned(),
            Self::Str => "str".to_owned(),
            Self::Json => "json".to_owned(),
            Self::Int { bytes: 8, signed: true } => "int".to_owned(),
            Self::Int { bytes, signed } => {
                format!("{}int{}", if *signed { "" } else { "u" }, bytes * 8)
            }
            Self::Float { bytes } => format!("float{}", bytes * 8),
            Self::Shaped(None) => "ndarray".to_owned(),
            Self::Shaped(Some(dtype)) => format!("ndarray:{}", dtype.name()),
            Self::Array(spec) => {
                let shape: Vec<_> = spec.shape.iter().map(u64::to_string).collect();
                format!("ndarray:{}:{}", dtype_name(spec.dtype).unwrap_or(""), shape.join(","))
            }
        }
    }

    /// Bytes of every value, if constant.
    pub(crate) fn size(&self) -> Option<u64> {
        match self {
            Self::Int { bytes, .. } | Self::Float { bytes } => Some(*bytes),
            Self::Array(spec) => spec.byte_len(),
            _ => None,
        }
    }

    /// Default kind of a field for this type.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Jpeg | Self::Png | Self::Pil => Kind::Image,
            Self::Bytes | Self::Shaped(_) | Self::Unread(_) => Kind::Bytes,
            Self::Str => Kind::Text,
            Self::Json => Kind::Json,
            Self::Int { .. } => Kind::Int,
            Self::Float { .. } => Kind::Float,
            Self::Array(spec) => Kind::Array(spec.clone()),
        }
    }

    /// Returns true if one field may have values of both types.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Shaped(_) | Self::Unread(_), _) | (_, Self::Shaped(_) | Self::Unread(_)) => {
                self == other
            }
            _ => self.kind() == other.kind(),
        }
    }

    /// Returns true if this type can store a field of that kind.
    pub(crate) fn fits(&self, kind: &Kind) -> bool {
        match (self, kind) {
            (Self::Bytes, Kind::Image | Kind::Images | Kind::Bytes | Kind::Array(_)) => true,
            (Self::Unread(_) | Self::Shaped(_), _) => false,
            (Self::Array(stored), Kind::Array(said)) => {
                (stored.dtype, &stored.shape) == (said.dtype, &said.shape)
            }
            (stored, kind) => stored.kind() == *kind,
        }
    }
}

/// Parses an image as stored in `pil`: width, height and the length of the mode, 4 bytes each, the
/// mode, and the pixels.
///
/// The error completes a sentence such as "the field ...".
pub(crate) fn pil(bytes: &Bytes) -> Result<Encoded, String> {
    let word = |at| u32_at(bytes, at).ok_or("is cut short: it has no size");
    let (width, height, mode_len) = (word(0)?, word(4)?, word(8)?);
    let start = usize::try_from(mode_len).ok().and_then(|len| len.checked_add(PIL_HEADER));
    let start =
        start.filter(|start| *start <= bytes.len()).ok_or("is cut short: it has no mode")?;
    let mode = bytes.get(PIL_HEADER..start).unwrap_or_default();
    let channels = match mode {
        b"L" => 1,
        b"RGB" => 3,
        mode => {
            return Err(format!(
                "is an image of Pillow's mode `{}`; of columns of type `pil` only RGB and L are \
                 read: write the dataset again as `png`",
                Shown(String::from_utf8_lossy(mode))
            ));
        }
    };
    let data = bytes.slice(start..);
    if width == 0 || height == 0 || Pixels::byte_len(width, height, channels) != data.len() as u64 {
        let mode = String::from_utf8_lossy(mode);
        return Err(format!("has {} bytes for {width}x{height} pixels of {mode}", data.len()));
    }
    Ok(Encoded::new(Codec::Raw, width, height, data))
}

/// Bytes before the mode.
const PIL_HEADER: usize = 12;

/// Streaming's name of an element type, if it has one.
fn dtype_name(dtype: DType) -> Option<&'static str> {
    let has = !matches!(dtype, DType::Bool | DType::C64 | DType::C128);
    has.then(|| dtype.name())
}

fn is_streamable(spec: &ArraySpec) -> bool {
    dtype_name(spec.dtype).is_some()
        && (1..=MAX_DIMS).contains(&spec.shape.len())
        && !spec.shape.contains(&0)
}

/// Parses the part after `ndarray`: nothing, `:DTYPE` or `:DTYPE:DIM,DIM`.
fn parse_array(rest: &str) -> Result<Encoding, String> {
    let unfit = || format!("`ndarray{rest}` is not an array of a fixed type and shape");
    if rest.is_empty() {
        return Ok(Encoding::Shaped(None));
    }
    let rest = rest.strip_prefix(':').ok_or_else(unfit)?;
    let known = |dtype| DType::ALL.into_iter().find(|known| dtype_name(*known) == Some(dtype));
    let Some((dtype, shape)) = rest.split_once(':') else {
        return known(rest).map(|dtype| Encoding::Shaped(Some(dtype))).ok_or_else(unfit);
    };
    let dtype = known(dtype);
    let shape: Option<Vec<u64>> = shape.split(',').map(|dim| dim.trim().parse().ok()).collect();
    let spec = dtype.zip(shape).map(|(dtype, shape)| ArraySpec { dtype, shape, torch: false });
    let fits = |spec: &ArraySpec| {
        is_streamable(spec) && spec.byte_len().is_some_and(|len| len <= u64::from(u32::MAX))
    };
    spec.filter(fits).map(Encoding::Array).ok_or_else(unfit)
}

/// Converts an IEEE 754 half.
pub(crate) fn half_to_f64(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    match exponent {
        0 => sign * fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let array = |dtype, shape| Kind::Array(ArraySpec { dtype, shape, torch: false });
        let arrays = DType::ALL.map(|dtype| array(dtype, vec![2, 3]));
        let odd = [array(DType::U8, vec![]), array(DType::U8, vec![3, 0])];
        let plain = [
            Kind::Image,
            Kind::Images,
            Kind::Int,
            Kind::Float,
            Kind::Bytes,
            Kind::Text,
            Kind::Json,
        ];
        for kind in plain.into_iter().chain(arrays).chain(odd) {
            for codec in [None, Some(Codec::Jpeg), Some(Codec::Png), Some(Codec::Bmp)] {
                let encoding = Encoding::of_field(&kind, codec).unwrap();
                assert!(encoding.fits(&kind), "{encoding:?}");
                assert_eq!(Encoding::parse(&encoding.name()), Ok(encoding));
            }
        }
        let name = Encoding::of_field(&array(DType::F32, vec![2, 3]), None).unwrap().name();
        assert_eq!(name, "ndarray:float32:2,3");
    }

    #[test]
    fn what_is_not_read_is_refused_by_name() {
        let names =
            ["list[pil]", "pkl", "jpeg_array", "list[jpeg]", "ndarrays", "ndarray:bool", "x"];
        let odd =
            ["ndarray:uint8:", "ndarray:uint8:0", "ndarray:bool:2", "ndarray:uint8:99999999999"];
        for name in names.into_iter().chain(odd) {
            let why = Encoding::parse(name).unwrap_err();
            assert!(why.contains(name), "{why}");
        }
    }

    #[test]
    fn halves_are_what_numpy_says() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_477_539_063e-8),
            (0x0400, 6.103_515_625e-5),
            (0xfc00, f64::NEG_INFINITY),
        ] {
            assert_eq!(half_to_f64(bits), value);
        }
        assert!(half_to_f64(0x7e00).is_nan());
    }
}
