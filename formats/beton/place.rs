//! Placement of a sample's values in pages.
use crate::beton::{
    stage::{Stored, space},
    writer::BetonWriter,
};
use crate::index::Region;
use fdconvert_core::Result;
use xxhash_rust::xxh3::xxh3_64;

impl BetonWriter {
    /// Puts the values into the page, or into the next one if they do not all fit.
    pub(crate) fn place(&mut self, values: &[Stored<'_>]) -> Result<Vec<Region>> {
        if self.plan.compat {
            return self.place_as_ffcv(values);
        }
        if space(values, self.plan.compat) > self.page.left() {
            self.complete_page()?;
        }
        let mut regions = Vec::with_capacity(values.len());
        for value in values {
            regions.push(self.append(value, self.page.position()));
            if value.len() == 0 {
                self.page.append(&[0]);
            }
        }
        Ok(regions)
    }

    /// FFCV allocates value by value. If a later value does not fit, it starts the sample over in a
    /// new page and leaves the earlier values behind, without table entries.
    fn place_as_ffcv(&mut self, values: &[Stored<'_>]) -> Result<Vec<Region>> {
        let mut regions = Vec::with_capacity(values.len());
        // At most twice: `stage` has checked that all of them fit into a fresh page.
        'sample: loop {
            regions.clear();
            for value in values {
                let left = if self.page_is_open { self.page.left() } else { 0 };
                if value.len() > left {
                    if self.page_is_open {
                        self.complete_page()?;
                    }
                    self.page_is_open = true;
                    if !regions.is_empty() {
                        continue 'sample;
                    }
                }
                // The page before the first one: only empty values can be in it.
                let before = self.page.start - self.plan.page_bytes;
                let pointer = if self.page_is_open { self.page.position() } else { before };
                regions.push(self.append(value, pointer));
            }
            return Ok(regions);
        }
    }

    fn append(&mut self, value: &Stored<'_>, offset: u64) -> Region {
        self.page.append(&value.bytes);
        if value.nul {
            self.page.append(&[0]);
        }
        let len = value.len();
        let stored = self.page.tail(len);
        let xxh3 = value.xxh3.unwrap_or_else(|| xxh3_64(stored));
        debug_assert_eq!(xxh3, xxh3_64(stored), "its bytes were changed");
        Region { offset, len, xxh3, image: value.image }
    }
}
