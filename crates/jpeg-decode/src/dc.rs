use crate::window::Cells;
use fdconvert_jpeg::Jpeg;

/// The sums of the DC differences so far, by component (T.81, F.2.2.1). Sums beyond 16 bits wrap
/// around, as in the coefficients of libjpeg.
#[derive(Debug)]
pub(crate) struct Predictions {
    /// The component of each block of an MCU.
    components: Vec<u8>,
    sums: [i16; 4],
    /// MCUs between two restarts, and those left until the next one.
    interval: u32,
    left: u32,
    /// Position of the next block in its MCU.
    slot: usize,
}

/// Values after the last place of a block are in the first places of the next block's spill: a code
/// has at most 15 zeros.
const MAX_SPILL: usize = 16;

impl Predictions {
    /// Starts at a block with known sums.
    pub(crate) fn new(jpeg: &Jpeg, block: u32, dc: [i16; 3]) -> Self {
        let components: Vec<_> = jpeg.slots.iter().map(|slot| slot.component).collect();
        let n_slots = (components.len() as u32).max(1);
        // Without restarts the first one is due after the last MCU.
        let interval = if jpeg.restart_interval == 0 { u32::MAX } else { jpeg.restart_interval };
        let (mcu, slot) = (block / n_slots, (block % n_slots) as usize);
        let left = interval - mcu % interval;
        let sums = [dc[0], dc[1], dc[2], 0];
        Self { components, sums, interval, left, slot }
    }

    /// Replaces the differences of the next blocks in scan order, given by their half cells, by
    /// sums, unless they are sums. Returns true if the spill of all these blocks, where damaged data puts values, is
    /// empty.
    pub(crate) fn add_up(&mut self, half_of: &[u32], cells: &mut Cells) -> bool {
        if cells.has_sums {
            return true;
        }
        let mut spilled = [0; MAX_SPILL];
        let mut rest = half_of;
        while !rest.is_empty() {
            if self.slot == 0 && self.left == 0 {
                self.sums = [0; 4];
                self.left = self.interval;
            }
            let components = self.components.get(self.slot..).unwrap_or_default();
            let (mcu, behind) = rest.split_at(components.len().clamp(1, rest.len()));
            rest = behind;
            self.slot += mcu.len();
            if self.slot >= self.components.len() {
                self.slot = 0;
                self.left -= 1;
            }
            for (half, component) in mcu.iter().zip(components) {
                if cells.has_spills
                    && let Some(spill) = cells.half(*half ^ 1)
                {
                    let spill = spill.first_chunk::<MAX_SPILL>().unwrap_or(&[0; MAX_SPILL]);
                    spilled.iter_mut().zip(spill).for_each(|(all, value)| *all |= value);
                }
                let Some(values) = cells.half_mut(*half) else { continue };
                let sum = &mut self.sums[usize::from(component & 3)];
                *sum = sum.wrapping_add(values[0]);
                values[0] = *sum;
            }
        }
        spilled == [0; MAX_SPILL]
    }
}
