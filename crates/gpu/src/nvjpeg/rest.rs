//! The images given to nvJPEG, their places, and their outcomes.
use super::{
    LibraryShare,
    frame::{Frame, frame},
};
use crate::{
    Fallback, Limits, Output, Place, Plan, Request, Source, Status, layout::CropLayout, window,
};
use std::ffi::c_int;

/// The images of a batch that the kernels leave to nvJPEG.
pub(crate) struct Rest {
    pub(super) images: Vec<RestImage>,
    /// By request, why nvJPEG does not decode it, if the plan has no reason.
    refused: Vec<(usize, Fallback)>,
    n_bytes: u64,
}

pub(super) struct RestImage {
    pub(super) request: usize,
    pub(super) frame: Frame,
    pub(super) crop: CropLayout,
    pub(super) output_at: u64,
    /// nvJPEG's status: 0 when the pixels are complete.
    pub(super) answer: c_int,
}

impl RestImage {
    pub(super) fn pitch(&self) -> u64 {
        3 * u64::from(self.frame.width)
    }

    pub(super) fn n_bytes(&self) -> u64 {
        self.pitch() * u64::from(self.frame.height)
    }
}

impl Rest {
    /// Plans the kernels' part of a batch, and the rest.
    pub(crate) fn divide(
        requests: &[Request<'_>],
        output: Output,
        limits: Limits,
        share: LibraryShare,
    ) -> (Plan, Self) {
        let plan = match share {
            LibraryShare::Rest => Plan::new(requests, output, limits),
            LibraryShare::All => {
                let mut requests = requests.to_vec();
                for request in &mut requests {
                    // Stored images stay with the kernels: the host does not have their bytes.
                    if let Some(bytes) = request.image.bytes() {
                        request.image = Source::Bytes { bytes, entry_points: None };
                    }
                }
                Plan::new(&requests, output, limits)
            }
        };
        let mut rest = Self { images: Vec::new(), refused: Vec::new(), n_bytes: 0 };
        for (number, (request, outcome)) in requests.iter().zip(&plan.outcomes).enumerate() {
            // An output without pixels suits neither decoder, and a drawing is no JPEG.
            let is_done = matches!(outcome, Ok(_) | Err(Fallback::OutputSize { .. }));
            if is_done || request.image.is_drawn() {
                continue;
            }
            match (look(request, &output, limits), share) {
                (Ok((frame, crop)), _) => rest.add(number, frame, crop, &plan),
                // The kernels' reason stands.
                (Err(_), LibraryShare::Rest) => {}
                (Err(reason), LibraryShare::All) => rest.refused.push((number, reason)),
            }
        }
        (plan, rest)
    }

    fn add(&mut self, request: usize, frame: Frame, crop: CropLayout, plan: &Plan) {
        let mut image = RestImage { request, frame, crop, output_at: 0, answer: 0 };
        image.output_at = match plan.output.decoded().tensor() {
            Some(tensor) => tensor.image_bytes() * request as u64,
            None => {
                let start = plan.output_bytes() + self.n_bytes;
                self.n_bytes += image.n_bytes();
                start
            }
        };
        self.images.push(image);
    }

    /// Returns the number of bytes that the rest appends to the plan's output.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    pub(crate) fn place(&self, request: usize) -> Option<Place> {
        let at = self.images.binary_search_by_key(&request, |image| image.request).ok()?;
        let image = self.images.get(at)?;
        let bytes = image.output_at..image.output_at + image.n_bytes();
        let Frame { width, height, .. } = image.frame;
        Some(Place { bytes, width, height, channels: 3 })
    }

    /// Sets the statuses of its images.
    pub(crate) fn report(&self, statuses: &mut [Status]) {
        for image in &self.images {
            if let Some(status) = statuses.get_mut(image.request) {
                *status = match image.answer {
                    0 => Status::Library,
                    code => {
                        let name = super::status_name(code);
                        Status::Fallback(Fallback::Library { code, name })
                    }
                };
            }
        }
        for (request, reason) in &self.refused {
            if let Some(status) = statuses.get_mut(*request) {
                *status = Status::Fallback(reason.clone());
            }
        }
    }
}

/// Examines an image, and returns the job for nvJPEG.
fn look(
    request: &Request<'_>,
    output: &Output,
    limits: Limits,
) -> Result<(Frame, CropLayout), Fallback> {
    let frame = request.image.bytes().and_then(frame).ok_or(Fallback::NotForLibrary)?;
    // The largest count that samplings allow: the same number of blocks in each component.
    let n_blocks = frame.width.div_ceil(8) * frame.height.div_ceil(8) * frame.n_components;
    if n_blocks > limits.max_image_blocks {
        return Err(Fallback::TooLarge { n_blocks, limit: limits.max_image_blocks });
    }
    let size = (frame.width, frame.height);
    Ok((frame, window::crop(size, request, output).ok_or(Fallback::Crop)?))
}
