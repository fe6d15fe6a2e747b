//! Direct calls of libjpeg-turbo.
#![allow(unsafe_code, dead_code, reason = "calls of C; each user takes a part")]

use std::{ffi::c_int, ptr::null_mut};
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

/// The quantised coefficients of a component, without the blocks that only fill MCUs.
#[derive(Default)]
pub(crate) struct Plane {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// Row by row; the values of each in natural order.
    pub(crate) blocks: Vec<[i16; 64]>,
}

/// Reads the coefficients of an image, by component; `None` on any warning.
pub(crate) fn coefficients(bytes: &[u8]) -> Option<Vec<Plane>> {
    let mut planes = Vec::<Plane>::new();
    let transform = tj::tjtransform {
        r: tj::tjregion { x: 0, y: 0, w: 0, h: 0 },
        op: tj::TJXOP_TJXOP_NONE as c_int,
        options: (tj::TJXOPT_NOOUTPUT | tj::TJXOPT_COPYNONE) as c_int,
        data: (&raw mut planes).cast(),
        customFilter: Some(take),
    };
    let (mut out, mut out_bytes) = (null_mut(), 0);
    // SAFETY: takes no pointers.
    let instance = Turbo(unsafe { tj::tj3Init(tj::TJINIT_TJINIT_TRANSFORM as c_int) });
    let size = bytes.len() as tj::size_t;
    // SAFETY: a live instance, the bytes of a slice, and one transform with one output, which stays
    // empty; `take` runs within the call, while `planes` is not used otherwise.
    let failed = unsafe {
        tj::tj3Transform(
            instance.0,
            bytes.as_ptr(),
            size,
            1,
            &raw mut out,
            &raw mut out_bytes,
            &raw const transform,
        )
    };
    (failed == 0).then_some(planes)
}

/// Stores the same coefficients in the scans of a progressive file: ten of them, six for gray.
pub(crate) fn progressive(bytes: &[u8]) -> Vec<u8> {
    let transform = tj::tjtransform {
        r: tj::tjregion { x: 0, y: 0, w: 0, h: 0 },
        op: tj::TJXOP_TJXOP_NONE as c_int,
        options: (tj::TJXOPT_PROGRESSIVE | tj::TJXOPT_COPYNONE) as c_int,
        data: null_mut(),
        customFilter: None,
    };
    let (mut out, mut out_bytes) = (null_mut(), 0);
    // SAFETY: takes no pointers.
    let instance = Turbo(unsafe { tj::tj3Init(tj::TJINIT_TJINIT_TRANSFORM as c_int) });
    let size = bytes.len() as tj::size_t;
    // SAFETY: a live instance, the bytes of a slice, and one transform with one output, which is
    // copied and freed once.
    unsafe {
        let failed = tj::tj3Transform(
            instance.0,
            bytes.as_ptr(),
            size,
            1,
            &raw mut out,
            &raw mut out_bytes,
            &raw const transform,
        );
        assert_eq!(failed, 0, "libjpeg-turbo takes what it made");
        let made = std::slice::from_raw_parts(out, out_bytes as usize).to_vec();
        tj::tj3Free(out.cast());
        made
    }
}

/// Takes a row of blocks of a component; they come in order.
unsafe extern "C" fn take(
    values: *mut i16,
    row: tj::tjregion,
    plane: tj::tjregion,
    component: c_int,
    _: c_int,
    transform: *mut tj::tjtransform,
) -> c_int {
    // SAFETY: `transform` is that of `coefficients`, whose data are the planes.
    let planes = unsafe { &mut *(*transform).data.cast::<Vec<Plane>>() };
    let [columns, rows] = [plane.w, plane.h].map(|samples| samples as usize / 8);
    if planes.len() <= component as usize {
        planes.push(Plane { columns, rows, blocks: Vec::new() });
    }
    let Some(plane) = planes.last_mut() else { return -1 };
    // Rows that only fill MCUs come as well.
    if (row.y as usize / 8) < rows {
        // SAFETY: a row of blocks of 64 values each.
        let blocks = unsafe { std::slice::from_raw_parts(values.cast::<[i16; 64]>(), columns) };
        plane.blocks.extend_from_slice(blocks);
    }
    0
}

/// Returns the places in zigzag order: diagonals, alternating up and down.
pub(crate) fn zigzag() -> Vec<usize> {
    let mut places: Vec<_> = (0..64).map(|place| (place / 8, place % 8)).collect();
    places.sort_by_key(|&(y, x)| (x + y, if (x + y) % 2 == 0 { x } else { y }));
    places.into_iter().map(|(y, x)| 8 * y + x).collect()
}
