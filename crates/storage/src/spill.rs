use crate::{map::map_open, unnamed};
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use std::io::Write as _;

/// The best size of a request to a store.
const BUFFER_BYTES: usize = 8 << 20;

/// Copies everything that `read` returns, until it returns 0, to an unnamed file in the folder for
/// temporary files (`TMPDIR`), and maps it: large contents without the memory for them. The file is
/// gone with the last slice of the result, and with the process however that ends.
///
/// # Errors
/// Those of `read`; `Io` when the file cannot be created, written or mapped.
pub fn spill(mut read: impl FnMut(&mut [u8]) -> Result<usize>) -> Result<Bytes> {
    let (folder, mut file) = (unnamed::folder(), unnamed::create()?);
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let n_read = read(&mut buffer)?;
        match buffer.get(..n_read) {
            Some([]) | None => break,
            Some(part) => {
                let wrote = file.write_all(part);
                wrote.map_err(Error::io("write a temporary file in", &folder))?;
            }
        }
    }
    map_open(&file, &folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_mapped() {
        let mut left = 3_u8;
        let bytes = spill(|buffer| {
            buffer[..2].fill(left);
            left = left.saturating_sub(1);
            Ok(if left == 0 { 0 } else { 2 })
        });
        assert_eq!(bytes.unwrap(), [3, 3, 2, 2][..]);
        assert!(spill(|_| Ok(0)).unwrap().is_empty());
        assert!(spill(|_| Err(Error::Cancelled)).is_err());
    }
}
