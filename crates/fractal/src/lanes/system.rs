use super::lyapunov;
use super::table::{SLOTS, Table};
use crate::system::System;

/// A system prepared for the sampler: its tables, and whether the lanes can draw it.
#[derive(Debug, Clone)]
pub struct LanesSystem {
    pub(super) table: Table,
    exact_orbit: bool,
}

impl LanesSystem {
    /// Prepares a system, in some microseconds. Accepts any numbers.
    #[must_use]
    pub fn new(system: &System) -> Self {
        let table = Table::new(system);
        let exact_orbit = !(table.is_finite() && lyapunov::contracts(&table));
        Self { table, exact_orbit }
    }

    /// Returns true if its images are drawn as one orbit in double precision, which takes some ten
    /// times as long, because the system does not clearly contract. A property of the system alone.
    #[must_use]
    pub fn exact_orbit(&self) -> bool {
        self.exact_orbit
    }

    /// Returns the parameters for drawing the lanes elsewhere: parameter `k` of the map in slot `j`
    /// is `[k][j]`.
    #[must_use]
    pub fn parameters(&self) -> &[[f32; SLOTS]; 6] {
        &self.table.narrow
    }

    /// Returns the threshold and alias of each slot, as in the definition.
    #[must_use]
    pub fn words(&self) -> &[u32; SLOTS] {
        &self.table.words
    }
}
