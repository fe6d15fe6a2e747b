//! What a comparison found: a state for each pair, and where the pairs of some states stand.
use crate::{answer::Failure, request::Asked};

/// Of a sample that the second dataset does not have.
pub(super) const NONE: u32 = u32::MAX;

/// Pairs whose states are counted together, so that a page is found without a look at all before it.
const BLOCK: usize = 1024;

/// Result of comparing the two samples of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Same,
    Changed,
    OnlyA,
    OnlyB,
}

impl State {
    pub(super) const ALL: [Self; 4] = [Self::Same, Self::Changed, Self::OnlyA, Self::OnlyB];

    /// As the parameter and the counts have it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Changed => "changed",
            Self::OnlyA => "only_a",
            Self::OnlyB => "only_b",
        }
    }
}

/// The states that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct States([bool; 4]);

impl States {
    pub(super) const ALL: Self = Self([true; 4]);

    /// The states that a request names, or all where it names none.
    pub(super) fn asked(asked: &Asked) -> Result<Self, Failure> {
        let mut states = [false; 4];
        for (_, value) in asked.parameters().filter(|(name, _)| *name == "state") {
            let state = State::ALL.into_iter().find(|state| state.name() == value);
            let Some(state) = state else {
                let known = State::ALL.map(State::name).join(", ");
                return Err(Failure::asked_wrong(format!("`state={value}` is none of: {known}")));
            };
            Self::set(&mut states, state);
        }
        Ok(if states == [false; 4] { Self::ALL } else { Self(states) })
    }

    fn set(states: &mut [bool; 4], state: State) {
        if let Some(is_in) = states.get_mut(state as usize) {
            *is_in = true;
        }
    }

    fn has(self, state: State) -> bool {
        self.0.get(state as usize) == Some(&true)
    }

    /// The pairs of these states, of counts by state.
    fn of(self, counts: &Counts) -> u64 {
        State::ALL.into_iter().zip(counts).filter(|(it, _)| self.has(*it)).map(|(_, n)| n).sum()
    }
}

/// Pairs by state, in the order of [`State::ALL`].
pub(super) type Counts = [u64; 4];

/// A sample of one or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) a: Option<u64>,
    pub(super) b: Option<u64>,
    pub(super) state: State,
}

/// The pairs so far, in the order of the first dataset, then what only the second one has.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// For each sample of the first its partner, and whether that holds the same.
    partners: Vec<u32>,
    is_same: Vec<bool>,
    /// Those that only the second one has, once all others are matched.
    only_b: Vec<u32>,
    counts: Counts,
    /// The same for each block of the first.
    blocks: Vec<Counts>,
    is_complete: bool,
}

impl Found {
    /// Samples of the first that were looked at.
    pub(super) fn scanned(&self) -> u64 {
        self.partners.len() as u64
    }

    /// Returns whether nothing is to be added any more.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) fn total(&self, states: States) -> u64 {
        states.of(&self.counts)
    }

    /// Adds the next sample of the first.
    pub(super) fn add(&mut self, partner: u32, is_same: bool) {
        if self.partners.len().is_multiple_of(BLOCK) {
            self.blocks.push(Counts::default());
        }
        let state = state(partner, is_same);
        self.partners.push(partner);
        self.is_same.push(is_same);
        for counts in self.blocks.last_mut().into_iter().chain([&mut self.counts]) {
            if let Some(count) = counts.get_mut(state as usize) {
                *count += 1;
            }
        }
    }

    /// Takes what only the second one has, when all of the first is there.
    pub(super) fn end(&mut self, only_b: Vec<u32>) {
        if let Some(count) = self.counts.get_mut(State::OnlyB as usize) {
            *count = only_b.len() as u64;
        }
        self.only_b = only_b;
        self.is_complete = true;
    }

    /// The pairs of these states from the place `start` among them on, at most `count`.
    pub(super) fn page(&self, states: States, start: u64, count: usize) -> Vec<Row> {
        let (mut left, mut rows) = (start, Vec::new());
        for (number, counts) in self.blocks.iter().enumerate() {
            let here = states.of(counts);
            if left >= here {
                left -= here;
                continue;
            }
            let places = number * BLOCK..self.partners.len().min((number + 1) * BLOCK);
            let pairs = places.filter_map(|at| self.pair(at)).filter(|row| states.has(row.state));
            let room = count - rows.len();
            rows.extend(pairs.skip(usize::try_from(left).unwrap_or(usize::MAX)).take(room));
            left = 0;
            if rows.len() == count {
                return rows;
            }
        }
        if states.has(State::OnlyB) {
            let only = |b: &u32| Row { a: None, b: Some(u64::from(*b)), state: State::OnlyB };
            let others = self.only_b.iter().skip(usize::try_from(left).unwrap_or(usize::MAX));
            rows.extend(others.take(count - rows.len()).map(only));
        }
        rows
    }

    fn pair(&self, at: usize) -> Option<Row> {
        let partner = *self.partners.get(at)?;
        let state = state(partner, *self.is_same.get(at)?);
        let b = (partner != NONE).then_some(u64::from(partner));
        Some(Row { a: Some(at as u64), b, state })
    }
}

fn state(partner: u32, is_same: bool) -> State {
    match (partner, is_same) {
        (NONE, _) => State::OnlyA,
        (_, true) => State::Same,
        (_, false) => State::Changed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pairs one after the other, and then those of the states.
    fn slow(found: &Found, states: States, start: u64, count: usize) -> Vec<Row> {
        let pairs = (0..found.partners.len()).filter_map(|at| found.pair(at));
        let only = found.only_b.iter();
        let only = only.map(|b| Row { a: None, b: Some(u64::from(*b)), state: State::OnlyB });
        let rows = pairs.chain(only).filter(|row| states.has(row.state));
        rows.skip(usize::try_from(start).unwrap_or(usize::MAX)).take(count).collect()
    }

    #[test]
    fn pages_of_any_states_are_those_of_a_look_at_all_pairs() {
        for n_pairs in [0, 1, BLOCK, 3 * BLOCK + 17] {
            let mut found = Found::default();
            for at in 0..n_pairs as u32 {
                // The second block has no changed ones, and they are rare in the others.
                let is_same = at % 97 != 5 || (1024..2048).contains(&at);
                found.add(if at % 301 == 7 { NONE } else { at }, is_same);
            }
            found.end(vec![3, 9, 4000]);
            for bits in 1..16_u32 {
                let states = States(std::array::from_fn(|at| bits & (1 << at) != 0));
                let all = slow(&found, states, 0, usize::MAX);
                assert_eq!(found.total(states), all.len() as u64, "{states:?}");
                for start in [0, 1, 10, 1023, 1024, 2500, 3090, u64::MAX] {
                    for count in [0, 1, 24, 1000] {
                        let page = found.page(states, start, count);
                        assert_eq!(page, slow(&found, states, start, count), "{states:?} {start}");
                    }
                }
            }
        }
    }
}
