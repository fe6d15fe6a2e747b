use crate::{
    Fallback, Limits,
    image::{ImageTables, Parsed, Read, read},
};
use std::{fmt, ops::Range, sync::Arc};

/// A JPEG whose markers and entry points were read, on any thread, so that the one who submits batches
/// has nothing left to do for it but a copy. Clones are the same image.
#[derive(Clone)]
pub struct Prepared {
    parsed: Arc<Parsed>,
    tables: Arc<ImageTables>,
    /// The entropy-coded bytes within the file.
    scan: Range<usize>,
}

impl Prepared {
    /// Reads an image, and checks all that the kernels rely on.
    ///
    /// # Errors
    /// Why the kernels cannot decode it.
    pub fn new(
        bytes: &[u8],
        entry_points: Option<&[u8]>,
        limits: Limits,
    ) -> Result<Self, Fallback> {
        let Read { parsed, tables, scan } = read(bytes, entry_points, limits.max_image_blocks)?;
        Ok(Self { parsed: Arc::new(parsed), tables: Arc::new(tables), scan })
    }

    /// Columns of pixels.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.parsed.layout.width
    }

    /// Rows of pixels.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.parsed.layout.height
    }

    pub(crate) fn parsed(&self) -> &Arc<Parsed> {
        &self.parsed
    }

    pub(crate) fn tables(&self) -> &Arc<ImageTables> {
        &self.tables
    }

    pub(crate) fn scan(&self) -> Range<usize> {
        self.scan.clone()
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prepared({}x{})", self.width(), self.height())
    }
}
