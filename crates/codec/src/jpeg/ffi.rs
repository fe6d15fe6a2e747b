//! The only calls into libjpeg-turbo, made safe.
//!
//! The TurboJPEG interface is used directly because the safe wrapper crate offers neither restart
//! markers nor the difference between a warning and a failure, and parses each header twice.
#![allow(unsafe_code)]

use crate::Region;
use std::{
    ffi::{CStr, c_int, c_uchar},
    ptr::NonNull,
};
use turbojpeg_sys as tj;

/// Number of scans of a progressive JPEG after which decoding is given up: real encoders write a
/// dozen, while a few kilobytes of hostile empty scans can occupy a decoder for hours.
const MAX_SCANS: c_int = 200;

/// A TurboJPEG instance.
struct Handle(NonNull<std::ffi::c_void>);

// SAFETY: an instance has no thread affinity: libjpeg-turbo's documentation allows one to be used
// from any thread as long as two do not use it at once, and every method here takes `&mut self`.
unsafe impl Send for Handle {}

impl Handle {
    fn new(kind: tj::TJINIT) -> Result<Self, String> {
        // SAFETY: takes no pointers; returns a valid instance or null.
        let handle = unsafe { tj::tj3Init(kind as c_int) };
        NonNull::new(handle).map(Self).ok_or_else(|| "libjpeg-turbo is out of memory".into())
    }

    fn set(&mut self, param: tj::TJPARAM, value: c_int) -> Result<(), String> {
        // SAFETY: the instance is live (`self` owns it); parameters and values are checked inside.
        let status = unsafe { tj::tj3Set(self.0.as_ptr(), param as c_int, value) };
        if status == 0 { Ok(()) } else { Err(self.message()) }
    }

    fn get(&mut self, param: tj::TJPARAM) -> c_int {
        // SAFETY: the instance is live.
        unsafe { tj::tj3Get(self.0.as_ptr(), param as c_int) }
    }

    fn failed(&mut self) -> bool {
        // SAFETY: the instance is live.
        let code = unsafe { tj::tj3GetErrorCode(self.0.as_ptr()) };
        code != tj::TJERR_TJERR_WARNING as c_int
    }

    /// Returns the message of the last failure, or of the first warning.
    fn message(&mut self) -> String {
        // SAFETY: the instance is live, and its message is a NUL-terminated string in memory that
        // it owns and that nothing changes before it is copied here.
        let text = unsafe { CStr::from_ptr(tj::tj3GetErrorStr(self.0.as_ptr())) };
        own_words(&text.to_string_lossy())
    }
}

/// Removes TurboJPEG's names of functions and parameters from a message: libjpeg's messages are
/// about the file, those names are about TurboJPEG's interface.
fn own_words(message: &str) -> String {
    let Some((_, what)) = message.split_once("(): ").filter(|_| message.starts_with("tj3")) else {
        return message.to_owned();
    };
    let known = [
        ("Image is too large", "the file changes while it is read"),
        ("Unexplained mismatch", "the file changes while it is read"),
        ("The cropping region", "the file changes while it is read"),
        ("Could not determine colorspace", "its colours are in a form that libjpeg does not know"),
        ("Memory allocation failure", "memory ran out"),
    ];
    let known = known.into_iter().find(|(start, _)| what.starts_with(start));
    known.map_or_else(|| format!("libjpeg-turbo refuses it ({what})"), |(_, own)| own.to_owned())
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the instance is live and `self` is its only owner.
        unsafe { tj::tj3Destroy(self.0.as_ptr()) }
    }
}

/// Channel order of decoded pixels.
#[derive(Clone, Copy)]
pub(super) enum Layout {
    Gray,
    Rgb,
    Cmyk,
}

impl Layout {
    fn code(self) -> c_int {
        match self {
            Self::Gray => tj::TJPF_TJPF_GRAY,
            Self::Rgb => tj::TJPF_TJPF_RGB,
            Self::Cmyk => tj::TJPF_TJPF_CMYK,
        }
    }

    fn channels(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::Rgb => 3,
            Self::Cmyk => 4,
        }
    }
}

/// Result of decoding, with libjpeg-turbo's warnings.
pub(super) struct Found {
    /// True after a warning about data before the first scan.
    pub(super) odd_header: bool,
    /// The first warning of the whole file.
    pub(super) warning: Option<String>,
    pub(super) arithmetic: bool,
    /// Decoded region, in pixels of the reduced image.
    pub(super) region: Region,
    /// Factor by which the image was reduced.
    pub(super) shrink: u8,
}

