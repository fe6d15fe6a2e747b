//! Memory with an address that other libraries receive.
use fdconvert_loader::Batch;
use pyo3::buffer::PyUntypedBuffer;
use std::{
    ops::Range,
    process,
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Memory that stays in place until this is dropped, and that anybody with its address may read and
/// write meanwhile. So no reference into it is ever made.
pub(super) struct Memory {
    pointer: NonNull<u8>,
    len: usize,
    /// Frees the memory. Must not be read: others may be writing.
    _owner: Owner,
}

#[allow(dead_code, reason = "only dropped")]
enum Owner {
    Bytes(Vec<u8>),
    /// Memory for elements of up to eight bytes that must be aligned.
    Words(Vec<u64>),
    /// The images of a batch, aligned by the loader; a batch has an array for each group of views.
    Batch(Arc<Lent>),
    /// Memory of another object, which keeps it in place while this view of it exists.
    Foreign(PyUntypedBuffer),
}

/// A batch with memory that must return to the loader.
struct Lent {
    batch: Option<Batch>,
    process: u32,
    count: Arc<AtomicUsize>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        let batch = self.batch.take();
        self.count.fetch_sub(1, Ordering::Relaxed);
        if self.process == process::id() {
            drop(batch);
        } else {
            // After a fork this is a copy. A thread that the child does not have may have held the
            // loader's lock, so that nothing can be returned there.
            std::mem::forget(batch);
        }
    }
}

// SAFETY: `Memory` owns its allocation, or a batch or a buffer view that keeps it in place. Any
// thread may drop each of these; the view enters the interpreter for it. `Memory` gives access to
// the bytes only by raw pointer. The users of the pointers, here `to_vec` and `write` and elsewhere
// other libraries, are responsible for races as Python's buffer protocol and DLPack define: a write
// during another's read is a race at the level of the Python program, as with NumPy's arrays.
unsafe impl Send for Memory {}
// SAFETY: as for `Send`.
unsafe impl Sync for Memory {}

impl Memory {
    pub(super) fn from_bytes(mut bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        let pointer = NonNull::from(bytes.as_mut_slice()).cast();
        Self { pointer, len, _owner: Owner::Bytes(bytes) }
    }

    /// Copies bytes to memory that is aligned for elements of any type.
    pub(super) fn copy_of(bytes: &[u8]) -> Self {
        let mut words = vec![0u64; bytes.len().div_ceil(size_of::<u64>())];
        let pointer: NonNull<u8> = NonNull::from(words.as_mut_slice()).cast();
        // SAFETY: `words` was allocated just now, separate from `bytes`, with room for at least
        // `bytes.len()` bytes.
        unsafe { pointer.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
        Self { pointer, len: bytes.len(), _owner: Owner::Words(words) }
    }

    /// Takes the images of a batch, a piece of memory for each range. The batch returns to its loader
    /// when all of them are dropped; `count` is the number of batches that have not returned.
    pub(super) fn of_batch(
        mut batch: Batch,
        ranges: &[Range<usize>],
        count: &Arc<AtomicUsize>,
    ) -> Vec<Self> {
        let all = batch.memory_mut();
        let ranges = ranges.iter().map(|range| {
            let images = all.get_mut(range.clone()).unwrap_or_default();
            (images.len(), NonNull::from(images).cast())
        });
        let pieces: Vec<(usize, NonNull<u8>)> = ranges.collect();
        count.fetch_add(1, Ordering::Relaxed);
        // The images are on the heap and stay in place when the batch is moved.
        let lent = Lent { batch: Some(batch), process: process::id(), count: count.clone() };
        let lent = Arc::new(lent);
        let owner = || Owner::Batch(lent.clone());
        pieces.into_iter().map(|(len, pointer)| Self { pointer, len, _owner: owner() }).collect()
    }

    /// Takes the first `len` bytes of a buffer. `None` unless they are writable and contiguous, for
    /// elements of `itemsize`.
    pub(super) fn of_buffer(buffer: PyUntypedBuffer, len: usize, itemsize: usize) -> Option<Self> {
        let pointer = NonNull::new(buffer.buf_ptr().cast::<u8>())?;
        let fits = !buffer.readonly() && buffer.is_c_contiguous() && len <= buffer.len_bytes();
        if !fits || pointer.addr().get() % itemsize != 0 {
            return None;
        }
        Some(Self { pointer, len, _owner: Owner::Foreign(buffer) })
    }

    /// Reduces the length.
    pub(super) fn shortened(mut self, len: usize) -> Self {
        self.len = self.len.min(len);
        self
    }

    /// Copies the images of a batch to the start of the memory, as far as there is room.
    pub(super) fn write(&self, batch: &Batch) {
        let images = batch.images();
        let len = self.len.min(images.len());
        // SAFETY: `pointer` is valid for writing `len` bytes. They are outside the images: only
        // `of_batch` gives away the address of a batch, and it consumes the batch.
        unsafe {
            self.pointer.copy_from_nonoverlapping(NonNull::from(images).cast(), len);
        }
    }

    /// Returns its address, valid for reading and writing [`len`](Self::len) bytes until this is
    /// dropped.
    pub(super) fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len);
        // SAFETY: `pointer` is valid for `len` bytes, all of which are initialised and outside the
        // fresh allocation, which has room for them.
        unsafe {
            std::ptr::copy_nonoverlapping(self.pointer.as_ptr(), bytes.as_mut_ptr(), self.len);
            bytes.set_len(self.len);
        }
        bytes
    }
}
