//! Random changes to 8-bit RGB images, like torchvision's on Pillow images.
//!
//! [`Augment`] selects the policy that draws, [`Op`] is one change with its strength, [`Augmenter`]
//! owns the second buffer that some changes need. Pixels come from the nearest pixel, and pixels
//! from outside the image are black: torchvision's defaults.
//!
//! Every change gives the bits of Pillow 13 on a Pillow image, for outputs up to
//! [`Output::MAX_SIDE`](super::Output::MAX_SIDE). Two of them use fractions: rotations take sine
//! and cosine from the machine's library and round them to 2^-16, and shears use their strength
//! directly, while torchvision sends it through the arc tangent and back. A machine, or a number of
//! levels other than the default, that rounds these differently would move single pixels by one;
//! none is known for the default levels.

mod affine;
mod blend;
mod op;
pub(in crate::transform) mod policies;
mod policy;
mod tone;

pub(crate) use op::Step;
pub use op::{Augmenter, Op};
pub use policy::{Augment, Policy};