#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// In pixels of the reduced image.
    pub(super) region: Region,
    /// Factor by which to reduce the image while decoding: 1, 2, 4 or 8.
    pub(super) shrink: u8,
}

pub(super) struct Decompressor(Handle);

impl Decompressor {
    pub(super) fn new() -> Result<Self, String> {
        let mut handle = Handle::new(tj::TJINIT_TJINIT_DECOMPRESS)?;
        handle.set(tj::TJPARAM_TJPARAM_SCANLIMIT, MAX_SCANS)?;
        // ICC profiles are not needed.
        handle.set(tj::TJPARAM_TJPARAM_SAVEMARKERS, 0)?;
        Ok(Self(handle))
    }

    /// Decodes `jpeg`, which must have exactly this size: all of it, or the wanted part, widened to
    /// where libjpeg can begin and end, and exact to its edges. Images that it cannot crop or
    /// reduce are decoded whole. After an error the decompressor may be in the middle of a header:
    /// drop it.
    pub(super) fn decode(
        &mut self,
        jpeg: &[u8],
        (width, height): (u32, u32),
        layout: Layout,
        wanted: Option<Wanted>,
        out: &mut Vec<u8>,
    ) -> Result<Found, String> {
        let handle = self.0.0.as_ptr();
        // SAFETY: the instance is live, and pointer and length are those of one slice, which the
        // call only reads.
        let status =
            unsafe { tj::tj3DecompressHeader(handle, jpeg.as_ptr(), jpeg.len() as tj::size_t) };
        if status != 0 && self.0.failed() {
            return Err(self.0.message());
        }
        let odd_header = status != 0;
        self.check_size(width, height)?;
        let part = wanted.and_then(|wanted| self.widen(wanted, (width, height)));
        let (region, shrink) = match (part, wanted) {
            (Some(part), Some(wanted)) => (part, wanted.shrink.max(1)),
            _ => (Region { x: 0, y: 0, width, height }, 1),
        };
        let n_pixels = c_int::try_from(u64::from(width) * u64::from(height)).ok();
        let row = region.width as usize * layout.channels();
        let length = row * region.height as usize;
        // SAFETY of the call below rests on what is set here and on the length of `out`, not on
        // what was read: `jpeg` may be a mapped file that another process writes to, so that the
        // call finds another header than the one above.
        let (pitch, longest_row) = match (part, n_pixels) {
            (None, Some(n_pixels)) => {
                self.set_part(None, 1)?;
                self.0.set(tj::TJPARAM_TJPARAM_MAXPIXELS, n_pixels)?;
                (0, row)
            }
            _ => {
                self.set_part(Some(region), shrink)?;
                self.0.set(tj::TJPARAM_TJPARAM_MAXPIXELS, 0)?;
                // Both sides of a JPEG are below 2^16.
                (row as c_int, row * usize::from(shrink))
            }
        };
        // Every row is written or an error is returned: only the added part is cleared.
        out.resize(length - row + longest_row, 0);
        // SAFETY: the instance is live; `jpeg` is as above. Whatever header the call finds, the
        // channels of a pixel are those of `layout`, and:
        // - Without a region and with a pitch of 0 the call writes rows of the width that it finds,
        //   without gaps, as many as it finds, not reduced (the factor is 1). MAXPIXELS, which it
        //   compares with their product first, is `width * height`, and `out` holds as many.
        // - With a region it writes `region.height` rows, one every `pitch` bytes, which is a row
        //   of the region. It cuts them to the region's width or fails, except where the reduced
        //   width that it finds is the region's: then it leaves them as they are, and they are as
        //   wide, or, in a lossless JPEG, which is not reduced, up to `shrink` times as wide. The
        //   space after the last row allows for that.
        let status = unsafe {
            tj::tj3Decompress8(
                handle,
                jpeg.as_ptr(),
                jpeg.len() as tj::size_t,
                out.as_mut_ptr(),
                pitch,
                layout.code(),
            )
        };
        out.truncate(length);
        if status != 0 && self.0.failed() {
            return Err(self.0.message());
        }
        let warning = (status != 0).then(|| self.0.message());
        self.check_size(width, height).map_err(|_| "the file changes while it is read")?;
        let arithmetic = self.0.get(tj::TJPARAM_TJPARAM_ARITHMETIC) == 1;
        Ok(Found { odd_header, warning, arithmetic, region, shrink })
    }

