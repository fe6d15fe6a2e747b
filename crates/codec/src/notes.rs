use std::{fmt, ops};

/// Notes on the treatment of an image, as a set of flags.
///
/// A policy returns exactly one of [`KEPT`](Self::KEPT), [`REENCODED`](Self::REENCODED),
/// [`FELL_BACK`](Self::FELL_BACK), [`MADE`](Self::MADE), [`BASELINE`](Self::BASELINE) and
/// [`STRIPPED`](Self::STRIPPED), except for baseline JPEGs that were stripped, which have both; all
/// other flags add details.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Notes(u32);

impl Notes {
    /// No notes.
    pub const NONE: Self = Self(0);
    /// The source's bytes were stored as they are.
    pub const KEPT: Self = Self(1);
    /// The pixels were re-encoded.
    pub const REENCODED: Self = Self(1 << 1);
    /// The format could not hold the source's bytes: the pixels were stored without loss.
    pub const FELL_BACK: Self = Self(1 << 2);
    /// The image was made smaller.
    pub const RESIZED: Self = Self(1 << 3);
    /// The EXIF orientation was applied to the pixels.
    pub const ROTATED: Self = Self(1 << 4);
    /// The EXIF orientation was not applied to the pixels.
    pub const ROTATION_LEFT: Self = Self(1 << 5);
    /// The alpha channel was dropped or blended away.
    pub const ALPHA_DROPPED: Self = Self(1 << 6);
    /// More than 8 bits per channel were rounded to 8.
    pub const DEPTH_REDUCED: Self = Self(1 << 7);
    /// CMYK was converted to RGB.
    pub const CMYK_CONVERTED: Self = Self(1 << 8);
    /// A JPEG lacks its end marker, but has all pixels.
    pub const NO_END_MARKER: Self = Self(1 << 9);
    /// One gray channel became three equal ones.
    pub const GRAY_EXPANDED: Self = Self(1 << 10);
    /// The source made the pixels, so there were no stored bytes to keep.
    pub const MADE: Self = Self(1 << 11);
    /// An image of two gray levels became a JPEG of the same size.
    pub const BILEVEL_JPEG: Self = Self(1 << 12);
    /// The image was chosen to become BMP, but a BMP cannot hold it without loss, or is too large.
    pub const STAYED_ENCODED: Self = Self(1 << 13);
    /// The image was not chosen to become BMP, but its BMP is no larger than its encoded form.
    pub const BMP_SMALLER: Self = Self(1 << 14);
    /// A progressive JPEG became a baseline one with the same coefficients and markers.
    pub const BASELINE: Self = Self(1 << 15);
    /// A progressive JPEG ends, with its end marker, before every coefficient was sent.
    pub const COEFFICIENTS_LEFT_OUT: Self = Self(1 << 16);
    /// Only the first frame of an animation was stored.
    pub const FIRST_FRAME: Self = Self(1 << 17);
    /// Only the first page of a TIFF was stored.
    pub const FIRST_PAGE: Self = Self(1 << 23);
    /// Channels other than colours and alpha were left out.
    pub const CHANNELS_LEFT_OUT: Self = Self(1 << 24);
    /// The stored bytes are of a kind that cannot be decoded here.
    pub const NOT_DECODED: Self = Self(1 << 25);
    /// The stored bytes have more than 8 bits per channel.
    pub const DEPTH_KEPT: Self = Self(1 << 26);

    /// The stored bytes hold bands that are not an 8-bit picture.
    pub const BANDS_KEPT: Self = Self(1 << 27);

    /// Metadata was removed; the image data is that of the source byte for byte.
    pub const STRIPPED: Self = Self(1 << 18);
    /// The orientation of the removed EXIF was kept.
    pub const ORIENTATION_KEPT: Self = Self(1 << 19);
    /// The removed metadata contained a position.
    pub const GPS_REMOVED: Self = Self(1 << 20);
    /// An EXIF was removed as a whole, because it could not be parsed.
    pub const EXIF_UNREADABLE: Self = Self(1 << 21);
    /// Bytes after the end of the image were removed.
    pub const TAIL_REMOVED: Self = Self(1 << 22);

