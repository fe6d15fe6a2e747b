//! Supported kinds of TIFFs, and descriptions of unsupported ones.
use super::{Directory, Tiff, tag};
use crate::{Bands, DType, bands::MOST_BANDS};

/// Meaning of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TiffColors {
    /// Gray.
    Gray {
        /// True if 0 is white.
        white_is_zero: bool,
    },
    /// Red, green, blue.
    Rgb,
    /// Indices into a colour map.
    Palette,
    /// Four inks.
    Cmyk,
    /// Luma and two chroma samples.
    Ycbcr,
}

pub(super) const YCBCR: u16 = 6;
pub(super) const JPEG: u16 = 7;

/// Numbers of the supported compressions.
const READ: [u16; 10] = [1, 3, 4, 5, 7, 8, 32_773, 32_946, 50_000, 50_001];

/// Maximum number of channels after the colours of an image; the same as in Pillow.
const MOST_FURTHER: u16 = 3;

impl TiffColors {
    /// Returns the number of colour samples per pixel.
    #[must_use]
    pub fn n_samples(self) -> u16 {
        match self {
            Self::Gray { .. } | Self::Palette => 1,
            Self::Rgb | Self::Ycbcr => 3,
            Self::Cmyk => 4,
        }
    }
}

/// Returns true if YCbCr is converted to RGB by the default rules: with the coefficients of CCIR
/// 601, black at 0, white at 255, and neutral chroma at 128. JPEGs always are.
pub(super) fn is_usual_ycbcr(directory: &Directory<'_>) -> Result<bool, String> {
    const CLOSE: f64 = 0.001;
    let are = |tag, usual: &[f64]| {
        if directory.entry(tag).is_none() {
            return Ok::<_, String>(true);
        }
        let Some(numbers) = directory.fractions(tag)? else { return Ok(false) };
        let number = |index| numbers.get(index).map(|number| number as f64);
        let is_it = |(index, usual): (u64, &f64)| {
            let fraction = number(2 * index).zip(number(2 * index + 1));
            fraction.is_some_and(|(above, below)| (above / below - usual).abs() < CLOSE)
        };
        Ok((0..).zip(usual).all(is_it))
    };
    Ok(are(tag::COEFFICIENTS, &[0.299, 0.587, 0.114])?
        && are(tag::BLACK_AND_WHITE, &[0.0, 255.0, 128.0, 255.0, 128.0, 255.0])?)
}

