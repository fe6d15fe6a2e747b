//! Rows of images that are drawn: nothing is read, and of two gray levels there is never a pixel of
//! three channels before the row.
use super::{epoch::Chosen, row::RowMaker};
use crate::{
    dataset::DrawnSample,
    stats::Stage,
    transform::{Area, Region},
};
use fdconvert_core::Result;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

impl RowMaker {
    /// Draws a sample into its row; returns its label.
    ///
    /// # Errors
    /// Those of the reader, and of images over a limit.
    pub(super) fn draw(&mut self, sample: &Chosen, row: &mut [u8]) -> Result<i64> {
        let draw = || self.drawn(sample, row);
        catch_unwind(AssertUnwindSafe(draw))
            .unwrap_or_else(|panic| Err(self.epoch.panicked(sample.located, &*panic)))
    }

    fn drawn(&mut self, sample: &Chosen, row: &mut [u8]) -> Result<i64> {
        let (began, epoch) = (Instant::now(), self.epoch.clone());
        let (counters, limits) = (&epoch.setup.counters, &epoch.setup.options.limits);
        let DrawnSample { key, image, label } = epoch.datasets().draw(sample.located)?;
        let (header, channels, _) =
            self.decoder.expand_into(&key, image, limits, &mut self.pixels)?;
        let drawn = Instant::now();
        counters.spent(Stage::Draw, drawn - began);
        let (width, height) = (header.width, header.height);
        let area = Area { x: 0, y: 0, width, height };
        let region = Region { pixels: &self.pixels, area, channels, denominator: 1 };
        let geometry = epoch.geometry(sample, (width, height));
        self.renderer.render(&key, &region, &geometry, epoch.key(sample), row)?;
        counters.spent(Stage::Render, drawn.elapsed());
        epoch.count(sample);
        Ok(label)
    }
}
