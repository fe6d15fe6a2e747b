//! The row of MCUs that a cut starts with, in place of all rows above.
//!
//! ```text
//! for each component: its first blocks have the DC values that lead to the prediction at the cut
//! all other blocks: the same DC value, nothing else
//! as many blocks as it takes: one value more, of an odd number of bits, until the bits fit
//! ```
use crate::{HuffmanTable, Jpeg, walk::Predictions};

/// Writes the row of MCUs to the start of a scan that leaves these predictions, and so many bits of
/// its last byte (0 to 7) taken. `None` where the Huffman tables lack the codes for that.
pub(crate) fn write_row(
    jpeg: &Jpeg,
    dc: Predictions,
    taken: u32,
    writer: &mut Bits<'_>,
) -> Option<()> {
    let mut codes = Vec::new();
    for component in &jpeg.components {
        let dc_table = jpeg.dc_tables.get(usize::from(component.dc_table))?.as_ref()?;
        let ac_table = jpeg.ac_tables.get(usize::from(component.ac_table))?.as_ref()?;
        codes.push(Codes::new(dc_table, ac_table)?);
    }
    let start = writer.out.len();
    write_blocks(jpeg, dc, &codes, None, writer)?;
    if writer.n_bits == taken {
        return Some(());
    }
    let n_missing = taken + 8 - writer.n_bits;
    let odd = |(component, codes): (u8, &Codes)| Some((component, codes.odd?));
    let (component, code) = (0..).zip(&codes).find_map(odd)?;
    // The inverse of an odd number is the number itself, modulo 8.
    let filler = Filler { component, code, n_left: n_missing * code.1 % 8 };
    writer.out.truncate(start);
    (writer.word, writer.n_bits) = (0, 0);
    write_blocks(jpeg, dc, &codes, Some(filler), writer)
}

/// A value that some blocks of a component have, to make the row longer.
struct Filler {
    component: u8,
    code: Code,
    /// Blocks that are still to get it.
    n_left: u32,
}

fn write_blocks(
    jpeg: &Jpeg,
    dc: Predictions,
    codes: &[Codes],
    mut filler: Option<Filler>,
    writer: &mut Bits<'_>,
) -> Option<()> {
    let mut left = dc.map(i32::from);
    for _ in 0..jpeg.mcus_x {
        for slot in &jpeg.slots {
            let codes = codes.get(usize::from(slot.component))?;
            let left = left.get_mut(usize::from(slot.component))?;
            let step = codes.step(*left)?;
            *left -= step.change;
            writer.put(step.code);
            if let Some(filler) = &mut filler
                && filler.component == slot.component
                && filler.n_left > 0
            {
                filler.n_left -= 1;
                writer.put(filler.code);
            }
            writer.put(codes.end);
        }
    }
    (left == [0; 3] && filler.is_none_or(|filler| filler.n_left == 0)).then_some(())
}

/// Bits, and how many there are of them.
type Code = (u32, u32);

/// Codes of a component's tables that the row uses.
struct Codes {
    /// By the bits of the value.
    dc: [Option<Code>; 12],
    /// The end of a block.
    end: Code,
    /// A value with few zeros before it, code and value having an odd number of bits.
    odd: Option<Code>,
}

/// A change of the DC value.
struct Step {
    change: i32,
    code: Code,
}

impl Codes {
    fn new(dc: &HuffmanTable, ac: &HuffmanTable) -> Option<Self> {
        let mut codes = [None; 12];
        for (bits, n_bits, size) in dc.codes() {
            if let Some(code) = codes.get_mut(usize::from(size)) {
                *code = Some((bits, n_bits));
            }
        }
        let end = ac.codes().find(|(.., symbol)| *symbol == 0)?;
        let odd = ac.codes().find_map(|(bits, n_bits, symbol)| {
            let size = u32::from(symbol & 15);
            let is_odd = (1..=10).contains(&size) && (n_bits + size) % 2 == 1;
            // The uppermost bit alone is the smallest positive value of that size.
            is_odd.then(|| (bits << size | 1 << (size - 1), n_bits + size))
        });
        Some(Self { dc: codes, end: (end.0, end.1), odd })
    }

    /// The largest step to a change that there is a code for.
    fn step(&self, wanted: i32) -> Option<Step> {
        let mut size = 32 - wanted.unsigned_abs().leading_zeros();
        let mut change = wanted;
        loop {
            if let Some((bits, n_bits)) = self.dc.get(size as usize).copied().flatten() {
                let value = if change < 0 { change + (1 << size) - 1 } else { change };
                let code = (bits << size | value as u32, n_bits + size);
                return Some(Step { change, code });
            }
            // All values of fewer bits are smaller.
            size = size.checked_sub(1)?;
            change = ((1 << size) - 1) * wanted.signum();
        }
    }
}

/// Appends bits to a scan, and stuffs.
pub(crate) struct Bits<'a> {
    out: &'a mut Vec<u8>,
    /// The last `n_bits` of it are not yet out.
    word: u64,
    /// 0 to 7.
    n_bits: u32,
}

impl<'a> Bits<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, word: 0, n_bits: 0 }
    }

    /// Returns what was appended to, and the bits that are not out, lowermost, with their number, 0
    /// to 7.
    pub(crate) fn finish(self) -> (&'a mut Vec<u8>, u8, u32) {
        (self.out, self.word as u8, self.n_bits)
    }

    fn put(&mut self, (bits, n_bits): Code) {
        self.word = self.word << n_bits | u64::from(bits);
        self.n_bits += n_bits;
        while self.n_bits >= 8 {
            self.n_bits -= 8;
            push(self.out, (self.word >> self.n_bits) as u8);
        }
    }
}

/// Appends a byte of a scan, and stuffs.
pub(crate) fn push(out: &mut Vec<u8>, byte: u8) {
    out.push(byte);
    if byte == 0xFF {
        out.push(0);
    }
}
