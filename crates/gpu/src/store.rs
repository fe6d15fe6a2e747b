//! Compressed images kept in the GPU's memory.
use crate::{
    Fallback, Gpu, GpuError, Limits, Prepared,
    builder::SCAN_UNIT,
    driver::{DeviceMemory, PinnedMemory, Stream},
    image::{ImageTables, Parsed, check_size},
};
use std::{collections::BTreeSet, fmt, sync::Arc};

/// Compressed images in the GPU's memory: uploaded once, decoded in any number of batches.
///
/// Only the entropy-coded bytes are on the GPU. The host keeps the rest of each image (the places
/// of its segments and its sizes: about 3 % of the compressed bytes, and 400 bytes more) and its
/// tables, once for all images that share them; the file is not read again.
///
/// ```text
///   add:     files -> scans, one after the other -> pinned memory -> one copy -> pieces
///   decode:  Request { image: Source::Stored(..) } -> segments and numbers travel, no scan does
/// ```
///
/// Memory is allocated in pieces. A piece is freed when the store and all of its images are
/// dropped; the place of a single image is not reused.
pub struct Store {
    gpu: Gpu,
    copies: Stream,
    limits: Limits,
    capacity_bytes: u64,
    pieces: Vec<Piece>,
    /// Size of new pieces; reduced after one was refused.
    piece_bytes: u64,
    staging: Option<PinnedMemory>,
    tables: BTreeSet<Arc<ImageTables>>,
}

/// An image in a [`Store`]. Clones share it. It keeps its memory alive, also without the store, and
/// while a batch with it is running or kept.
#[derive(Clone)]
pub struct Stored {
    image: Arc<Kept>,
}

struct Kept {
    parsed: Arc<Parsed>,
    tables: Arc<ImageTables>,
    address: u64,
    memory: Arc<DeviceMemory>,
}

/// Why an image is not in the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotStored {
    /// The kernels cannot decode it.
    #[error(transparent)]
    Fallback(Fallback),
    /// It does not fit into the store's capacity or the GPU's free memory.
    #[error("the store is full")]
    Full,
}

/// Memory that is filled from its start.
struct Piece {
    memory: Arc<DeviceMemory>,
    used_bytes: u64,
}

struct Place {
    memory: Arc<DeviceMemory>,
    at: u64,
}

/// The bytes in the staging memory, destined for the end of the last piece.
#[derive(Default)]
struct Staged {
    at: u64,
    n_bytes: u64,
}

const PIECE_BYTES: u64 = 256 << 20;
/// Smallest piece, unless the store has less capacity left.
const MIN_PIECE_BYTES: u64 = 1 << 20;
/// Pinned memory for staging. Larger uploads take several copies.
const STAGING_BYTES: u64 = 64 << 20;

