use std::{fmt, ops, str::FromStr};

/// A kind of metadata, as named by the option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum MetadataKind {
    /// Camera data: EXIF, including the position in it.
    Exif,
    /// The position only: the GPS directory of an EXIF, and XMP packets that name a position.
    Gps,
    /// XMP packets.
    Xmp,
    /// Data of agencies: IPTC, and other resources of Photoshop.
    Iptc,
    /// Comments, and texts with a keyword.
    Comments,
    /// The colour profile.
    Icc,
    /// All but the colour profile, including kinds without a name here.
    All,
}

impl MetadataKind {
    const NAMED: [(Self, &'static str); 7] = [
        (Self::Exif, "exif"),
        (Self::Gps, "gps"),
        (Self::Xmp, "xmp"),
        (Self::Iptc, "iptc"),
        (Self::Comments, "comments"),
        (Self::Icc, "icc"),
        (Self::All, "all"),
    ];
}

impl fmt::Display for MetadataKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::NAMED.into_iter().find(|(kind, _)| kind == self);
        f.write_str(named.map_or("", |(_, name)| name))
    }
}

impl FromStr for MetadataKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::NAMED.into_iter().find(|(_, name)| *name == text.trim());
        found.map(|(kind, _)| kind).ok_or_else(|| {
            let names = Self::NAMED.map(|(_, name)| name).join(", ");
            format!("unknown `{text}`; expected one of: {names}")
        })
    }
}

/// A set of kinds of metadata.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Metadata(u8);

impl Metadata {
    /// No metadata.
    pub const NONE: Self = Self(0);
    /// See [`MetadataKind::Exif`].
    pub const EXIF: Self = Self(1);
    /// See [`MetadataKind::Gps`].
    pub const GPS: Self = Self(1 << 1);
    /// See [`MetadataKind::Xmp`].
    pub const XMP: Self = Self(1 << 2);
    /// See [`MetadataKind::Iptc`].
    pub const IPTC: Self = Self(1 << 3);
    /// See [`MetadataKind::Comments`].
    pub const COMMENTS: Self = Self(1 << 4);
    /// See [`MetadataKind::Icc`].
    pub const ICC: Self = Self(1 << 5);
    /// Any other data that is not needed to show the image.
    pub const OTHER: Self = Self(1 << 6);
    /// See [`MetadataKind::All`].
    pub const ALL: Self = Self(0b101_1111);

    /// Returns true if it is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Returns true if any kind of `other` is in this set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns `self` if `condition` holds, else nothing.
    pub(super) fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::NONE }
    }

    /// Returns true if data after the end of an image could contain some of these kinds.
    pub(super) fn reach_behind_the_end(self) -> bool {
        self.contains(Self::EXIF | Self::GPS | Self::XMP | Self::IPTC | Self::OTHER)
    }
}

impl From<MetadataKind> for Metadata {
    fn from(kind: MetadataKind) -> Self {
        match kind {
            MetadataKind::Exif => Self::EXIF,
            MetadataKind::Gps => Self::GPS,
            MetadataKind::Xmp => Self::XMP,
            MetadataKind::Iptc => Self::IPTC,
            MetadataKind::Comments => Self::COMMENTS,
            MetadataKind::Icc => Self::ICC,
            MetadataKind::All => Self::ALL,
        }
    }
}

impl FromIterator<MetadataKind> for Metadata {
    fn from_iter<I: IntoIterator<Item = MetadataKind>>(kinds: I) -> Self {
        kinds.into_iter().fold(Self::NONE, |all, kind| all | kind.into())
    }
}

impl ops::BitOr for Metadata {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Writes the names that the option accepts, in a fixed order.
impl fmt::Display for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_all = self.0 & Self::ALL.0 == Self::ALL.0;
        let named = MetadataKind::NAMED.into_iter().filter(|(kind, _)| match kind {
            MetadataKind::All => is_all,
            MetadataKind::Icc => self.contains(Self::ICC),
            kind => !is_all && self.contains((*kind).into()),
        });
        f.write_str(&named.map(|(_, name)| name).collect::<Vec<_>>().join(","))
    }
}
