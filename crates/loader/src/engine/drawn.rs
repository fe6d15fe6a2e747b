//! Rows of drawn images: nothing is read, and images of two gray levels become three channels only
//! in the row. If a GPU draws, it gets the numbers to draw from.
use super::{
    epoch::Chosen,
    queue::Task,
    row::{Decoded, RowMaker, Shown, compiled, device_program, size_after},
};
use crate::{
    dataset::DrawnSample,
    device::DeviceRow,
    fields::RowValues,
    follow::Leader,
    stats::Stage,
    transform::{Area, Region},
};
use fdconvert_core::Result;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

impl RowMaker {
    /// Draws a sample into its row, or leaves it to a GPU; returns the contents of the row besides
    /// the pixels.
    ///
    /// # Errors
    /// The errors of the reader, and of images over a limit.
    pub(super) fn draw(&mut self, sample: &Chosen, task: &mut Task) -> Result<Shown> {
        let draw = || match self.elsewhere(sample, task.on_host)? {
            Some((row, values)) => {
                task.device_row = Some(row);
                Ok(values.into())
            }
            None => self.drawn(sample, task),
        };
        catch_unwind(AssertUnwindSafe(draw))
            .unwrap_or_else(|panic| Err(self.epoch.panicked(sample.located, &*panic)))
    }

    /// Returns the row and its values if a GPU draws it with the pixels that this thread would
    /// draw: images that are resized, too large or drawn in another way stay here.
    fn elsewhere(&self, sample: &Chosen, on_host: bool) -> Result<Option<(DeviceRow, RowValues)>> {
        let epoch = &self.epoch;
        let offload = epoch.setup.offload.as_ref().filter(|_| !on_host);
        let Some(offload) = offload.filter(|offload| offload.draws()) else { return Ok(None) };
        let began = Instant::now();
        let Some((image, values)) = epoch.datasets().lanes(sample.located)? else {
            return Ok(None);
        };
        let (limits, side) = (&epoch.setup.options.limits, image.side);
        let changes = epoch.changes(sample, 0, (side, side))?;
        let is_allowed = u64::from(side) * u64::from(side) <= limits.max_pixels;
        let program = device_program(&changes, (side, side)).filter(|_| is_allowed);
        let Some(program) = program else { return Ok(None) };
        let Some(corner) = program.as_is((side, side)) else { return Ok(None) };
        let row = DeviceRow::drawn(offload, (image, corner), program);
        epoch.setup.counters.spent(Stage::Draw, began.elapsed());
        Ok(Some((row, values)))
    }

    fn drawn(&mut self, sample: &Chosen, task: &mut Task) -> Result<Shown> {
        let (began, epoch) = (Instant::now(), self.epoch.clone());
        let (counters, limits) = (&epoch.setup.counters, &epoch.setup.options.limits);
        let DrawnSample { key, image, mut values } = epoch.datasets().draw(sample.located)?;
        let (header, channels, _) =
            self.decoder.expand_into(&key, image, limits, &mut self.pixels)?;
        counters.spent(Stage::Draw, began.elapsed());
        let (width, height) = (header.width, header.height);
        let area = Area { x: 0, y: 0, width, height };
        let pixels = std::mem::take(&mut self.pixels);
        let region = Region { pixels: &pixels, area, channels, denominator: 1 };
        let decoded = Decoded::Rgb(region);
        let source = (width, height);
        let changes = epoch.changes(sample, task.bucket, source)?;
        let shown = size_after(&changes, source);
        let painted = self.paint(&key, &decoded, &mut compiled(&changes, source), shown, task);
        self.pixels = pixels;
        painted?;
        let dataset = sample.located.dataset;
        let leader = Leader { dataset, key: &key, changes: &changes, source, image: None };
        let followed = self.follow(&leader, &mut values)?;
        epoch.count(sample);
        Ok(Shown { values, followed, size: shown })
    }
}
