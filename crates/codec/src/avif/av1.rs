//! The only calls into rav1d, made safe. It is a port of dav1d to Rust that has the interface of C, here
//! in Rerun's fork (`re_rav1d`).
//!
//! What it has for Rust (`re_rav1d::dav1d`) calls these functions, too: a panic ends the process through
//! either, and that one panics itself at headers with reserved numbers. Hence the callers' `confined`.
#![allow(unsafe_code)]

use super::planes::{Plane, Planes};
use fdconvert_core::probe::AvifColors;
use re_rav1d::{
    Dav1dResult,
    include::dav1d::{
        data::Dav1dData,
        dav1d::{Dav1dContext, Dav1dSettings},
        headers::{
            DAV1D_PIXEL_LAYOUT_I400, DAV1D_PIXEL_LAYOUT_I420, DAV1D_PIXEL_LAYOUT_I422,
            DAV1D_PIXEL_LAYOUT_I444,
        },
        picture::Dav1dPicture,
    },
    src::lib::{
        dav1d_close, dav1d_data_create, dav1d_data_unref, dav1d_default_settings,
        dav1d_get_picture, dav1d_open, dav1d_picture_unref, dav1d_send_data,
    },
};
use std::{
    ffi::c_int,
    mem::MaybeUninit,
    ptr::{NonNull, from_mut},
};

/// It wants more data, or to be asked for a picture first.
const AGAIN: c_int = -11;
/// Limit of requests for the first picture: one suffices, unless there are frames that are not shown.
const MAX_REQUESTS: usize = 1000;

/// Decodes the first frame, which must have that size. A panic ends the process.
pub(super) fn decode(data: &[u8], size: (u32, u32)) -> Result<Planes, String> {
    let n_pixels = u64::from(size.0) * u64::from(size.1);
    let n_pixels = u32::try_from(n_pixels).map_err(|_| "its tiles are too large")?;
    let mut decoder = Decoder::open(n_pixels)?;
    let mut data = Data::copy(data)?;
    let picture = (0..MAX_REQUESTS).find_map(|_| decoder.request(&mut data).transpose());
    let picture = picture.unwrap_or_else(|| Err("its AV1 data shows no frame".into()))?;
    picture.planes(size)
}

/// Data that is not yet sent.
struct Data(Dav1dData);

impl Data {
    fn copy(data: &[u8]) -> Result<Self, String> {
        if data.is_empty() {
            return Err("it has no AV1 data".into());
        }
        let mut all = Self(Dav1dData::default());
        // SAFETY: `all.0` is written to. The result is null or memory of `data.len()` bytes.
        let to = unsafe { dav1d_data_create(NonNull::new(&raw mut all.0), data.len()) };
        let to = NonNull::new(to).ok_or("there is no memory for its AV1 data")?;
        // SAFETY: `to` has just been allocated with this length, and so is no part of `data`.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(data).cast(), data.len()) };
        Ok(all)
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // SAFETY: a value of `dav1d_data_create` or of `dav1d_send_data`, or empty.
        unsafe { dav1d_data_unref(NonNull::new(&raw mut self.0)) };
    }
}

struct Decoder(Option<Dav1dContext>);

impl Decoder {
    /// Opens a decoder of one thread that refuses larger frames.
    fn open(max_pixels: u32) -> Result<Self, String> {
        let mut settings = MaybeUninit::<Dav1dSettings>::uninit();
        // SAFETY: the settings are written, all of them.
        let mut settings = unsafe {
            dav1d_default_settings(NonNull::from(&mut settings).cast());
            settings.assume_init()
        };
        settings.n_threads = 1;
        settings.max_frame_delay = 1;
        settings.all_layers = 0;
        // 0 would be no limit.
        settings.frame_size_limit = max_pixels.max(1);
        // SAFETY: a logger is two optional pointers in the layout of C, and has none then.
        settings.logger = unsafe { MaybeUninit::zeroed().assume_init() };
        let mut decoder = Self(None);
        let to = NonNull::new(from_mut(&mut decoder.0));
        // SAFETY: the decoder is written to, the settings are read.
        let Dav1dResult(code) = unsafe { dav1d_open(to, NonNull::new(&raw mut settings)) };
        if code == 0 { Ok(decoder) } else { Err(failed(code)) }
    }

