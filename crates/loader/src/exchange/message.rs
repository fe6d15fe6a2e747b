//! Messages between ranks. They are never stored, and all ranks of a training run the same version.
//!
//! ```text
//! first call     4  "fdx1"
//!                4  flags: 1 active, 2 leaves
//!                8  identity of the load: datasets, label, fields, seed, owners
//!                8  epoch
//!                8  number of requested steps
//!           12 n    requested samples: 4 stratum, 8 number in it
//! second call    4  "fdx1"
//!             n *   8  length of the rest after the checksum; 0, and no more, for none
//!                   8  XXH3-64 of the rest
//!                  12  the sample: 4 stratum, 8 number in it
//!                      the sample as in a folder of the cache: a line of JSON, image, fields,
//!                      entry points
//! ```
//!
//! Numbers are little-endian.
use crate::{dataset::Fetched, order::Place, supply::copies};
use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: [u8; 4] = *b"fdx1";
const IS_ACTIVE: u32 = 1;
const LEAVES: u32 = 2;

/// Progress of a rank; the rank with the smaller value is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Standing {
    pub(super) epoch: u64,
    pub(super) n_steps: u64,
}

/// Announcement of a rank to all others in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// Differs between any two loads that must not exchange samples.
    pub(super) identity: u64,
    pub(super) standing: Standing,
    /// The rank has steps in its epoch that it has not requested.
    pub(super) is_active: bool,
    pub(super) leaves: bool,
}

impl Head {
    /// Encodes the message to a rank with requests for these samples.
    pub(super) fn asking_for(&self, places: impl Iterator<Item = Place>) -> Vec<u8> {
        let flag = |is: bool, flag| if is { flag } else { 0 };
        let flags = flag(self.is_active, IS_ACTIVE) | flag(self.leaves, LEAVES);
        let mut message = MAGIC.to_vec();
        message.extend(flags.to_le_bytes());
        for number in [self.identity, self.standing.epoch, self.standing.n_steps] {
            message.extend(number.to_le_bytes());
        }
        places.for_each(|place| message.extend(bytes_of(place)));
        message
    }

    /// Parses a message into the head of a rank and its requested places; `None` for any other
    /// message.
    pub(super) fn read(message: &[u8]) -> Option<(Self, Vec<Place>)> {
        let mut rest = Rest(message);
        (rest.take()? == MAGIC).then_some(())?;
        let flags = u32::from_le_bytes(rest.take()?);
        let mut number = || rest.take().map(u64::from_le_bytes);
        let identity = number()?;
        let standing = Standing { epoch: number()?, n_steps: number()? };
        let mut places = Vec::with_capacity(rest.0.len() / PLACE_BYTES);
        while !rest.0.is_empty() {
            places.push(place_of(rest.take()?));
        }
        let (is_active, leaves) = (flags & IS_ACTIVE != 0, flags & LEAVES != 0);
        Some((Self { identity, standing, is_active, leaves }, places))
    }
}

/// Encodes a message with these samples; `None` marks those that are not sent.
pub(super) fn with_samples(samples: &[(Place, Option<Fetched>)]) -> Vec<u8> {
    let mut message = MAGIC.to_vec();
    for (place, fetched) in samples {
        let Some(fetched) = fetched else {
            message.extend([0; 8]);
            continue;
        };
        let body = copies::with_parts(fetched, |parts| {
            let place = bytes_of(*place);
            std::iter::once(&place[..]).chain(parts).collect::<Vec<_>>().concat()
        });
        message.extend((body.len() as u64).to_le_bytes());
        message.extend(xxh3_64(&body).to_le_bytes());
        message.extend(body);
    }
    message
}

/// Parses the samples of a message, in the order of the requests; `None` for each that was not
/// sent, or was damaged on the way.
pub(super) fn samples(message: Vec<u8>, asked: &[Place]) -> Vec<Option<Fetched>> {
    let message = Bytes::from(message);
    let mut at = MAGIC.len();
    let is_ours = message.starts_with(&MAGIC);
    let mut next = |place: Place| -> Option<Fetched> {
        let mut head = Rest(message.get(at..)?);
        let len = usize::try_from(u64::from_le_bytes(head.take()?)).ok()?;
        if len == 0 {
            at += 8;
            return None;
        }
        let checksum = u64::from_le_bytes(head.take()?);
        let begin = at.checked_add(16)?;
        let end = begin.checked_add(len).filter(|end| *end <= message.len())?;
        at = end;
        let body = message.slice(begin..end);
        let is_it = xxh3_64(&body) == checksum && Rest(&body).take() == Some(bytes_of(place));
        copies::parse(is_it.then(|| body.slice(PLACE_BYTES..))?)
    };
    asked.iter().map(|place| if is_ours { next(*place) } else { None }).collect()
}

