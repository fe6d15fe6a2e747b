//! Checks the segments before a JPEG's scans (ITU-T T.81, annex B), as far as every decoder
//! requires it.
use fdconvert_jpeg::{
    marker::{DHT, DQT, EOI, SOS, starts_frame},
    marker_segments,
};

/// Tables and components defined so far.
#[derive(Default)]
struct Defined {
    /// Identifiers of components, each with its quantisation table number.
    components: Vec<(u8, u8)>,
    /// The process of the frame, by its marker.
    frame: Option<u8>,
    quantisation: [bool; 4],
    /// DC tables, then AC tables.
    huffman: [[Option<Huffman>; 4]; 2],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Huffman {
    Sound,
    /// More codes of a length than possible.
    Overfull,
}

/// Checks the segments before the first scan.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    let mut defined = Defined::default();
    for segment in marker_segments(bytes) {
        let (marker, at) = (segment.marker, segment.at);
        // The check of the ending reports truncation.
        let Ok(body) = segment.body else { return Ok(()) };
        let done = match marker {
            EOI => return Ok(()),
            DQT => defined.quantisation(body),
            DHT => defined.huffman(body),
            SOS => return defined.scan(body).map_err(|what| in_segment(marker, at, what)),
            _ if starts_frame(marker) => defined.frame(marker, body),
            _ => Ok(()),
        };
        done.map_err(|what| in_segment(marker, at, what))?;
    }
    Ok(())
}

fn in_segment(marker: u8, at: usize, what: &str) -> String {
    format!("the JPEG segment {marker:#04x} at byte {at} {what}")
}

const BAD_LEN: &str = "has a length that does not fit what it holds";

impl Defined {
    fn frame(&mut self, marker: u8, body: &[u8]) -> Result<(), &'static str> {
        if self.frame.replace(marker).is_some() {
            return Err("is a second frame");
        }
        for part in body.get(6..).unwrap_or_default().chunks_exact(3) {
            let &[id, sampling, table] = part else { continue };
            if !(1..=4).contains(&(sampling >> 4)) || !(1..=4).contains(&(sampling & 15)) {
                return Err("has a component with a sampling factor that is not from 1 to 4");
            }
            self.components.push((id, table));
        }
        Ok(())
    }

    fn quantisation(&mut self, mut body: &[u8]) -> Result<(), &'static str> {
        while let Some((&kind, rest)) = body.split_first() {
            let place = self.quantisation.get_mut(usize::from(kind & 15));
            *place.ok_or("defines a table that does not exist")? = true;
            let value_bytes = if kind >> 4 == 0 { 1 } else { 2 };
            body = rest.get(64 * value_bytes..).ok_or(BAD_LEN)?;
        }
        Ok(())
    }

    fn huffman(&mut self, mut body: &[u8]) -> Result<(), &'static str> {
        while let Some((&kind, rest)) = body.split_first() {
            let (counts, rest) = rest.split_first_chunk::<16>().ok_or(BAD_LEN)?;
            let n_values = counts.iter().map(|count| usize::from(*count)).sum();
            let (_, rest) =
                rest.split_at_checked(n_values).filter(|_| n_values <= 256).ok_or(BAD_LEN)?;
            let tables = self.huffman.get_mut(usize::from(kind >> 4));
            let place = tables.and_then(|tables| tables.get_mut(usize::from(kind & 15)));
            *place.ok_or("defines a table that does not exist")? = Some(Huffman::new(counts));
            body = rest;
        }
        Ok(())
    }

    fn scan(&self, body: &[u8]) -> Result<(), &'static str> {
        let (&n_components, rest) = body.split_first().ok_or(BAD_LEN)?;
        let parts = rest.split_at_checked(2 * usize::from(n_components));
        let (parts, _) = parts.filter(|(_, rest)| rest.len() == 3).ok_or(BAD_LEN)?;
        for part in parts.chunks_exact(2) {
            let &[id, tables] = part else { continue };
            let component = self.components.iter().find(|(known, _)| *known == id);
            let (_, quantisation) = component.ok_or("has a component that its frame has not")?;
            // Lossless frames have none.
            let needs_one = !matches!(self.frame, Some(0xC3 | 0xCB));
            let is_there = self.quantisation.get(usize::from(*quantisation)).copied();
            if needs_one && is_there != Some(true) {
                return Err("needs a quantisation table that is missing");
            }
            // A missing table stands for the common one, as in motion JPEG frames.
            let [direct, others] = &self.huffman;
            let used = [(direct, tables >> 4), (others, tables & 15)];
            let used = used.iter().filter_map(|(all, index)| *all.get(usize::from(*index))?);
            if self.is_sequential() && used.into_iter().any(|table| table == Huffman::Overfull) {
                return Err("needs a Huffman table that cannot be");
            }
        }
        Ok(())
    }

    /// Returns true if the single scan has all coefficients, in Huffman codes.
    fn is_sequential(&self) -> bool {
        matches!(self.frame, Some(0xC0 | 0xC1))
    }
}

impl Huffman {
    /// Counts the remaining codes of each length (T.81, C.2).
    fn new(counts: &[u8; 16]) -> Self {
        let mut left = 1_i64;
        for count in counts {
            left = left * 2 - i64::from(*count);
            if left < 0 {
                return Self::Overfull;
            }
        }
        Self::Sound
    }
}