    /// Refuses a JPEG if the header read last has another size.
    fn check_size(&mut self, width: u32, height: u32) -> Result<(), String> {
        let found_width = self.0.get(tj::TJPARAM_TJPARAM_JPEGWIDTH);
        let found_height = self.0.get(tj::TJPARAM_TJPARAM_JPEGHEIGHT);
        if found_width < 1 || found_height < 1 {
            return Err("it has no scan, so no image data".into());
        }
        if (i64::from(found_width), i64::from(found_height)) != (width.into(), height.into()) {
            return Err(format!("decodes to {found_width}x{found_height}, not {width}x{height}"));
        }
        Ok(())
    }

    /// Returns a region around the wanted one that begins at a column of blocks, with a margin so
    /// that smooth upsampling sees the same neighbours as in the whole image. `None` for JPEGs that
    /// libjpeg-turbo cannot crop: lossless ones, and unusual sampling.
    fn widen(&mut self, wanted: Wanted, (width, height): (u32, u32)) -> Option<Region> {
        if self.0.get(tj::TJPARAM_TJPARAM_LOSSLESS) != 0 {
            return None;
        }
        let reduced = |side: u32| side.div_ceil(u32::from(wanted.shrink).max(1));
        let whole = Region { x: 0, y: 0, width: reduced(width), height: reduced(height) };
        let block = match self.0.get(tj::TJPARAM_TJPARAM_SUBSAMP) {
            tj::TJSAMP_TJSAMP_444 | tj::TJSAMP_TJSAMP_GRAY | tj::TJSAMP_TJSAMP_440 => 8,
            tj::TJSAMP_TJSAMP_422 | tj::TJSAMP_TJSAMP_420 => 16,
            tj::TJSAMP_TJSAMP_411 => 32,
            _ => return None,
        };
        let block = (block / u32::from(wanted.shrink).max(1)).max(1);
        let Region { x, y, width, height } = wanted.region;
        let span = |from: u32, len: u32, margin: u32, whole: u32| {
            let end = from.saturating_add(len).saturating_add(margin).min(whole);
            (from.saturating_sub(margin).min(end), end)
        };
        let (left, right) = span(x, width, block, whole.width);
        let left = left / block * block;
        // Rows need no margin: the decoder keeps the ones above and below.
        let (top, bottom) = span(y, height, 0, whole.height);
        let part = Region { x: left, y: top, width: right - left, height: bottom - top };
        (part.width > 0 && part.height > 0).then_some(part)
    }

    /// Sets scaling and region for the JPEG of the last header read; `None` means the whole image.
    fn set_part(&mut self, part: Option<Region>, shrink: u8) -> Result<(), String> {
        let handle = self.0.0.as_ptr();
        let factor = tj::tjscalingfactor { num: 1, denom: shrink.into() };
        let side = |side: u32| c_int::try_from(side).map_err(|_| "a region too large".to_owned());
        let none = tj::tjregion { x: 0, y: 0, w: 0, h: 0 };
        let region = match part {
            None => none,
            Some(part) => tj::tjregion {
                x: side(part.x)?,
                y: side(part.y)?,
                w: side(part.width)?,
                h: side(part.height)?,
            },
        };
        // The region of the previous image would be checked against the new scaling.
        // SAFETY: the instance is live, and the structures are passed by value.
        let status = unsafe {
            match tj::tj3SetCroppingRegion(handle, none) {
                0 => match tj::tj3SetScalingFactor(handle, factor) {
                    0 => tj::tj3SetCroppingRegion(handle, region),
                    failed => failed,
                },
                failed => failed,
            }
        };
        if status == 0 { Ok(()) } else { Err(self.0.message()) }
    }
}

/// Settings of a compressor, in TurboJPEG's own codes.
pub(super) struct Parameters {
    pub(super) quality: u8,
    pub(super) subsampling: tj::TJSAMP,
    pub(super) optimize: bool,
    pub(super) restart_rows: u16,
}

pub(super) struct Compressor(Handle);

impl Compressor {
    pub(super) fn new() -> Result<Self, String> {
        let mut handle = Handle::new(tj::TJINIT_TJINIT_COMPRESS)?;
        handle.set(tj::TJPARAM_TJPARAM_NOREALLOC, 1)?;
        Ok(Self(handle))
    }