const PLACE_BYTES: usize = 12;

fn bytes_of(Place { stratum, id }: Place) -> [u8; PLACE_BYTES] {
    let mut bytes = [0; PLACE_BYTES];
    let (first, second) = bytes.split_at_mut(4);
    first.copy_from_slice(&stratum.to_le_bytes());
    second.copy_from_slice(&id.to_le_bytes());
    bytes
}

fn place_of([a, b, c, d, id @ ..]: [u8; PLACE_BYTES]) -> Place {
    Place { stratum: u32::from_le_bytes([a, b, c, d]), id: u64::from_le_bytes(id) }
}

/// The unread part of a message.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, Standing, samples, with_samples};
    use crate::{
        dataset::Fetched,
        fields::{FieldValue, RowValues},
        order::Place,
    };
    use bytes::Bytes;
    use fdconvert_core::{Codec, Encoded};
    use std::sync::Arc;

    const HEAD: Head = Head {
        identity: 1 << 63 | 5,
        standing: Standing { epoch: 7, n_steps: 1 << 40 },
        is_active: true,
        leaves: false,
    };

    fn place(id: u64) -> Place {
        Place { stratum: 3, id }
    }

    fn fetched(
        bytes: &'static [u8],
        entry_points: Option<&'static [u8]>,
        fields: Option<Arc<[FieldValue]>>,
    ) -> Fetched {
        let image = Encoded::new(Codec::Jpeg, 40, 30, Bytes::from_static(bytes));
        let image = image.with_entry_points(entry_points.map(Bytes::from_static));
        let values = RowValues { label: -4, fields };
        Fetched { key: "a\nb".into(), values, image, is_owned: false }
    }

    #[test]
    fn what_is_asked_comes_back_and_nothing_else_passes_for_it() {
        for n in [0, 1, 3] {
            let places: Vec<Place> = (0..n).map(place).collect();
            for leaves in [false, true] {
                let head = Head { leaves, is_active: !leaves, ..HEAD };
                let message = head.asking_for(places.iter().copied());
                assert_eq!(Head::read(&message), Some((head, places.clone())));
            }
            let message = HEAD.asking_for(places.iter().copied());
            for len in 0..message.len() {
                let whole = len >= 32 && (len - 32) % 12 == 0;
                assert_eq!(Head::read(&message[..len]).is_some(), whole);
            }
        }
        assert!(Head::read(&[7; 32]).is_none());
    }

    #[test]
    fn samples_come_back_and_every_changed_bit_costs_its_sample() {
        let bytes = Bytes::from_static;
        let fields = [
            FieldValue::Int(-3),
            FieldValue::Float(0.1),
            FieldValue::Text("ä\n".into()),
            FieldValue::Json(bytes(b"{}")),
            FieldValue::Bytes(bytes(b"")),
            FieldValue::Array(bytes(&[1, 2, 3, 4])),
        ];
        let sent = [
            (place(1), Some(fetched(b"abc\n", None, Some(fields.into())))),
            (place(9), None),
            (place(2), Some(fetched(b"", Some(b"points"), None))),
        ];
        let asked = [1, 9, 2].map(place);
        let message = with_samples(&sent);
        let all = samples(message.clone(), &asked);
        for ((_, sent), found) in sent.iter().zip(&all) {
            assert_eq!(sent.is_some(), found.is_some());
            for (sent, found) in sent.iter().zip(found) {
                assert_eq!((&sent.key, &sent.values), (&found.key, &found.values));
                assert_eq!(sent.image, found.image);
            }
        }
        for bit in 0..message.len() * 8 {
            let mut changed = message.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let found = samples(changed, &asked).into_iter().flatten().count();
            assert!(found < 2, "bit {bit}");
        }
        for len in 0..message.len() {
            assert!(samples(message[..len].to_vec(), &asked).iter().flatten().count() < 2);
        }
        // A sample that was not requested counts as missing.
        let other = samples(message, &[4, 9, 2].map(place));
        assert_eq!(other.iter().map(Option::is_some).collect::<Vec<_>>(), [false, false, true]);
    }
}