    /// Sends data and asks for a picture; `None` if it has to be asked again.
    fn request(&mut self, data: &mut Data) -> Result<Option<Picture>, String> {
        if data.0.sz > 0 {
            // SAFETY: the decoder is open; the data is read and written, and stays valid.
            let Dav1dResult(code) =
                unsafe { dav1d_send_data(self.0, NonNull::new(&raw mut data.0)) };
            if code != 0 && code != AGAIN {
                return Err(failed(code));
            }
        }
        let mut picture = Picture(Dav1dPicture::default());
        // SAFETY: the decoder is open, the picture is written to.
        let Dav1dResult(code) =
            unsafe { dav1d_get_picture(self.0, NonNull::new(&raw mut picture.0)) };
        match code {
            0 => Ok(Some(picture)),
            AGAIN if data.0.sz > 0 => Ok(None),
            AGAIN => Err("its AV1 data shows no frame".into()),
            code => Err(failed(code)),
        }
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: the decoder is open, or was never opened; it becomes empty.
        unsafe { dav1d_close(NonNull::new(from_mut(&mut self.0))) };
    }
}

fn failed(code: c_int) -> String {
    const OUT_OF_MEMORY: c_int = -12;
    const TOO_LARGE: c_int = -34;
    match code {
        OUT_OF_MEMORY => "there is no memory for its frame".into(),
        TOO_LARGE => "its frame is larger than the AVIF says".into(),
        _ => format!("its AV1 data is damaged (rav1d: {code})"),
    }
}

struct Picture(Dav1dPicture);

impl Picture {
    /// Copies the samples.
    fn planes(&self, (width, height): (u32, u32)) -> Result<Planes, String> {
        let picture = &self.0;
        let (found_width, found_height, bits) = (picture.p.w, picture.p.h, picture.p.bpc);
        if (u32::try_from(found_width), u32::try_from(found_height)) != (Ok(width), Ok(height)) {
            return Err(format!(
                "its frame is of {found_width}x{found_height}, not {width}x{height}"
            ));
        }
        let halved = match picture.p.layout {
            DAV1D_PIXEL_LAYOUT_I400 | DAV1D_PIXEL_LAYOUT_I444 => (0, 0),
            DAV1D_PIXEL_LAYOUT_I422 => (1, 0),
            DAV1D_PIXEL_LAYOUT_I420 => (1, 1),
            layout => return Err(format!("its samples have an unknown layout {layout}")),
        };
        let n_planes = if picture.p.layout == DAV1D_PIXEL_LAYOUT_I400 { 1 } else { 3 };
        let header = picture.seq_hdr.ok_or("its frame has no header")?;
        // SAFETY: the header belongs to the picture, which is held.
        let header = unsafe { header.as_ref() };
        let colors = AvifColors {
            primaries: header.pri as u16,
            matrix: header.mtrx as u16,
            is_full_range: header.color_range != 0,
        };
        let all = (0..n_planes).map(|index| self.plane(index, halved)).collect::<Result<_, _>>()?;
        let bits = u8::try_from(bits).map_err(|_| "its samples have a depth that cannot be")?;
        Ok(Planes { bits, colors, all, halved })
    }

    fn plane(&self, index: usize, (across, down): (u8, u8)) -> Result<Plane, String> {
        let picture = &self.0;
        let (across, down) = if index == 0 { (0, 0) } else { (across, down) };
        let side = |side: c_int, shift: u8| (side as usize + usize::from(shift)) >> shift;
        let (width, height) = (side(picture.p.w, across), side(picture.p.h, down));
        let stride = picture.stride.get(usize::from(index > 0)).copied().unwrap_or(0);
        let start = picture.data.get(index).copied().flatten().ok_or("its frame has no samples")?;
        let is_wide = picture.p.bpc > 8;
        let row_bytes = width * if is_wide { 2 } else { 1 };
        let stride = usize::try_from(stride).ok().filter(|stride| *stride >= row_bytes);
        let stride = stride.ok_or("its frame has rows that overlap")?;
        let mut plane = Plane { width, height, samples: Vec::with_capacity(width * height) };
        for y in 0..height {
            // SAFETY: the plane has `height` rows, `stride` bytes apart, of at least `row_bytes`,
            // which are written; the picture is held.
            let row = unsafe {
                let row = start.cast::<u8>().add(y * stride);
                std::slice::from_raw_parts(row.as_ptr(), row_bytes)
            };
            if is_wide {
                let (pairs, _) = row.as_chunks::<2>();
                plane.samples.extend(pairs.iter().map(|&pair| u16::from_ne_bytes(pair)));
            } else {
                plane.samples.extend(row.iter().map(|&sample| u16::from(sample)));
            }
        }
        Ok(plane)
    }
}

impl Drop for Picture {
    fn drop(&mut self) {
        // SAFETY: a picture of `dav1d_get_picture`, or empty.
        unsafe { dav1d_picture_unref(NonNull::new(&raw mut self.0)) };
    }
}
