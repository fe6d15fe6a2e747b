//! The scans of a progressive JPEG (ITU-T T.81, annex G).
//!
//! A scan has the DC values of some components, or a band of AC values of one: all their bits but
//! the lowest ones, or one bit more of values whose higher bits came before.
use crate::{
    Class, HuffmanTable, Jpeg, Refused, START, Unstuffed,
    bits::MAX_SCAN_BYTES,
    marker::{EOI, SOS},
    markers::{State, check_table, defined},
};

/// Most scans of an image: encoders write about ten, while a few kilobytes of scans without content
/// would occupy a decoder for long.
const MAX_SCANS: usize = 64;
/// Most low bits that a scan leaves to later ones (T.81, table B.3).
const MAX_LOW: u8 = 13;

/// The header of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressiveScan {
    /// The components, as positions in [`Jpeg::components`] and in that order: a single one in a scan
    /// of AC values.
    pub components: Vec<u8>,
    /// The first and the last value of each block, in zigzag order: 0 and 0, or from 1 on.
    pub band: (u8, u8),
    /// True if each value gets one bit more, false if it gets its first ones.
    pub refines: bool,
    /// The place of the lowest bit.
    pub low: u8,
    /// The Huffman table of each component; none for one bit more of DC values.
    pub tables: Vec<HuffmanTable>,
}

/// Reads a progressive JPEG scan by scan, and checks that each continues the ones before and that
/// the last completes the image.
#[derive(Debug)]
pub struct ProgressiveScans<'a> {
    bytes: &'a [u8],
    at: usize,
    state: State,
    jpeg: Jpeg,
    /// Of each value of each component the lowest bit so far.
    low: Vec<[Option<u8>; 64]>,
    n_scans: usize,
}

impl<'a> ProgressiveScans<'a> {
    /// Reads the markers up to the first scan.
    ///
    /// # Errors
    /// [`Refused`] when the file is damaged, not a progressive JPEG of 8 bits with one or three
    /// components, or has restart markers.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Refused> {
        if !bytes.starts_with(&START) {
            return Err(Refused::NotJpeg);
        }
        let mut state = State::of_progressive();
        let segment = state.read_to_scan(bytes, START.len())?;
        let offset = segment.from();
        let frame = state.frame.as_ref().ok_or(Refused::NoFrame { offset })?;
        let components = frame.components.clone();
        for component in &components {
            let index = component.quant_table;
            defined(&state.quant_tables, index).ok_or(Refused::NoQuantTable { offset, index })?;
        }
        let low = vec![[None; 64]; components.len()];
        let jpeg = state.clone().finish(offset, components, segment.end..bytes.len())?;
        Ok(Self { bytes, at: segment.at, state, jpeg, low, n_scans: 0 })
    }

    /// Returns the image, whose `scan` is the rest of the file, and whose blocks are in the order of
    /// a scan of all components.
    #[must_use]
    pub fn jpeg(&self) -> &Jpeg {
        &self.jpeg
    }

    /// Reads the next scan, with its data in `data`; `None` after the last one.
    ///
    /// # Errors
    /// [`Refused`] when the scan, or the end of the image, does not continue the scans before.
    pub fn next(&mut self, data: &mut Unstuffed) -> Result<Option<ProgressiveScan>, Refused> {
        let segment = self.state.read_to_scan(self.bytes, self.at)?;
        let offset = segment.from();
        let other = Refused::Progression { offset };
        if segment.marker == EOI {
            let is_complete = self.low.iter().flatten().all(|low| *low == Some(0));
            return if is_complete { Ok(None) } else { Err(other) };
        }
        self.n_scans += 1;
        if self.n_scans > MAX_SCANS || self.state.restart_interval != 0 {
            return Err(other);
        }
        let scan = self.header(offset, segment.body.unwrap_or_default())?;
        let rest = self.bytes.get(segment.end..).unwrap_or_default();
        if rest.len() > MAX_SCAN_BYTES {
            return Err(Refused::TooLong { n_bytes: rest.len() });
        }
        self.at = segment.end + data.read(&self.jpeg, rest, segment.end)?;
        Ok(Some(scan))
    }

    /// Reads the header of a scan (B.2.3).
    fn header(&mut self, offset: usize, body: &[u8]) -> Result<ProgressiveScan, Refused> {
        let other = Refused::Progression { offset };
        let bad_len = Refused::Length { offset, marker: SOS };
        let (n_components, rest) = body.split_first().ok_or(bad_len.clone())?;
        let parts = rest.split_at_checked(2 * usize::from(*n_components));
        let Some((parts, &[first, last, bits])) = parts else { return Err(bad_len) };
        let (high, low) = (bits >> 4, bits & 15);
        let refines = high != 0;
        let is_band = match (first, last) {
            (0, last) => last == 0,
            (_, last) => (first..=63).contains(&last) && *n_components == 1,
        };
        if !is_band || low > MAX_LOW || refines && high != low + 1 {
            return Err(other);
        }
        let class = if first == 0 { Class::Dc } else { Class::Ac };
        let mut components = Vec::new();
        let mut tables = Vec::new();
        for part in parts.chunks_exact(2) {
            let &[id, numbers] = part else { continue };
            let number = self.jpeg.components.iter().position(|it| it.id == id);
            let number = number.ok_or(Refused::ScanComponents { offset })? as u8;
            if components.last().is_some_and(|it| *it >= number) {
                return Err(Refused::ScanComponents { offset });
            }
            components.push(number);
            let low_of = self.low.get_mut(usize::from(number)).ok_or(other.clone())?;
            // AC values come after the first bits of the DC values.
            if class == Class::Ac && low_of[0].is_none() {
                return Err(other);
            }
            for before in low_of.get_mut(usize::from(first)..=usize::from(last)).unwrap_or_default()
            {
                if *before != refines.then_some(high) {
                    return Err(other);
                }
                *before = Some(low);
            }
            let (defined_tables, index) = match class {
                Class::Dc if refines => continue,
                Class::Dc => (&self.state.dc_tables, numbers >> 4),
                Class::Ac => (&self.state.ac_tables, numbers & 15),
            };
            check_table(offset, defined_tables, class, index)?;
            tables.extend(defined(defined_tables, index).cloned());
        }
        if components.is_empty() {
            return Err(Refused::ScanComponents { offset });
        }
        Ok(ProgressiveScan { components, band: (first, last), refines, low, tables })
    }
}
