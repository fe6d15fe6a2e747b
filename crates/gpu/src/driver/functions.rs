//! The functions of the driver in use, as `cuda.h` of CUDA 12 declares them.
//!
//! Handles are integers here: they are never dereferenced.
use crate::loaded::functions;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// A context, module, function, stream or event of the driver.
pub(crate) type Handle = usize;

/// `CUDA_MEMCPY2D`: the arguments of [`Functions::cuMemcpy2DAsync_v2`]. Fields that stay 0 are
/// unused here.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Copy2d {
    pub(crate) from_x_bytes: usize,
    pub(crate) from_y: usize,
    pub(crate) from_type: c_uint,
    pub(crate) from_host: usize,
    pub(crate) from_device: u64,
    pub(crate) from_array: usize,
    pub(crate) from_pitch: usize,
    pub(crate) to_x_bytes: usize,
    pub(crate) to_y: usize,
    pub(crate) to_type: c_uint,
    pub(crate) to_host: usize,
    pub(crate) to_device: u64,
    pub(crate) to_array: usize,
    pub(crate) to_pitch: usize,
    pub(crate) row_bytes: usize,
    pub(crate) n_rows: usize,
}

functions! {
    /// The driver's functions. Each returns 0 or an error number.
    ///
    /// Never unloaded: the driver has threads that may run until the process ends.
    extern "system" in "cuda.h":
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuGetErrorName(c_int, *mut *const c_char);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut c_int, c_int);
    cuDeviceGetName(*mut c_char, c_int, c_int);
    cuDeviceTotalMem_v2(*mut usize, c_int);
    cuDeviceGetAttribute(*mut c_int, c_int, c_int);
    cuDevicePrimaryCtxRetain(*mut Handle, c_int);
    cuDevicePrimaryCtxRelease_v2(c_int);
    cuCtxPushCurrent_v2(Handle);
    cuCtxPopCurrent_v2(*mut Handle);
    cuModuleLoadData(*mut Handle, *const c_void);
    cuModuleUnload(Handle);
    cuModuleGetFunction(*mut Handle, Handle, *const c_char);
    cuMemAlloc_v2(*mut u64, usize);
    cuMemFree_v2(u64);
    cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
    cuMemFreeHost(*mut c_void);
    cuMemcpyHtoDAsync_v2(u64, *const c_void, usize, Handle);
    cuMemcpyDtoHAsync_v2(*mut c_void, u64, usize, Handle);
    cuMemcpy2DAsync_v2(*const Copy2d, Handle);
    cuMemsetD8Async(u64, u8, usize, Handle);
    cuStreamCreate(*mut Handle, c_uint);
    cuStreamDestroy_v2(Handle);
    cuStreamSynchronize(Handle);
    cuStreamWaitEvent(Handle, Handle, c_uint);
    cuEventCreate(*mut Handle, c_uint);
    cuEventDestroy_v2(Handle);
    cuEventElapsedTime(*mut f32, Handle, Handle);
    cuEventRecord(Handle, Handle);
    cuEventSynchronize(Handle);
    cuLaunchKernel(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle,
        *mut *mut c_void, *mut *mut c_void
    );
}
