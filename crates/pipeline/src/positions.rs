/// Set of positions in a plan, with one bit each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Positions {
    words: Vec<u64>,
}

impl Positions {
    /// Creates an empty set of positions below `n_positions`.
    #[must_use]
    pub fn new(n_positions: u64) -> Self {
        let n_words = usize::try_from(n_positions.div_ceil(64)).unwrap_or(usize::MAX);
        Self { words: vec![0; n_words] }
    }

    /// Creates the set from its [`words`](Self::words).
    #[must_use]
    pub fn from_words(words: Vec<u64>) -> Self {
        Self { words }
    }

    /// Adds a position; one out of range is ignored.
    pub fn insert(&mut self, position: u64) {
        let at = usize::try_from(position / 64).unwrap_or(usize::MAX);
        if let Some(word) = self.words.get_mut(at) {
            *word |= 1 << (position % 64);
        }
    }

    /// Returns true if the set contains that position.
    #[must_use]
    pub fn contains(&self, position: u64) -> bool {
        let at = usize::try_from(position / 64).unwrap_or(usize::MAX);
        self.words.get(at).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    /// Returns the number of positions in the set.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Returns its bits, the lowest of the first word for position 0.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}
