//! The functions of nvJPEG in use, as `nvjpeg.h` of CUDA 12 and 13 declares them.
use crate::{driver::Handle, loaded::functions};
use std::ffi::{c_int, c_uint, c_void};

/// `nvjpegImage_t`: the destination of pixels. Interleaved pixels go to the first channel.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Destination {
    pub(super) channel: [Handle; 4],
    pub(super) pitch: [usize; 4],
}

/// `NVJPEG_OUTPUT_RGBI`: red, green and blue of a pixel, then the next pixel.
pub(super) const RGB_INTERLEAVED: c_int = 5;

/// `NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION`.
pub(super) const SMOOTH_CHROMA: c_uint = 1 << 5;

functions! {
    /// nvJPEG's functions. Each returns 0 or an error number.
    ///
    /// Never unloaded: it keeps the driver in use, and has threads.
    extern "C" in "nvjpeg.h":
    nvjpegGetProperty(c_int, *mut c_int);
    nvjpegCreateEx(c_int, *const c_void, *const c_void, c_uint, *mut Handle);
    nvjpegDestroy(Handle);
    nvjpegGetHardwareDecoderInfo(Handle, *mut c_uint, *mut c_uint);
    nvjpegJpegStateCreate(Handle, *mut Handle);
    nvjpegJpegStateDestroy(Handle);
    nvjpegJpegStreamCreate(Handle, *mut Handle);
    nvjpegJpegStreamDestroy(Handle);
    nvjpegJpegStreamParseHeader(Handle, *const u8, usize, Handle);
    nvjpegJpegStreamGetFrameDimensions(Handle, *mut c_uint, *mut c_uint);
    nvjpegDecodeBatchedSupported(Handle, Handle, *mut c_int);
    nvjpegDecodeBatchedInitialize(Handle, Handle, c_int, c_int, c_int);
    nvjpegDecodeBatched(Handle, Handle, *const *const u8, *const usize, *mut Destination, Handle);
    nvjpegDecode(Handle, Handle, *const u8, usize, c_int, *mut Destination, Handle);
}

pub(super) fn status_name(code: c_int) -> &'static str {
    match code {
        1 => "NVJPEG_STATUS_NOT_INITIALIZED",
        2 => "NVJPEG_STATUS_INVALID_PARAMETER",
        3 => "NVJPEG_STATUS_BAD_JPEG",
        4 => "NVJPEG_STATUS_JPEG_NOT_SUPPORTED",
        5 => "NVJPEG_STATUS_ALLOCATOR_FAILURE",
        6 => "NVJPEG_STATUS_EXECUTION_FAILED",
        7 => "NVJPEG_STATUS_ARCH_MISMATCH",
        8 => "NVJPEG_STATUS_INTERNAL_ERROR",
        9 => "NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED",
        10 => "NVJPEG_STATUS_INCOMPLETE_BITSTREAM",
        _ => "unknown",
    }
}
