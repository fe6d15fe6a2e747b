//! The same images by libjpeg-turbo on all cores.
use super::{Result, images::Set};
use fdconvert_codec::Decoder;
use fdconvert_core::Limits;
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

pub(crate) fn n_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Returns images per second, for `n_images` of the set, wrapping around after the last.
pub(crate) fn images_per_s(set: &Set, n_images: usize) -> Result<f64> {
    let next = AtomicUsize::new(0);
    let began = Instant::now();
    let decode = || -> fdconvert_core::Result<()> {
        let (mut decoder, mut pixels) = (Decoder::new(), Vec::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let image = set.images.get(number % set.images.len().max(1));
            let Some(image) = image.filter(|_| number < n_images) else { return Ok(()) };
            decoder.decode_into("", &image.encoded, &Limits::DEFAULT, &mut pixels)?;
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads()).map(|_| scope.spawn(decode)).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(done) => Ok(done?),
            Err(_) => Err("a thread panicked".into()),
        })
    })
    .map(|()| n_images as f64 / began.elapsed().as_secs_f64())
}
