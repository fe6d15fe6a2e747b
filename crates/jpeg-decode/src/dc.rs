use crate::Block;
use fdconvert_jpeg::Jpeg;

/// The sums of the DC differences so far, by component (T.81, F.2.2.1). Sums that 16 bits do not
/// hold wrap round, as in the coefficients of libjpeg.
#[derive(Debug)]
pub(crate) struct Predictions {
    /// The component of each block of an MCU.
    components: Vec<u8>,
    sums: [i16; 4],
    /// MCUs between two restarts, and those left until the next one.
    interval: u32,
    left: u32,
}

impl Predictions {
    pub(crate) fn new(jpeg: &Jpeg) -> Self {
        let components = jpeg.slots.iter().map(|slot| slot.component).collect();
        // Without restarts the first one is due behind the last MCU.
        let interval = if jpeg.restart_interval == 0 { u32::MAX } else { jpeg.restart_interval };
        Self { components, sums: [0; 4], interval, left: interval }
    }

    /// Puts sums for the differences of the next blocks of the scan, which are whole MCUs.
    pub(crate) fn add_up(&mut self, blocks: &mut [Block]) {
        for mcu in blocks.chunks_mut(self.components.len().max(1)) {
            if self.left == 0 {
                self.sums = [0; 4];
                self.left = self.interval;
            }
            self.left -= 1;
            for ([dc, ..], component) in mcu.iter_mut().zip(&self.components) {
                let sum = &mut self.sums[usize::from(component & 3)];
                *sum = sum.wrapping_add(*dc);
                *dc = *sum;
            }
        }
    }
}
