//! Decoding of a whole batch on the CPU.
#![allow(unsafe_code, reason = "hands addresses to the kernels")]
use crate::kernels;
use fdconvert_gpu::{
    Addresses, Kernel, Machine, Plan, Request,
    layout::{BatchLayout, FractalsLayout, StateLayout},
};
use std::{convert::Infallible, ops::Range};
use zerocopy::{FromBytes, IntoBytes};

/// Results of the kernels for a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The output, divided as [`Plan::place`] says.
    pub output: Vec<u8>,
    /// The kernels' findings about each image.
    pub states: Vec<StateLayout>,
    /// The coefficients of the last chunk's images, 64 for each block.
    pub coefficients: Vec<[i16; 64]>,
}

/// Decodes a batch by running the kernels on the CPU. All memory starts out with garbage, so that
/// nothing can depend on its content. Stored images must be stored by the
/// [`FakeDriver`](crate::FakeDriver), which uses the host's memory.
#[must_use]
pub fn decode(plan: &Plan, requests: &[Request<'_>]) -> Decoded {
    let mut upload = garbage(plan.upload_bytes());
    let mut workspace = garbage(plan.workspace_bytes());
    let mut output = garbage(plan.output_bytes());
    let upload_address = upload.as_mut_ptr().expose_provenance() as u64;
    plan.fill(requests, upload.as_mut_bytes(), upload_address);
    let at = Addresses {
        upload: upload_address,
        workspace: workspace.as_mut_ptr().expose_provenance() as u64,
        output: output.as_mut_ptr().expose_provenance() as u64,
    };
    let Ok(()) = plan.run(at, &mut Cpu);
    let Ok(()) = plan.finish(at, &mut Cpu);
    let part = |range: Range<u64>| {
        let bytes = workspace.as_bytes().get(range.start as usize..range.end as usize);
        bytes.unwrap_or_default()
    };
    let states = <[StateLayout]>::ref_from_bytes(part(plan.state_range()));
    let coefficients = <[[i16; 64]]>::ref_from_bytes(part(plan.coefficient_range()));
    let mut bytes = output.as_bytes().to_vec();
    bytes.truncate(plan.output_bytes() as usize);
    Decoded {
        output: bytes,
        states: states.map(<[_]>::to_vec).unwrap_or_default(),
        coefficients: coefficients.map(<[_]>::to_vec).unwrap_or_default(),
    }
}

/// Allocates memory aligned for all of the kernels' arrays.
fn garbage(n_bytes: u64) -> Vec<u64> {
    vec![0xA5A5_A5A5_A5A5_A5A5; n_bytes.div_ceil(8) as usize + 1]
}

/// Private, because it is sound only with memory that [`decode`] has allocated.
struct Cpu;

impl Machine for Cpu {
    type Error = Infallible;

    fn clear(&mut self, address: u64, n_bytes: u64) -> Result<(), Infallible> {
        let start = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        // SAFETY: the plan clears parts of the memory that `decode` has made for it.
        unsafe { start.write_bytes(0, n_bytes as usize) };
        Ok(())
    }

    fn launch(
        &mut self,
        kernel: Kernel,
        batch: &BatchLayout,
        n_items: u32,
        n_images: u32,
    ) -> Result<(), Infallible> {
        // SAFETY: the plan launches over the memory that `decode` has made for it.
        unsafe { kernels::launch(kernel, batch, n_items, n_images) };
        Ok(())
    }

    fn draw(&mut self, fractals: &FractalsLayout, n_images: u32) -> Result<(), Infallible> {
        // SAFETY: likewise.
        unsafe { kernels::fdconvert_fractal(fractals, 1, n_images) };
        Ok(())
    }
}