impl Store {
    /// Creates a store of up to `capacity_bytes` of the GPU's memory, allocated in pieces of 256
    /// MiB. Images with more blocks than `limits` allow are refused.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn new(gpu: &Gpu, capacity_bytes: u64, limits: Limits) -> Result<Self, GpuError> {
        Ok(Self {
            gpu: gpu.clone(),
            copies: Stream::new(gpu)?,
            limits,
            capacity_bytes,
            pieces: Vec::new(),
            piece_bytes: PIECE_BYTES,
            staging: None,
            tables: BTreeSet::new(),
        })
    }

    /// Uploads JPEGs, each with its entry points, and waits for the copy. Returns a handle for
    /// each, or why it was refused. Images are copied together, up to 64 MiB at a time.
    ///
    /// # Errors
    /// When the driver fails, or has no pinned memory; the store is then unchanged. A GPU without
    /// free memory is not an error, but [`NotStored::Full`].
    pub fn add(
        &mut self,
        images: &[(&[u8], Option<&[u8]>)],
    ) -> Result<Vec<Result<Stored, NotStored>>, GpuError> {
        let limits = self.limits;
        let read = |(bytes, entry_points): &(&[u8], Option<&[u8]>)| {
            Prepared::new(bytes, *entry_points, limits).map_err(NotStored::Fallback)
        };
        let read: Vec<_> = images.iter().map(read).collect();
        let prepared: Vec<_> = read
            .iter()
            .zip(images)
            .filter_map(|(read, (bytes, _))| Some((read.as_ref().ok()?, *bytes)))
            .collect();
        let mut stored = self.add_prepared(&prepared)?.into_iter();
        let outcome = |read: Result<Prepared, NotStored>| {
            read.and_then(|_| stored.next().flatten().ok_or(NotStored::Full))
        };
        Ok(read.into_iter().map(outcome).collect())
    }

    /// Uploads parsed images, each with its bytes; returns `None` for those that do not fit or have
    /// more blocks than the limits allow.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn add_prepared(
        &mut self,
        images: &[(&Prepared, &[u8])],
    ) -> Result<Vec<Option<Stored>>, GpuError> {
        let n_pieces = self.pieces.len();
        let used_bytes = self.pieces.last().map_or(0, |piece| piece.used_bytes);
        self.piece_bytes = PIECE_BYTES;
        self.add_all(images).inspect_err(|_| {
            // A copy may be running. If waiting fails as well, the context is lost.
            let _ = self.copies.wait();
            self.pieces.truncate(n_pieces);
            if let Some(piece) = self.pieces.last_mut() {
                piece.used_bytes = used_bytes;
            }
        })
    }

    /// Returns the bytes that the images take in the GPU's memory.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.used_bytes).sum()
    }

    /// Returns the limit of the store's memory.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn add_all(&mut self, images: &[(&Prepared, &[u8])]) -> Result<Vec<Option<Stored>>, GpuError> {
        let n_bytes = images.iter().map(|(_, bytes)| bytes.len() as u64 + SCAN_UNIT).sum::<u64>();
        self.make_staging(n_bytes.min(STAGING_BYTES))?;
        let mut staged = Staged::default();
        let mut outcomes = Vec::with_capacity(images.len());
        for (image, bytes) in images {
            let n_blocks = image.parsed().layout.n_blocks;
            if check_size(n_blocks, self.limits.max_image_blocks).is_err() {
                outcomes.push(None);
                continue;
            }
            let scan = bytes.get(image.scan()).unwrap_or_default();
            let place = self.place(scan, &mut staged)?;
            outcomes.push(place.map(|place| self.keep(image, place)));
        }
        self.flush(&mut staged)?;
        Ok(outcomes)
    }

    /// Stages a scan for copying, and returns its future place; `None` if there is no room.
    fn place(&mut self, scan: &[u8], staged: &mut Staged) -> Result<Option<Place>, GpuError> {
        let n_bytes = (scan.len() as u64).next_multiple_of(SCAN_UNIT);
        let room = |piece: &Piece| piece.memory.n_bytes() - piece.used_bytes;
        if self.pieces.last().map_or(0, room) < n_bytes {
            self.flush(staged)?;
            let Some(piece) = self.new_piece(n_bytes)? else { return Ok(None) };
            self.pieces.push(piece);
        }
        let has_room = |staging: &PinnedMemory, at| staging.bytes().len() as u64 >= at + n_bytes;
        if !self.staging.as_ref().is_some_and(|staging| has_room(staging, staged.n_bytes)) {
            self.flush(staged)?;
            self.make_staging(n_bytes)?;
        }
        let (Some(piece), Some(staging)) = (self.pieces.last_mut(), &mut self.staging) else {
            return Ok(None);
        };
        if staged.n_bytes == 0 {
            staged.at = piece.used_bytes;
        }
        let from = staged.n_bytes as usize;
        let to = staging.bytes_mut().get_mut(from..).and_then(|it| it.get_mut(..scan.len()));
        if let Some(to) = to {
            to.copy_from_slice(scan);
        }
        let place = Place { memory: piece.memory.clone(), at: piece.used_bytes };
        piece.used_bytes += n_bytes;
        staged.n_bytes += n_bytes;
        Ok(Some(place))
    }

    /// Allocates a piece of at least `n_bytes`; `None` if the store or the GPU is full.
    fn new_piece(&mut self, n_bytes: u64) -> Result<Option<Piece>, GpuError> {
        let taken: u64 = self.pieces.iter().map(|piece| piece.memory.n_bytes()).sum();
        let left = self.capacity_bytes.saturating_sub(taken);
        loop {
            let wanted = self.piece_bytes.max(n_bytes).min(left);
            if wanted < n_bytes.max(1) {
                return Ok(None);
            }
            match DeviceMemory::new(&self.gpu, wanted) {
                Ok(memory) => return Ok(Some(Piece { memory: Arc::new(memory), used_bytes: 0 })),
                // Less memory than that may be left.
                Err(GpuError::OutOfMemory { .. }) if wanted > n_bytes.max(MIN_PIECE_BYTES) => {
                    self.piece_bytes = wanted / 2;
                }
                Err(GpuError::OutOfMemory { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Copies the staged bytes, and waits for the copy.
    fn flush(&mut self, staged: &mut Staged) -> Result<(), GpuError> {
        let Staged { at, n_bytes } = std::mem::take(staged);
        if let (Some(piece), Some(staging), 1..) = (self.pieces.last(), &self.staging, n_bytes) {
            self.copies.upload_part(staging, 0..n_bytes, &piece.memory, at)?;
            self.copies.wait()?;
        }
        Ok(())
    }

    /// Makes pinned memory of at least this size available, and overwrites its content.
    fn make_staging(&mut self, n_bytes: u64) -> Result<(), GpuError> {
        let fits = |staging: &PinnedMemory| staging.bytes().len() as u64 >= n_bytes;
        if !self.staging.as_ref().is_some_and(fits) {
            self.staging = None;
            let n_bytes = usize::try_from(n_bytes).unwrap_or(usize::MAX);
            self.staging = Some(PinnedMemory::new(&self.gpu, n_bytes)?);
        }
        Ok(())
    }

    fn keep(&mut self, image: &Prepared, place: Place) -> Stored {
        let tables = match self.tables.get(image.tables()) {
            Some(known) => known.clone(),
            None => {
                self.tables.insert(image.tables().clone());
                image.tables().clone()
            }
        };
        let Place { memory, at } = place;
        let (address, parsed) = (memory.address() + at, image.parsed().clone());
        Stored { image: Arc::new(Kept { parsed, tables, address, memory }) }
    }
}

impl Stored {
    /// Returns the number of columns of pixels.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.image.parsed.layout.width
    }

    /// Returns the number of rows of pixels.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.image.parsed.layout.height
    }

    pub(crate) fn parsed(&self) -> &Parsed {
        &self.image.parsed
    }

    pub(crate) fn tables(&self) -> &ImageTables {
        &self.image.tables
    }

    pub(crate) fn address(&self) -> u64 {
        self.image.address
    }

    pub(crate) fn is_on(&self, gpu: &Gpu) -> bool {
        self.image.memory.is_on(gpu)
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (width, height) = (self.width(), self.height());
        formatter.debug_struct("Stored").field("width", &width).field("height", &height).finish()
    }
}
