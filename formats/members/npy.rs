//! The header of NumPy's `.npy` files, version 1.0.
use fdconvert_core::{ArraySpec, DType};
use std::fmt::Write as _;

const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
/// Magic and the length of the rest.
const PREFIX: usize = 10;

/// Returns the header of an array in C order, padded to 64 bytes as NumPy does.
pub(crate) fn header(spec: &ArraySpec) -> Vec<u8> {
    let mut shape = String::new();
    for dim in &spec.shape {
        let _ = write!(shape, "{dim}, ");
    }
    // `()`, `(3,)`, `(3, 4)`: as Python prints them.
    let shape = match spec.shape.len() {
        1 => shape.trim_end(),
        _ => shape.trim_end_matches(", "),
    };
    let dtype = spec.dtype.numpy();
    let mut text = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({shape}), }}");
    while !(PREFIX + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    // No array has tens of thousands of dimensions: see `fields`.
    bytes.extend_from_slice(&u16::try_from(text.len()).unwrap_or(u16::MAX).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// Returns type and shape of an array, and the start of its elements. `None` for everything
/// unsupported: other versions, Fortran order, big endian, objects, records, or an element too few.
pub(crate) fn parse(bytes: &[u8]) -> Option<(ArraySpec, usize)> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (len, rest) = rest.split_first_chunk::<2>()?;
    let len = usize::from(u16::from_le_bytes(*len));
    let text = std::str::from_utf8(rest.get(..len)?).ok()?.trim();
    let mut text = text.strip_prefix('{')?.strip_suffix('}')?.trim();
    let (mut dtype, mut in_order, mut shape) = (None, false, None);
    while !text.is_empty() {
        let (name, rest) = text.strip_prefix('\'')?.split_once('\'')?;
        let rest = rest.trim_start().strip_prefix(':')?.trim_start();
        let rest = match name {
            "descr" => {
                let (descr, rest) = rest.strip_prefix('\'')?.split_once('\'')?;
                dtype = DType::from_numpy(descr);
                rest
            }
            "fortran_order" => {
                in_order = true;
                rest.strip_prefix("False")?
            }
            "shape" => {
                let (dims, rest) = rest.strip_prefix('(')?.split_once(')')?;
                let dims = dims.split(',').map(str::trim).filter(|dim| !dim.is_empty());
                shape = Some(dims.map(|dim| dim.parse().ok()).collect::<Option<Vec<u64>>>()?);
                rest
            }
            _ => return None,
        };
        let rest = rest.trim_start();
        text = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    let spec = ArraySpec { dtype: dtype.filter(|_| in_order)?, shape: shape?, torch: false };
    let start = PREFIX + len;
    (spec.byte_len()? == bytes.len().checked_sub(start)? as u64).then_some((spec, start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_are_numpys_own() {
        let spec =
            |shape: &[u64]| ArraySpec { dtype: DType::F32, shape: shape.into(), torch: false };
        let header = header(&spec(&[3]));
        let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        expected.extend_from_slice(b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
        expected.resize(127, b' ');
        expected.push(b'\n');
        assert_eq!(header, expected);
        for shape in [&[][..], &[3], &[2, 3], &[0, 5], &[1; 60]] {
            let mut bytes = super::header(&spec(shape));
            assert_eq!(bytes.len() % 64, 0);
            let start = bytes.len();
            bytes.resize(start + spec(shape).byte_len().unwrap() as usize, 7);
            assert_eq!(parse(&bytes), Some((spec(shape), start)));
            bytes.push(0);
            assert_eq!(parse(&bytes), None);
        }
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let read = |text: &str| {
            let mut bytes = MAGIC.to_vec();
            bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
            parse(&bytes)
        };
        assert!(read("{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}").is_some());
        for text in [
            "",
            "{}",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (0,)}",
            "{'descr': '>f4', 'fortran_order': False, 'shape': (0,)}",
            "{'descr': '|O', 'fortran_order': False, 'shape': (0,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999, 99999999999999)}",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,)}",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let all = [MAGIC, &[60, 0], &bytes[..]].concat();
            let _ = (parse(&bytes), parse(&all));
        }
    }
}
