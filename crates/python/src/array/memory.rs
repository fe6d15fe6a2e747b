//! Memory whose address is given away.
use std::ptr::NonNull;

/// An allocation that stays where it is until it is dropped, and that anybody who was given its
/// address may read and write meanwhile. So no reference into it is ever made.
pub(super) struct Memory {
    pointer: NonNull<u8>,
    len: usize,
    /// Frees it. Not to be looked into: others may be writing.
    _owner: Owner,
}

#[allow(dead_code, reason = "only dropped")]
enum Owner {
    Bytes(Vec<u8>),
    /// Where elements of up to eight bytes have to be aligned.
    Words(Vec<u64>),
}

// SAFETY: `Memory` owns its allocation, which any thread may free, and gives no access to it but
// by raw pointer. Those who use the pointers, here `to_vec` and elsewhere other libraries, answer
// for races as Python's buffer protocol and DLPack say: whoever writes while others read does so
// at the level of the Python program, as with NumPy's arrays.
unsafe impl Send for Memory {}
// SAFETY: as for `Send`.
unsafe impl Sync for Memory {}

impl Memory {
    pub(super) fn from_bytes(mut bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        let pointer = NonNull::from(bytes.as_mut_slice()).cast();
        Self { pointer, len, _owner: Owner::Bytes(bytes) }
    }

    /// The same bytes, aligned for elements of any type.
    pub(super) fn copy_of(bytes: &[u8]) -> Self {
        let mut words = vec![0u64; bytes.len().div_ceil(size_of::<u64>())];
        let pointer: NonNull<u8> = NonNull::from(words.as_mut_slice()).cast();
        // SAFETY: `words` has been allocated just now, apart from `bytes`, with room for at least
        // `bytes.len()` bytes.
        unsafe { pointer.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
        Self { pointer, len: bytes.len(), _owner: Owner::Words(words) }
    }

    /// Its address, valid for reading and writing [`len`](Self::len) bytes until this is dropped.
    pub(super) fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len);
        // SAFETY: `pointer` is valid for `len` bytes, all of which are initialised and lie outside
        // of the fresh allocation, which has room for them.
        unsafe {
            std::ptr::copy_nonoverlapping(self.pointer.as_ptr(), bytes.as_mut_ptr(), self.len);
            bytes.set_len(self.len);
        }
        bytes
    }
}
