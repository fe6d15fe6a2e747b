use serde::{
    Deserialize, Deserializer,
    de::{Error as _, SeqAccess, Visitor},
};
use std::fmt;

/// A mask of one object as runs of pixels, as in COCO: column by column from the left, each from
/// the top, alternating between outside and inside of the object, starting outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLengths {
    size: [u32; 2],
    counts: Vec<u32>,
}

/// Run lengths as in a file, `{"size": [height, width], "counts": ...}`, not checked yet.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object of `size` and `counts`")]
pub struct StoredRunLengths {
    size: [u64; 2],
    counts: Counts,
}

/// The runs, as a list or as compressed text.
#[derive(Debug)]
enum Counts {
    List(Vec<u32>),
    Text(String),
}

impl RunLengths {
    /// Creates a mask from runs that add up to its pixels.
    pub(crate) fn new(size: [u32; 2], counts: Vec<u32>) -> Self {
        Self { size, counts }
    }

    /// Returns height and width of the mask.
    #[must_use]
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Returns the runs, which add up to the mask's pixels.
    #[must_use]
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }
}

impl StoredRunLengths {
    /// Returns the claimed height and width.
    #[must_use]
    pub fn size(&self) -> [u64; 2] {
        self.size
    }

    /// Checks the runs, and decompresses them if necessary. Allocates nothing in proportion to the
    /// claimed size.
    ///
    /// # Errors
    /// A description of the fault: an impossible size, runs that do not add up to it, or an invalid
    /// text.
    pub fn decode(self) -> Result<RunLengths, String> {
        let [height, width] = self.size;
        // COCO's own programs count in 32 bits.
        let n_pixels = height.checked_mul(width).and_then(|n| u32::try_from(n).ok());
        let (Some(n_pixels), Ok(height), Ok(width)) =
            (n_pixels, u32::try_from(height), u32::try_from(width))
        else {
            return Err(format!("its mask of {width}x{height} is beyond 2^32 - 1 pixels"));
        };
        let wrong = || format!("the run lengths of its mask do not add up to {width}x{height}");
        let sum = |sum: u32, run: u32| sum.checked_add(run).filter(|sum| *sum <= n_pixels);
        let (total, counts) = match self.counts {
            Counts::List(runs) => (runs.iter().try_fold(0, |total, run| sum(total, *run)), runs),
            Counts::Text(text) => {
                let (mut total, mut runs) = (0, Vec::new());
                let mut bytes = text.bytes();
                while let Some(difference) = difference(&mut bytes)? {
                    // From the fourth on, each run is stored as the difference from the run two
                    // places before.
                    let before = runs.len().checked_sub(2).filter(|at| *at > 0);
                    let before = before.and_then(|at| runs.get(at)).copied().unwrap_or(0);
                    let run = u32::try_from(difference + i64::from(before)).map_err(|_| wrong())?;
                    total = sum(total, run).ok_or_else(wrong)?;
                    runs.push(run);
                }
                (Some(total), runs)
            }
        };
        if total != Some(n_pixels) {
            return Err(wrong());
        }
        Ok(RunLengths { size: [height, width], counts })
    }
}

