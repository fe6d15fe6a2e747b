//! Keyed random numbers: the same for any order and any number of threads.
use fdconvert_core::KeyedRandom;

/// Returns the random numbers of a class and an instance. `purpose` is a constant that differs
/// between the uses of one seed, class and instance.
pub(crate) fn keyed(seed: u64, purpose: u64, class: u32, instance: u32) -> KeyedRandom {
    let place = u64::from(class) << 32 | u64::from(instance);
    KeyedRandom::new(&[seed, purpose, place])
}

#[cfg(test)]
mod tests {
    use super::keyed;

    #[test]
    fn the_numbers_of_a_key_never_change() {
        let mut random = keyed(1, 2, 3, 4);
        let numbers: [u64; 4] = std::array::from_fn(|_| random.next_u64());
        assert_eq!(numbers, PINNED);
        assert_eq!(keyed(0, 0, 0, 0).next_u64(), PINNED_ZERO);
    }

    const PINNED: [u64; 4] = [
        0xfe29_9435_0b98_e76e,
        0xd8a9_a618_d310_acf4,
        0xae7d_9228_01af_639c,
        0xc906_4be9_1a4a_fa99,
    ];
    const PINNED_ZERO: u64 = 0x14f4_15e7_187e_0e13;
}
