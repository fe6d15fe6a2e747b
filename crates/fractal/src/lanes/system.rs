use super::lyapunov;
use super::table::{SLOTS, Table};
use crate::system::System;

/// A system made ready for the sampler: its tables, and the decision whether the lanes draw it.
#[derive(Debug, Clone)]
pub struct LanesSystem {
    pub(super) table: Table,
    exact_orbit: bool,
}

impl LanesSystem {
    /// Prepares a system; takes some microseconds. Every system can be prepared, whatever its
    /// numbers are.
    #[must_use]
    pub fn new(system: &System) -> Self {
        let table = Table::new(system);
        let exact_orbit = !(table.is_finite() && lyapunov::contracts(&table));
        Self { table, exact_orbit }
    }

    /// Returns whether its images are drawn as one orbit in double precision, which takes some ten
    /// times as long: the system does not clearly contract. A property of the system alone.
    #[must_use]
    pub fn exact_orbit(&self) -> bool {
        self.exact_orbit
    }

    /// Returns what the lanes are drawn from, for those who draw them elsewhere: parameter `k` of
    /// the map in slot `j` is `[k][j]`.
    #[must_use]
    pub fn parameters(&self) -> &[[f32; SLOTS]; 6] {
        &self.table.narrow
    }

    /// The threshold and alias of each slot, as the definition has them.
    #[must_use]
    pub fn words(&self) -> &[u32; SLOTS] {
        &self.table.words
    }
}
