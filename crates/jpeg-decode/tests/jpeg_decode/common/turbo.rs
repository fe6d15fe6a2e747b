//! Direct calls of libjpeg-turbo.
#![allow(unsafe_code, dead_code, reason = "calls of C; each user takes a part")]

use turbojpeg_sys as tj;

/// An instance for decoding: accurate DCT, smooth upsampling.
pub(crate) struct Turbo(tj::tjhandle);

impl Turbo {
    pub(crate) fn new() -> Self {
        // SAFETY: takes no pointers.
        Self(unsafe { tj::tj3Init(tj::TJINIT_TJINIT_DECOMPRESS as i32) })
    }

    /// Decodes an image, reduced `shrink` (1, 2, 4 or 8) times. Returns whether there was no
    /// warning.
    ///
    /// # Panics
    /// When `out` does not hold `n_channels` bytes for each pixel of the reduced image.
    pub(crate) fn decode(
        &mut self,
        bytes: &[u8],
        shrink: u32,
        n_channels: usize,
        out: &mut [u8],
    ) -> bool {
        self.decode_part(bytes, shrink, None, n_channels, out)
    }

    /// As [`decode`](Self::decode), for a part of the reduced image: its left and upper edge (the
    /// left one between MCUs), width and height.
    ///
    /// # Panics
    /// When `out` does not hold `n_channels` bytes for each pixel.
    pub(crate) fn decode_part(
        &mut self,
        bytes: &[u8],
        shrink: u32,
        part: Option<[u32; 4]>,
        n_channels: usize,
        out: &mut [u8],
    ) -> bool {
        let size = bytes.len() as tj::size_t;
        // SAFETY: a live instance, and the bytes of a slice.
        let header = unsafe { tj::tj3DecompressHeader(self.0, bytes.as_ptr(), size) };
        // SAFETY: a live instance; no pointers.
        let [width, height] = [tj::TJPARAM_TJPARAM_JPEGWIDTH, tj::TJPARAM_TJPARAM_JPEGHEIGHT]
            .map(|it| unsafe { tj::tj3Get(self.0, it as i32) });
        let reduced = |side: i32| u32::try_from(side).unwrap_or(0).div_ceil(shrink) as usize;
        let n_pixels = match part {
            None => reduced(width) * reduced(height),
            Some([_, _, width, height]) => (width * height) as usize,
        };
        assert_eq!(out.len(), n_pixels * n_channels);
        // No part: the whole image.
        let [x, y, w, h] = part.unwrap_or_default().map(|it| it as i32);
        let region = tj::tjregion { x, y, w, h };
        let format = if n_channels == 1 { tj::TJPF_TJPF_GRAY } else { tj::TJPF_TJPF_RGB };
        let factor = tj::tjscalingfactor { num: 1, denom: shrink as i32 };
        // SAFETY: a live instance; `out` holds the pixels of the reduced image in that format.
        unsafe {
            header == 0
                && tj::tj3SetScalingFactor(self.0, factor) == 0
                && tj::tj3SetCroppingRegion(self.0, region) == 0
                && tj::tj3Decompress8(self.0, bytes.as_ptr(), size, out.as_mut_ptr(), 0, format)
                    == 0
        }
    }
}

impl Drop for Turbo {
    fn drop(&mut self) {
        // SAFETY: the instance is live.
        unsafe { tj::tj3Destroy(self.0) }
    }
}