    /// Every note with its name in reports and a line of explanation.
    pub const ALL: [(Self, &'static str, &'static str); 28] = [
        (Self::KEPT, "kept", "stored byte for byte as in the source"),
        (Self::REENCODED, "re-encoded", "re-encoded"),
        (
            Self::FELL_BACK,
            "fell-back",
            "stored without loss, because the format cannot hold the source's bytes",
        ),
        (Self::RESIZED, "resized", "resized to the size limit"),
        (Self::ROTATED, "rotated", "turned upright by their EXIF orientation"),
        (
            Self::ROTATION_LEFT,
            "rotation-left",
            "not turned upright: the EXIF orientation is left to the decoder",
        ),
        (Self::ALPHA_DROPPED, "alpha-dropped", "stored without their alpha channel"),
        (Self::DEPTH_REDUCED, "depth-reduced", "rounded from more than 8 bits per channel to 8"),
        (
            Self::DEPTH_KEPT,
            "depth-kept",
            "kept with more than 8 bits per channel, which loaders round to 8 unless they ask for Bands",
        ),
        (
            Self::BANDS_KEPT,
            "bands-kept",
            "kept as they are: bands that are not an 8-bit picture, which loaders read with Bands",
        ),
        (Self::CMYK_CONVERTED, "cmyk-converted", "converted from four inks (CMYK) to RGB"),
        (
            Self::NO_END_MARKER,
            "no-end-marker",
            "without the JPEG end marker, but with all their pixels",
        ),
        (
            Self::GRAY_EXPANDED,
            "gray-expanded",
            "written as three equal channels instead of one gray one",
        ),
        (Self::MADE, "made", "encoded from the pixels that the source made"),
        (
            Self::BILEVEL_JPEG,
            "bilevel-jpeg",
            "two-level images became JPEG: lossy, and about five times the size of a 1-bit PNG",
        ),
        (
            Self::STAYED_ENCODED,
            "stayed-encoded",
            "stayed encoded: a BMP cannot hold them without loss, or is too large",
        ),
        (Self::BMP_SMALLER, "bmp-smaller", "became BMP because that is no larger"),
        (
            Self::BASELINE,
            "baseline",
            "rewritten from progressive to baseline JPEG, every coefficient the same",
        ),
        (
            Self::COEFFICIENTS_LEFT_OUT,
            "coefficients-left-out",
            "progressive JPEGs with scans that leave out coefficients (perhaps cut)",
        ),
        (Self::FIRST_FRAME, "first-frame", "animated: only the first frame of each is stored"),
        (Self::FIRST_PAGE, "first-page", "of several pages: only the first of each is stored"),
        (
            Self::CHANNELS_LEFT_OUT,
            "channels-left-out",
            "stored without their extra channels (such as infrared)",
        ),
        (
            Self::NOT_DECODED,
            "not-decoded",
            "cannot be decoded by fdconvert: their kind is not supported, and they are stored as they are",
        ),
        (Self::STRIPPED, "stripped", "stored without some metadata, the image data byte for byte"),
        (
            Self::ORIENTATION_KEPT,
            "orientation-kept",
            "lost their EXIF but for the orientation, which decoders need",
        ),
        (Self::GPS_REMOVED, "gps-removed", "had a position (GPS), which was removed"),
        (
            Self::EXIF_UNREADABLE,
            "exif-unreadable",
            "lost their EXIF as a whole, because the position in it could not be isolated",
        ),
        (
            Self::TAIL_REMOVED,
            "tail-removed",
            "had data after the end of the image (previews, videos), which was removed",
        ),
    ];

    /// Returns true if every note of `other` is in this set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if there are no notes.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[must_use]
    pub(crate) fn without(self, those: Self) -> Self {
        Self(self.0 & !those.0)
    }

    /// Returns `self` if `condition` holds, else nothing.
    #[must_use]
    pub(crate) fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::NONE }
    }

    /// Yields the notes in the set, each with its name and its explanation, in a fixed order.
    pub fn iter(self) -> impl Iterator<Item = (Self, &'static str, &'static str)> {
        Self::ALL.into_iter().filter(move |(note, ..)| self.contains(*note))
    }
}

impl ops::BitOr for Notes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl ops::BitOrAssign for Notes {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(_, name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_has_its_own_bit_and_name() {
        let mut all = Notes::NONE;
        for (note, name, about) in Notes::ALL {
            assert!(!all.contains(note) && !name.is_empty() && !about.is_empty());
            all |= note;
        }
        let mut names: Vec<_> = all.iter().map(|(_, name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Notes::ALL.len());
    }

    #[test]
    fn debug_shows_names() {
        assert_eq!(
            format!("{:?}", Notes::KEPT | Notes::ROTATION_LEFT),
            r#"{"kept", "rotation-left"}"#
        );
    }
}