impl Tiff<'_> {
    /// Returns the meaning of the samples; `None` for an unsupported one, or if there are too few
    /// samples.
    #[must_use]
    pub fn colors(&self) -> Option<TiffColors> {
        let colors = match self.photometric? {
            0 => TiffColors::Gray { white_is_zero: true },
            1 => TiffColors::Gray { white_is_zero: false },
            2 => TiffColors::Rgb,
            3 => TiffColors::Palette,
            5 => TiffColors::Cmyk,
            YCBCR => TiffColors::Ycbcr,
            _ => return None,
        };
        (colors.n_samples() <= self.samples).then_some(colors)
    }

    /// Returns true if an alpha channel follows the colours.
    #[must_use]
    pub fn has_alpha(&self) -> bool {
        let colors = self.colors();
        let may_have = matches!(colors, Some(TiffColors::Gray { .. } | TiffColors::Rgb));
        may_have
            && colors.is_some_and(|colors| colors.n_samples() < self.samples)
            && matches!(self.extra(), Some(1 | 2))
    }

    /// Returns the number of channels that are neither colour nor alpha.
    #[must_use]
    pub fn n_further(&self) -> u16 {
        let shown = self.colors().map_or(self.samples, TiffColors::n_samples);
        self.samples.saturating_sub(shown + u16::from(self.has_alpha()))
    }

    /// Returns why this kind of TIFF is not supported, and what to do; `None` for a supported one.
    #[must_use]
    pub fn not_decoded(&self) -> Option<String> {
        self.no_picture().map(|what| self.as_bands(&what)).or_else(|| self.no_colors()).or_else(
            || {
                let name = self.compression_name()?;
                Some(format!(
                    "TIFF compressed as {name} is not supported; rewrite it first: \
                 `tiffcp -c zip in.tif out.tif` (libtiff)"
                ))
            },
        )
    }

    /// Describes the samples if they are not colours of 16 bits or fewer.
    fn no_picture(&self) -> Option<String> {
        let (bits, samples) = (self.bits, self.samples);
        let kind = match self.format {
            // 4 means undefined.
            1 | 4 if bits > 16 => "integers of",
            1 | 4 => "",
            2 => "signed integers of",
            3 => "floats of",
            _ => "complex numbers of",
        };
        let is_gray = matches!(self.photometric, Some(0 | 1));
        match (samples, kind) {
            (1, "") => None,
            (1, kind) => Some(format!("{kind} {bits} bits")),
            (2, "") => None,
            // Colours may be followed by alpha, infrared or depth; more channels are no image.
            (_, "") if !is_gray && self.n_further() <= MOST_FURTHER => None,
            (_, "") => Some(format!("{samples} channels of {bits} bits")),
            _ => Some(format!("{samples} channels of {kind} {bits} bits")),
        }
    }

    /// Returns the bands of the image as they are stored, whatever colours they stand for.
    ///
    /// # Errors
    /// Why it has none, with the cure: its values are of another type or packed otherwise, indices,
    /// or inside pictures.
    pub fn bands(&self) -> Result<Bands, String> {
        let refuse = |what: String| Err(format!("TIFF with {what} is not supported"));
        let (bits, n) = (self.bits, self.samples);
        let dtype = match (self.format, bits) {
            // 4 means undefined.
            (1 | 4, 8) => DType::U8,
            (1 | 4, 16) => DType::U16,
            (2, 16) => DType::I16,
            (3, 32) => DType::F32,
            _ => {
                let kind = match self.format {
                    1 | 4 => "integers",
                    2 => "signed integers",
                    3 => "floats",
                    _ => "complex numbers",
                };
                return Err(format!(
                    "TIFF with {kind} of {bits} bits is not supported; rewrite it with u8, u16, i16 or \
                     f32 first: `gdal_translate -ot Float32 in.tif out.tif` (GDAL)"
                ));
            }
        };
        if n > MOST_BANDS {
            return refuse(format!("{n} bands, which are more than {MOST_BANDS},"));
        }
        let differ = |numbers: Option<super::Numbers<'_>>, usual: u16| {
            numbers.is_some_and(|numbers| numbers.iter().any(|it| it != u64::from(usual)))
        };
        if differ(self.all_bits, bits) || differ(self.all_formats, self.format) {
            return refuse("bands of several types".into());
        }
        if let Some(name) = self.compression_name() {
            return refuse(format!("bands compressed as {name}"));
        }
        let is_packed = matches!(self.compression, 3 | 4 | JPEG | 50_001);
        let are_colors = matches!(self.photometric, Some(3 | YCBCR));
        if is_packed || are_colors {
            return refuse("colours, and not bands,".into());
        }
        let is_predicted = matches!(self.compression, 5 | 8 | 32_946 | 50_000);
        match self.predictor {
            1 | 2 => {}
            3 if dtype == DType::F32 => {}
            _ if !is_predicted => {}
            other => return refuse(format!("predictor {other} of {bits} bits")),
        }
        Ok(Bands { n, dtype })
    }

    /// The message for data that is not a picture, but may be bands.
    fn as_bands(&self, what: &str) -> String {
        match self.bands() {
            Ok(bands) => format!(
                "TIFF with {what} is not an 8-bit picture: keep the file (any format except mixed), and read it \
                 with the loader's Bands({bands})"
            ),
            Err(what) => what,
        }
    }

    fn no_colors(&self) -> Option<String> {
        let Some(colors) = self.colors() else {
            let what = match self.photometric {
                None => "that does not say what its samples mean",
                Some(4) => "that is a mask",
                Some(0..=6) => {
                    let samples = self.samples;
                    return Some(format!(
                        "TIFF with {samples} channels has too few for its colours"
                    ));
                }
                Some(8..=10) => "in CIE Lab",
                Some(32_803 | 34_892) => "with the raw values of a camera's sensor",
                Some(32_844 | 32_845) => "in LogLuv",
                Some(_) => "in a special colour space",
            };
            return Some(format!(
                "TIFF {what} is not supported; convert it to RGB first: \
                 `magick in.tif -colorspace sRGB out.png` (ImageMagick)"
            ));
        };
        if let Some(bits) =
            self.all_bits.filter(|bits| bits.iter().any(|it| it != u64::from(self.bits)))
        {
            let all: Vec<_> = bits.iter().take(8).map(|bits| bits.to_string()).collect();
            return Some(format!("TIFF with channels of {} bits is not supported", all.join(", ")));
        }
        let is_known = match (colors, self.compression) {
            // JPEG and WebP.
            (_, 7 | 50_001) => {
                self.bits == 8 && (self.is_planar || matches!(self.samples, 1 | 3 | 4))
            }
            (TiffColors::Ycbcr, _) => self.bits == 8,
            // Fax.
            (_, 3 | 4) => self.bits == 1 && self.samples == 1,
            (TiffColors::Palette, _) => matches!(self.bits, 1 | 2 | 4 | 8),
            _ => matches!(self.bits, 1 | 2 | 4 | 8 | 12 | 16),
        };
        if !is_known {
            let (bits, samples) = (self.bits, self.samples);
            let with = match colors {
                TiffColors::Palette => "a palette of".to_owned(),
                _ => format!("{samples} channels of"),
            };
            return Some(format!("TIFF with {with} {bits} bits is not supported"));
        }
        let is_block = colors == TiffColors::Ycbcr && self.compression != JPEG;
        if is_block && !self.is_usual_ycbcr {
            return Some(
                "TIFF in YCbCr with coefficients or levels of black and white of its own is not \
                 supported; rewrite it as RGB first: `tiff2rgba in.tif out.tif` (libtiff)"
                    .into(),
            );
        }
        if colors == TiffColors::Ycbcr && !self.is_plain_ycbcr() {
            return Some(
                "TIFF in YCbCr is not supported in this form; rewrite it as RGB first".into(),
            );
        }
        let is_predicted = matches!(self.compression, 5 | 8 | 32_946 | 50_000);
        let is_predictor = match self.predictor {
            1 => true,
            2 => matches!(self.bits, 8 | 16),
            _ => false,
        };
        (is_predicted && !is_predictor).then(|| {
            format!("TIFF with predictor {} of {} bits is not supported", self.predictor, self.bits)
        })
    }

    /// Returns true if YCbCr samples are in JPEGs, or in blocks of a supported form.
    fn is_plain_ycbcr(&self) -> bool {
        let is_jpeg = self.compression == JPEG;
        let is_block = self.predictor == 1 && matches!(self.subsampling(), (1 | 2 | 4, 1 | 2 | 4));
        self.samples == 3 && !self.is_planar && (is_jpeg || is_block)
    }

    /// The name of an unsupported compression.
    fn compression_name(&self) -> Option<String> {
        let name = match self.compression {
            3 if self.is_fax_2d() => "CCITT group 3 in two dimensions",
            known if READ.contains(&known) => return None,
            2 => "CCITT run lengths",
            6 => "JPEG of TIFF 6.0 (the old form)",
            9 | 10 | 34_661 => "JBIG",
            34_712 | 33_003 | 33_005 => "JPEG 2000",
            34_887 => "LERC",
            34_925 => "LZMA",
            50_002 | 52_546 => "JPEG XL",
            other => return Some(format!("number {other}")),
        };
        Some(name.to_owned())
    }
}
