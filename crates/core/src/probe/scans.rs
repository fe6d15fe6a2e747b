//! Tracks the coefficients that a JPEG's scans send (ITU-T T.81, B.2.3 and G.1.1).
use crate::probe::Ending;
use fdconvert_jpeg::{
    marker::{EOI, SOS, starts_frame},
    marker_segments,
};

const N_COEFFICIENTS: usize = 64;

/// Marks a coefficient before its first scan; otherwise the number of low bits still to come.
const NOTHING_SENT: u8 = u8::MAX;

/// Returns how the image ends, by a walk over all its scans; `None` if they cannot tell: in the
/// usual JPEG with a single scan of Huffman codes, only the decoder can count the data.
pub(crate) fn ending(bytes: &[u8]) -> Option<Result<Ending, String>> {
    let mut frame: Option<Frame> = None;
    let mut n_scans = 0;
    let mut ended = false;
    for segment in marker_segments(bytes) {
        // The bytes end inside it, or its length is impossible.
        let Ok(body) = segment.body else { break };
        match segment.marker {
            EOI => ended = true,
            marker if starts_frame(marker) => frame = Some(Frame::new(marker, body)?),
            SOS => {
                let frame = frame.as_mut()?;
                frame.scan(body);
                n_scans += 1;
                if n_scans == 1 && frame.is_usual() {
                    return None;
                }
            }
            _ => {}
        }
    }
    let frame = frame?;
    if n_scans == 0 {
        return Some(Err(format!("the JPEG has no image data: no scan in {} bytes", bytes.len())));
    }
    Some(frame.ending(ended, n_scans, bytes.len()))
}

struct Frame {
    marker: u8,
    components: Vec<Component>,
}

struct Component {
    id: u8,
    /// Low bits still to come for every coefficient, in zigzag order.
    to_come: [u8; N_COEFFICIENTS],
}

impl Frame {
    /// `None` for hierarchical frames, which are several images.
    fn new(marker: u8, body: &[u8]) -> Option<Self> {
        if !matches!(marker, 0xC0..=0xC3 | 0xC9..=0xCB) {
            return None;
        }
        let components = body.get(6..)?.chunks_exact(3).take(usize::from(*body.get(5)?));
        let component = |part: &[u8]| Component {
            id: part.first().copied().unwrap_or_default(),
            to_come: [NOTHING_SENT; N_COEFFICIENTS],
        };
        Some(Self { marker, components: components.map(component).collect() })
    }

    fn is_progressive(&self) -> bool {
        matches!(self.marker, 0xC2 | 0xCA)
    }

    /// Returns true if it is a single scan of Huffman codes with all coefficients.
    fn is_usual(&self) -> bool {
        matches!(self.marker, 0xC0 | 0xC1) && self.n_missing() == 0
    }

    /// Records what a scan sends, by its header.
    fn scan(&mut self, body: &[u8]) {
        let Some((&n_components, rest)) = body.split_first() else { return };
        let Some((parts, parameters)) = rest.split_at_checked(2 * usize::from(n_components)) else {
            return;
        };
        let (band, bits) = match *parameters {
            [first, last, bits, ..] if self.is_progressive() => {
                (usize::from(first)..usize::from(last) + 1, bits & 15)
            }
            _ => (0..N_COEFFICIENTS, 0),
        };
        let mut named = vec![false; self.components.len()];
        for part in parts.chunks_exact(2) {
            // Components with equal identifiers are referred to in sequence.
            let found = self.components.iter_mut().zip(&mut named);
            let found = found
                .into_iter()
                .find(|(component, named)| !**named && Some(&component.id) == part.first());
            let Some((component, named)) = found else { continue };
            *named = true;
            for to_come in component.to_come.get_mut(band.clone()).unwrap_or_default() {
                *to_come = bits;
            }
        }
    }

    /// Number of incomplete coefficients, over all components.
    fn n_missing(&self) -> usize {
        let all = self.components.iter().flat_map(|component| component.to_come);
        all.filter(|to_come| *to_come > 0).count()
    }

    fn ending(&self, ended: bool, n_scans: usize, n_bytes: usize) -> Result<Ending, String> {
        let unsent = |component: &Component| component.to_come.first() == Some(&NOTHING_SENT);
        let missing = self.n_missing();
        let of = self.components.len() * N_COEFFICIENTS;
        match (ended, missing) {
            (true, 0) => Ok(Ending::Complete),
            (false, 0) => Ok(Ending::NoEndMarker),
            _ if self.components.iter().any(unsent) => {
                let n_sent = self.components.iter().filter(|component| !unsent(component)).count();
                let n_components = self.components.len();
                Err(format!(
                    "the JPEG ends at byte {n_bytes} behind scan {n_scans}, with the data of \
                     {n_sent} of its {n_components} components"
                ))
            }
            (true, _) => Ok(Ending::CoefficientsLeftOut),
            (false, _) => Err(format!(
                "the JPEG ends at byte {n_bytes} in scan {n_scans}, before all bits of {missing} \
                 of the {of} coefficients of a block were sent"
            )),
        }
    }
}