/// Reads the next number of a compressed text: five bits per character, least significant first,
/// and a sixth bit that is set if more follow.
fn difference(bytes: &mut impl Iterator<Item = u8>) -> Result<Option<i64>, String> {
    /// Enough for the difference of two 32-bit numbers.
    const MOST: u32 = 7;
    let mut value = 0_i64;
    for place in 0..MOST {
        let Some(byte) = bytes.next() else {
            return match place {
                0 => Ok(None),
                _ => Err("the run lengths of its mask end within a number".to_owned()),
            };
        };
        let Some(bits) = byte.checked_sub(48).filter(|bits| *bits < 64) else {
            let shown = char::from(byte).escape_default();
            return Err(format!("the run lengths of its mask have `{shown}` in their text"));
        };
        value |= i64::from(bits & 31) << (5 * place);
        if bits & 32 == 0 {
            let sign = if bits & 16 == 0 { 0 } else { -1 << (5 * (place + 1)) };
            return Ok(Some(value | sign));
        }
    }
    Err("the run lengths of its mask have a number beyond 32 bits".to_owned())
}

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Counts;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a list of run lengths, or their text")
            }

            fn visit_str<E>(self, text: &str) -> Result<Counts, E> {
                Ok(Counts::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Counts, A::Error> {
                let mut runs = Vec::new();
                while let Some(run) = list.next_element::<u64>()? {
                    let run = u32::try_from(run);
                    runs.push(run.map_err(|_| A::Error::custom("a run is beyond 32 bits"))?);
                }
                Ok(Counts::List(runs))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::{RunLengths, StoredRunLengths};

    type Text = ([u32; 2], &'static str, &'static [u32]);

    const TEXTS: &[Text] = &[
        ([3, 4], "<", &[12]),
        ([3, 4], "0<", &[0, 12]),
        ([40, 9], "c2T1400]OM13b000]2", &[83, 36, 4, 36, 4, 17, 1, 18, 4, 36, 4, 36, 81]),
    ];

    fn decoded(json: &str) -> Result<RunLengths, String> {
        let stored: StoredRunLengths =
            serde_json::from_str(json).map_err(|error| error.to_string())?;
        stored.decode()
    }

    #[test]
    fn lists_and_texts_are_the_same_runs() {
        // The texts were made by pycocotools.
        for (size, text, runs) in TEXTS {
            let text = serde_json::to_string(text).unwrap();
            let found = decoded(&format!("{{\"counts\":{text},\"size\":{size:?}}}")).unwrap();
            assert_eq!((found.counts(), found.size()), (*runs, *size));
            let listed = decoded(&format!("{{\"size\":{size:?},\"counts\":{runs:?}}}"));
            assert_eq!(listed.unwrap(), found);
        }
    }

    #[test]
    fn what_lies_is_refused_and_nothing_is_allocated_for_it() {
        for (json, part) in [
            (r#"{"size":[3,4],"counts":[5,6]}"#, "do not add up to 4x3"),
            (r#"{"size":[3,4],"counts":[5,8]}"#, "do not add up to 4x3"),
            (r#"{"size":[3,4],"counts":[]}"#, "do not add up to 4x3"),
            (r#"{"size":[3,4],"counts":[4294967295,13]}"#, "do not add up to 4x3"),
            (r#"{"size":[3,4],"counts":[4294967296]}"#, "a run is beyond 32 bits"),
            (r#"{"size":[3,4],"counts":[-1,13]}"#, "invalid value"),
            (r#"{"size":[3,4],"counts":[1.5,10.5]}"#, "invalid type"),
            (r#"{"size":[3,4],"counts":7}"#, "a list of run lengths, or their text"),
            (r#"{"size":[3,-4],"counts":[12]}"#, "invalid value"),
            (r#"{"size":[3],"counts":[12]}"#, "invalid length"),
            (r#"{"counts":[12]}"#, "missing field `size`"),
            (r#"{"size":[65536,65536],"counts":[0]}"#, "beyond 2^32 - 1 pixels"),
            (r#"{"size":[9223372036854775807,3],"counts":[0]}"#, "beyond 2^32 - 1 pixels"),
            (r#"{"size":[0,18446744073709551615],"counts":[]}"#, "beyond 2^32 - 1 pixels"),
            (r#"{"size":[3,4],"counts":""}"#, "do not add up to 4x3"),
            (r#"{"size":[3,4],"counts":"="}"#, "do not add up to 4x3"),
            // A run of -3.
            (r#"{"size":[3,4],"counts":"M"}"#, "do not add up to 4x3"),
            (r#"{"size":[3,4],"counts":"P"}"#, "end within a number"),
            (r#"{"size":[3,4],"counts":"PPPPPPPPPP"}"#, "beyond 32 bits"),
            (r#"{"size":[3,4],"counts":"4 4"}"#, "have ` ` in their text"),
            ("{\"size\":[3,4],\"counts\":\"\u{e9}\"}", "in their text"),
        ] {
            let found = decoded(json).unwrap_err();
            assert!(found.contains(part), "{json}: {found}");
        }
        assert_eq!(decoded(r#"{"size":[0,4],"counts":[]}"#).unwrap().counts(), [0_u32; 0]);
    }
}
