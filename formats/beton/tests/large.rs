//! A file of ImageNet's size takes hardly any memory. For the time to open it, see `benches/`.
#![allow(clippy::unwrap_used)]

use crate::beton::BetonReader;
use fdconvert_core::{Reader as _, Value};
use std::{
    io::{Seek as _, SeekFrom, Write as _},
    path::Path,
};

const N_SAMPLES: u64 = 1_281_167;
const IMAGE_BYTES: u64 = 48;

/// Makes a sparse file of 4x4 raw images without their data: rows, then table.
fn make(path: &Path) {
    let rows_at = 24 + 2 * 1041;
    let data_at = (rows_at + 24 * N_SAMPLES).next_multiple_of(1 << 23);
    let per_page = (1_u64 << 23) / IMAGE_BYTES;
    let pointer = |i: u64| data_at + ((i / per_page) << 23) + i % per_page * IMAGE_BYTES;
    let table_at = pointer(N_SAMPLES).next_multiple_of(1 << 23);
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut put = |bytes: &[u8]| file.write_all(bytes).unwrap();
    put(&2_u16.to_le_bytes());
    put(&2_u16.to_le_bytes());
    put(&(1_u32 << 23).to_le_bytes());
    put(&N_SAMPLES.to_le_bytes());
    put(&table_at.to_le_bytes());
    for (code, name) in [(2_u8, b"image"), (1, b"label")] {
        let mut descriptor = [0; 1041];
        descriptor[0] = code;
        descriptor[1..6].copy_from_slice(name);
        put(&descriptor);
    }
    for i in 0..N_SAMPLES {
        put(&[1, 4, 0, 4, 0]);
        put(&pointer(i).to_le_bytes());
        put(&[0; 3]);
        put(&(i % 1000).to_le_bytes());
    }
    file.seek(SeekFrom::Start(table_at)).unwrap();
    for i in 0..N_SAMPLES {
        for word in [i, pointer(i), IMAGE_BYTES] {
            file.write_all(&word.to_le_bytes()).unwrap();
        }
    }
    file.flush().unwrap();
}

/// Resident memory, in bytes.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

#[test]
fn opening_and_fetching_read_next_to_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.beton");
    make(&path);
    let before = memory();
    let reader = BetonReader::open(&path).unwrap();
    for i in [0, N_SAMPLES / 2, N_SAMPLES - 1] {
        let sample = reader.get(i).unwrap();
        assert_eq!(sample.values[1], Value::Int((i % 1000).cast_signed()));
    }
    let grown = memory().zip(before).map(|(after, before)| after.saturating_sub(before));
    assert!(grown.is_none_or(|bytes| bytes < 50 << 20), "{grown:?}");
}