    /// Encodes `data`, which must be `width * height` pixels of `layout`, into the front of `out`;
    /// returns the length. `out` never shrinks, so that no call has to clear it again.
    pub(super) fn encode(
        &mut self,
        data: &[u8],
        (width, height): (u16, u16),
        layout: Layout,
        parameters: &Parameters,
        out: &mut Vec<u8>,
    ) -> Result<usize, String> {
        let expected = usize::from(width) * usize::from(height) * layout.channels();
        if data.len() != expected {
            return Err(format!("{} bytes are not {width}x{height} pixels", data.len()));
        }
        self.0.set(tj::TJPARAM_TJPARAM_QUALITY, parameters.quality.into())?;
        self.0.set(tj::TJPARAM_TJPARAM_SUBSAMP, parameters.subsampling)?;
        self.0.set(tj::TJPARAM_TJPARAM_OPTIMIZE, parameters.optimize.into())?;
        self.0.set(tj::TJPARAM_TJPARAM_RESTARTROWS, parameters.restart_rows.into())?;
        let (width, height) = (c_int::from(width), c_int::from(height));
        // SAFETY: takes no pointers.
        let bound = unsafe { tj::tj3JPEGBufSize(width, height, parameters.subsampling) };
        // The bound does not count restart markers: three bytes per row of blocks at most.
        let bound = bound as usize + if parameters.restart_rows > 0 { height as usize } else { 0 };
        if out.len() < bound {
            out.resize(bound, 0);
        }
        let mut target: *mut c_uchar = out.as_mut_ptr();
        let mut length = out.len() as tj::size_t;
        // SAFETY: the instance is live. `data` holds `height` rows of `width` pixels without gaps
        // (pitch 0), checked above, and is only read. `target` and `length` describe `out`; with
        // NOREALLOC set the call never writes past `length` bytes and never replaces `target`.
        let status = unsafe {
            tj::tj3Compress8(
                self.0.0.as_ptr(),
                data.as_ptr(),
                width,
                0,
                height,
                layout.code(),
                &raw mut target,
                &raw mut length,
            )
        };
        if status != 0 {
            return Err(self.0.message());
        }
        Ok(length as usize)
    }
}

/// Rewrites JPEGs without changing coefficients.
pub(super) struct Transformer(Handle);

impl Transformer {
    pub(super) fn new() -> Result<Self, String> {
        let mut handle = Handle::new(tj::TJINIT_TJINIT_TRANSFORM)?;
        handle.set(tj::TJPARAM_TJPARAM_SCANLIMIT, MAX_SCANS)?;
        Ok(Self(handle))
    }

    /// Rewrites the same coefficients and markers in another order: one scan, or progressive. The
    /// Huffman tables are optimised, because those of a progressive file fit its own scans. Also
    /// returns a warning.
    pub(super) fn reorder(
        &mut self,
        jpeg: &[u8],
        progressive: bool,
    ) -> Result<(Vec<u8>, Option<String>), String> {
        let order = if progressive { tj::TJXOPT_PROGRESSIVE } else { 0 };
        let transform = tj::tjtransform {
            r: tj::tjregion { x: 0, y: 0, w: 0, h: 0 },
            op: tj::TJXOP_TJXOP_NONE as c_int,
            options: (order | tj::TJXOPT_OPTIMIZE) as c_int,
            data: std::ptr::null_mut(),
            customFilter: None,
        };
        let mut target: *mut c_uchar = std::ptr::null_mut();
        let mut length: tj::size_t = 0;
        // SAFETY: the instance is live; pointer and length of `jpeg` are those of one slice, which
        // the call only reads. One transform is announced and one is given, and one place each for
        // the result and its length; as the target is null, the library allocates it.
        let status = unsafe {
            tj::tj3Transform(
                self.0.0.as_ptr(),
                jpeg.as_ptr(),
                jpeg.len() as tj::size_t,
                1,
                &raw mut target,
                &raw mut length,
                &raw const transform,
            )
        };
        let bytes = if target.is_null() {
            Vec::new()
        } else {
            // SAFETY: the library has allocated the target and returned the length it has written.
            let bytes = unsafe { std::slice::from_raw_parts(target, length as usize) }.to_vec();
            // SAFETY: allocated by the library, freed once, not used afterwards.
            unsafe { tj::tj3Free(target.cast()) };
            bytes
        };
        match status {
            0 if !bytes.is_empty() => Ok((bytes, None)),
            0 => Err("libjpeg-turbo has written nothing".into()),
            _ if self.0.failed() => Err(self.0.message()),
            _ => Ok((bytes, Some(self.0.message()))),
        }
    }
}
