use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};

/// Decompresses a deflated member to exactly `len` bytes: never more than its claim, whatever the
/// data. The caller has checked `len` against the limits.
///
/// The error completes a sentence such as "the file ...".
pub(crate) fn inflate(deflated: &[u8], len: u64) -> Result<Bytes, String> {
    let too_large = || format!("claims {len} bytes, more than there is memory for");
    // One extra byte reveals data that continue after their end.
    let room =
        usize::try_from(len).ok().and_then(|len| len.checked_add(1)).ok_or_else(too_large)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(room).map_err(|_| too_large())?;
    let mut state = Decompress::new(false);
    let status = state
        .decompress_vec(deflated, &mut bytes, FlushDecompress::Finish)
        .map_err(|cause| format!("is damaged: it cannot be inflated: {cause}"))?;
    let n_found = bytes.len() as u64;
    match status {
        Status::StreamEnd if n_found == len => Ok(bytes.into()),
        _ if n_found > len => {
            Err(format!("inflates to more than the {len} bytes that the zip claims"))
        }
        Status::StreamEnd => Err(format!("inflates to {n_found} bytes, and the zip claims {len}")),
        _ => Err(format!("is damaged: its data end after {n_found} of {len} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::DeflateEncoder};
    use std::io::Write as _;

    fn deflated(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn exactly_the_claimed_bytes_come_out() {
        for bytes in [&b""[..], b"a", &[7; 100_000]] {
            let deflated = deflated(bytes);
            let len = bytes.len() as u64;
            assert_eq!(inflate(&deflated, len).unwrap(), bytes);
            for claimed in [len + 1, len + 70_000, len.wrapping_sub(1), len / 2, u64::MAX] {
                let is_right = claimed == len;
                assert_eq!(inflate(&deflated, claimed).is_ok(), is_right, "{claimed} of {len}");
            }
            for cut in 0..deflated.len() {
                assert!(inflate(&deflated[..cut], len).is_err());
            }
        }
        assert!(inflate(b"\xff\xff\xff", 3).unwrap_err().contains("damaged"));
    }
}
