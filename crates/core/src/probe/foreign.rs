//! Unsupported kinds of images, by their first bytes and file names.
use super::avif::is_branded;

/// An unsupported kind of image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// HEVC and others in a HEIF container, as phones store them.
    Heic,
}

impl Foreign {
    /// Detects the kind from the first bytes, which are not those of an AVIF.
    pub(crate) fn sniff(bytes: &[u8]) -> Option<Self> {
        let is_heif = is_branded(bytes, |brand| {
            matches!(
                brand,
                b"heic"
                    | b"heix"
                    | b"heim"
                    | b"heis"
                    | b"hevc"
                    | b"hevx"
                    | b"mif1"
                    | b"mif2"
                    | b"msf1"
            )
        });
        is_heif.then_some(Self::Heic)
    }

    /// Returns the kind for a file extension, without its dot, in any case.
    #[must_use]
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "heic" | "heif" | "hif" => Some(Self::Heic),
            _ => None,
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Heic => "HEIC",
        }
    }

    /// Returns a command that converts a file to a supported format, using a tool of its reference
    /// library.
    #[must_use]
    pub fn cure(self) -> &'static str {
        match self {
            Self::Heic => "`heif-convert photo.heic photo.png` (libheif)",
        }
    }
}

/// Other files that often have names of images: first bytes, and what to do.
const TOLD: [(&[u8], &str); 16] = [
    (
        b"version https://git-lfs.github.com/",
        "a pointer of Git LFS in place of the image: `git lfs pull` fetches it",
    ),
    (b"8BPS", "a PSD; convert it first: `magick in.psd[0] out.png` (ImageMagick)"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", JPEG_2000),
    (b"\xff\x4f\xff\x51", JPEG_2000),
    (b"P1\n", PNM),
    (b"P2\n", PNM),
    (b"P3\n", PNM),
    (b"P4\n", PNM),
    (b"P5\n", PNM),
    (b"P6\n", PNM),
    (b"%PDF-", "a PDF; convert its pages first: `pdftoppm -png in.pdf out` (Poppler)"),
    (
        b"\0\x05\x16\x07",
        "what macOS keeps next to a file (AppleDouble), not an image: leave it out",
    ),
    (b"\x76\x2f\x31\x01", "an OpenEXR; convert it first: `magick in.exr out.png` (ImageMagick)"),
    (b"\0\0\x01\0", "an ICO; convert it first: `icotool -x in.ico` (icoutils)"),
    (b"PK\x03\x04", "an archive (zip): unpack it first"),
    (b"\x1f\x8b", "compressed with gzip: unpack it first"),
];
const JPEG_2000: &str =
    "a JPEG 2000; convert it first: `opj_decompress -i in.jp2 -o out.png` (OpenJPEG)";
const PNM: &str = "a PPM, PGM or PBM; convert it first: `pnmtopng in.ppm > out.png` (Netpbm)";

/// Starts of texts, in lower case, and what to do.
const TOLD_TEXTS: [(&str, &str); 5] = [
    ("<svg", SVG),
    ("<!doctype svg", SVG),
    ("<!doctype html", PAGE),
    ("<html", PAGE),
    ("<?xml", "XML, perhaps a server's error in place of the image: download it again"),
];
const SVG: &str = "an SVG; convert it first: `rsvg-convert in.svg -o out.png` (librsvg)";
const PAGE: &str = "a web page in place of the image: the download failed, and has to be repeated";

/// Names the kind of file and the cure, as a text for an error; `None` for unknown kinds.
pub(super) fn told(bytes: &[u8]) -> Option<String> {
    const LOOKED_AT: usize = 512;
    let known = TOLD.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, what)| *what);
    let start = String::from_utf8_lossy(bytes.get(..bytes.len().min(LOOKED_AT))?);
    let text = start.trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    let known = known.or_else(|| match text.as_bytes() {
        [b'<', ..] if text.starts_with("<?xml") && text.contains("<svg") => Some(SVG),
        [b'<', ..] => TOLD_TEXTS.iter().find(|(start, _)| text.starts_with(start)).map(|it| it.1),
        [b'{', b'"' | b' ' | b'\n' | b'\r', ..] => {
            Some("JSON, perhaps a server's error in place of the image: download it again")
        }
        _ if bytes.get(4..12) == Some(b"ftypcrx ") => {
            Some("a CR3 of Canon; convert it first: `dcraw_emu -T in.cr3` (LibRaw)")
        }
        _ if bytes.get(128..132) == Some(b"DICM") => {
            Some("a DICOM; convert it first: `dcmj2pnm +on in.dcm out.png` (DCMTK)")
        }
        _ => None,
    });
    known.map(|what| format!("the file is {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codec, probe::sniff};

    #[test]
    fn brands_tell_them_apart() {
        let boxed = |brands: &[u8]| [b"\0\0\0\x20ftyp", brands].concat();
        assert_eq!(Foreign::sniff(&boxed(b"heic\0\0\0\0mif1")), Some(Foreign::Heic));
        assert_eq!(Foreign::sniff(&boxed(b"mif1\0\0\0\0mif1heic")), Some(Foreign::Heic));
        assert_eq!(Foreign::sniff(&boxed(b"isom\0\0\0\0mp41")), None);
        for brands in [b"avif\0\0\0\0mif1miaf", b"mif1\0\0\0\0mif1avif"] {
            assert_eq!(sniff(&boxed(brands)), Some(Codec::Avif));
        }
        assert_eq!(sniff(&boxed(b"heic\0\0\0\0mif1")), None);
        for cut in 0..12 {
            assert_eq!(Foreign::sniff(&boxed(b"heic")[..cut]), None);
        }
    }
}
