//! Collects bytes before their use.
#[cfg(feature = "spill")]
use crate::{map::map_open, unnamed};
use bytes::Bytes;
#[cfg(feature = "spill")]
use fdconvert_core::Error;
use fdconvert_core::Result;
use std::io;

/// Above this size, bytes move to a file: the listing of a million images stays in memory.
#[cfg(feature = "spill")]
const IN_MEMORY: usize = 32 << 20;

/// Bytes that are appended first and then read at random: small amounts in memory, large ones in an
/// unnamed file in the folder for temporary files (`TMPDIR`). The file is mapped in the end, so
/// that the system can reclaim the memory. It is gone with the last slice of the result, and with
/// the process however that ends.
///
/// Without the feature `spill` everything stays in memory.
#[derive(Debug, Default)]
pub struct Spool {
    /// Bytes that are not in the file.
    rest: Vec<u8>,
    #[cfg(feature = "spill")]
    file: Option<std::fs::File>,
    len: u64,
}

impl Spool {
    /// Returns the number of bytes so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// `Io` when the file cannot be created or written.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.rest.extend_from_slice(bytes);
        self.len += bytes.len() as u64;
        #[cfg(feature = "spill")]
        if self.rest.len() >= IN_MEMORY {
            return self.write_out();
        }
        Ok(())
    }

    /// Returns all bytes.
    ///
    /// # Errors
    /// `Io` when the file cannot be written or mapped.
    pub fn finish(mut self) -> Result<Bytes> {
        #[cfg(feature = "spill")]
        if self.file.is_some() {
            self.write_out()?;
            if let Some(file) = &self.file {
                return map_open(file, &unnamed::folder());
            }
        }
        self.rest.shrink_to_fit();
        Ok(self.rest.into())
    }

    #[cfg(feature = "spill")]
    fn write_out(&mut self) -> Result<()> {
        use std::io::Write as _;
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(unnamed::create()?),
        };
        let wrote = file.write_all(&self.rest);
        wrote.map_err(Error::io("write a temporary file in", &unnamed::folder()))?;
        self.rest.clear();
        Ok(())
    }
}

impl io::Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_bytes_come_back_as_few_do() {
        assert!(Spool::default().finish().unwrap().is_empty());
        for n_blocks in [1_usize, 40] {
            let mut spool = Spool::default();
            for block in 0..n_blocks {
                spool.push(&vec![block as u8; 1 << 20]).unwrap();
            }
            spool.push(b"end").unwrap();
            assert_eq!(spool.len(), (n_blocks << 20) as u64 + 3);
            #[cfg(feature = "spill")]
            assert_eq!(spool.file.is_some(), n_blocks == 40);
            let bytes = spool.finish().unwrap();
            assert_eq!(bytes.len(), (n_blocks << 20) + 3);
            for block in 0..n_blocks {
                assert_eq!(bytes[block << 20], block as u8);
                assert_eq!(bytes[(block << 20) + (1 << 20) - 1], block as u8);
            }
            assert_eq!(bytes[n_blocks << 20..], b"end"[..]);
        }
    }
}
