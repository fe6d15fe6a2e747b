//! The fast sampler, `lanes64-v1`: the chaos game as 64 independent orbits in single precision.
//!
//! The original follows one orbit in double precision, where every point waits for the one before.
//! Here 64 orbits advance together, with random numbers that are functions of a counter, so a
//! machine may compute as many lanes at a time as its vectors hold, or a point per thread of a GPU:
//! the bits are the same. A published name never changes its bits; an improvement gets a new name.
//!
//! # Definition
//!
//! All sums and products below are IEEE 754, rounded to nearest, subnormal numbers kept. `fma` is
//! the fused product and sum, rounded once. Integers are 32 bits and wrap unless said otherwise.
//!
//! **Key.** `(seed: 64 bits, class, instance)` gives two words (64-bit arithmetic):
//!
//! ```text
//! z = seed ^ (class << 32 | instance) * 0x9e3779b97f4a7c15
//! z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9
//! z = (z ^ z >> 27) * 0x94d049bb133111eb
//! z = z ^ z >> 31
//! k0 = low half of z, k1 = high half
//! ```
//!
//! **Random numbers.** Number `i` under `(k0, k1)`:
//!
//! ```text
//! hash(i): h = i + k0;  h ^= h >> 16;  h *= 0x21f0aaad;  h ^= k1
//!          h ^= h >> 15;  h *= 0xd35a2d97;  h ^= h >> 15
//! ```
//!
//! **Choice of a map.** An alias table of eight slots, computed in double precision. A negative or
//! non-finite probability counts as 0; if the sum (in order) is then 0 or infinite, all maps get
//! the same. `share[j] = probability[j] / sum * 8`, and 0 in slots without a map. At first all
//! slots are open and `word[j] = (2^29 - 1) << 3 | j`. Eight times: let `s` be the open slot with
//! the least share and `g` the one with the greatest, the first of equals; stop if `s == g` or
//! `share[s] >= 1`; let `t = floor(share[s] * 2^29 + 0.5)`, at most `2^29 - 1`; set
//! `word[s] = t << 3 | g`; if `t == 0`, slot `s` holds the map of slot `g` from now on, else its
//! own; subtract `1 - share[s]` from `share[g]`; close `s`.
//!
//! ```text
//! choose(r): the map in slot min(r, word[r & 7]) & 7
//! ```
//!
//! The minimum is `r` if the upper bits of `r` are below the threshold in the word and the word if
//! they are above; the low bits of the first are the slot, those of the second its alias.
//!
//! **Points.** The parameters a to f are rounded to single precision. A map sends (x, y) to
//! `(fma(a, x, fma(b, y, e)), fma(c, x, fma(d, y, f)))`.
//!
//! ```text
//! p[0] = (0, 0)
//! p[i] = map choose(hash(0xf0000000 + i - 1)) of p[i - 1]                for i in 1..128
//! p[128 + 64 s + l] = map choose(hash(64 s + l)) of p[128 + 64 (s-1) + l] for s in 0..S, l in 0..64
//! S = ceil((points - 128) / 64)
//! ```
//!
//! so lane `l` starts at `p[64 + l]`, and an image has up to 63 points more than requested. Some
//! thirty of them repeat points of the lead-in, as a lane may begin with the choices that made its
//! neighbour: too few to be visible among tens of thousands. The order of the indices is the
//! canonical one: the owner of a pixel is the point with the greatest index.
//!
//! **Pixels.** For each axis, `lo` and `hi` are the least and greatest coordinate of all points;
//! as the origin is one of them, `lo <= 0 <= hi`. In single precision:
//!
//! ```text
//! span = hi - lo
//! scale = 0 if span == 0, else (size - 2 pad) / span
//! offset = fma(scale, -lo, pad)
//! pixel = fma(coordinate, scale, offset), cut to an integer
//! ```
//!
//! **The single orbit.** An image is drawn in double precision instead, point after point and
//! without `fma`, if its system does not clearly contract or has a parameter that is not finite in
//! single precision ([`LanesSystem::exact_orbit`]; the decision is defined in `lyapunov`), or if a
//! coordinate of a point, or a `span` or a `scale`, is not finite. Under the words
//! `(k0 ^ 0x65786163, k1 ^ 0x74206f72)`:
//!
//! ```text
//! p[0] = (0, 0)
//! p[i] = (x a + y b + e, x c + y d + f) with map choose(hash(i - 1)) of p[i - 1] = (x, y)
//! ```
//!
//! from left to right, for i below `points` exactly. The orbit ends before the first point with a
//! coordinate that is not below 2^1000 in magnitude. Then `lo` and `hi` as above, and
//! `pixel = (coordinate - lo) * scale + pad`, cut to an integer, with `scale = (size - 2 pad) /
//! (hi - lo)`, or 0 where that is not finite.
//!
//! In rare cases the fallback depends on the points of this very image, so a GPU must check the
//! bounds before it draws, as this code does.
//!
//! # How it is computed
//!
//! In two passes over all points, which are stored in between (single precision: 800 KB for 100,000
//! points, which a second-level cache holds), because the first finds the bounds. The second pass
//! writes bytes and packs them into bits afterwards: a byte is written directly, a bit would have
//! to be read first.
//!
//! * `key`, `table`, `points`: the terms of the definition.
//! * `scalar`: the definition as code. `x86`, `neon`: the same for vectors. `level`: the choice.
//! * `lyapunov`, `fallback`: when and how the single orbit is drawn.
//! * `system`, `sampler`: the public types.
//! * `expand`: bits to bytes, for images drawn here and elsewhere.
mod expand;
mod fallback;
mod key;
mod level;
mod lyapunov;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod points;
mod sampler;
mod scalar;
mod system;
mod table;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use expand::expand;
pub(crate) use key::Hash;
pub use key::Key;
pub use level::Level;
pub(crate) use level::{Loop, vectorized};
pub use sampler::{LanesSampler, LanesScratch};
pub use system::LanesSystem;
