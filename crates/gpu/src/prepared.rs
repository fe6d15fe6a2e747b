use crate::{
    Fallback, Limits,
    image::{ImageTables, Parsed, Read, read},
};
use std::{fmt, ops::Range, sync::Arc};

/// A JPEG with its markers and entry points already read. Any thread can prepare it, so that the
/// thread that submits batches only copies it. Clones share the data.
#[derive(Clone)]
pub struct Prepared {
    parsed: Arc<Parsed>,
    tables: Arc<ImageTables>,
    /// The entropy-coded bytes within the file.
    scan: Range<usize>,
}

impl Prepared {
    /// Reads an image, and checks everything that the kernels rely on.
    ///
    /// # Errors
    /// The reason why the kernels cannot decode it.
    pub fn new(
        bytes: &[u8],
        entry_points: Option<&[u8]>,
        limits: Limits,
    ) -> Result<Self, Fallback> {
        let Read { parsed, tables, scan } = read(bytes, entry_points, limits.max_image_blocks)?;
        Ok(Self { parsed: Arc::new(parsed), tables: Arc::new(tables), scan })
    }

    /// Returns the number of columns of pixels.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.parsed.layout.width
    }

    /// Returns the number of rows of pixels.
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
