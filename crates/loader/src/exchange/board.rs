//! Connects the threads that make rows to the thread that takes part in rounds.
use super::{
    message::{Head, Standing},
    rounds::N_STEPS,
};
use crate::{dataset::Fetched, engine::Epoch, order::Cursor};
use fdconvert_core::{Error, Result};
use std::{
    collections::BTreeMap,
    process,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Longest time that a rank without requests stays away from others that may have some.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// First pause after a rank had requests: the next epoch may begin soon. Each further pause is
/// twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(4);

/// The requested samples of moved rows, and those that have arrived.
pub(crate) struct Board {
    state: Mutex<State>,
    changed: Condvar,
    /// Number of steps requested beyond the last delivered batch.
    n_ahead: u64,
    /// Limit on the bytes of samples that are requested and not yet taken.
    max_bytes: u64,
    process: u32,
}

#[derive(Default)]
struct State {
    /// Counts the epochs begun; data of an earlier one are of no use.
    number: u64,
    /// An epoch that the thread has not seen yet.
    begun: Option<(Arc<Epoch>, Cursor)>,
    /// True while its rows are made.
    is_running: bool,
    n_delivered: u64,
    delivered: Standing,
    /// All moved rows at positions below were planned.
    planned: u64,
    /// The requested ones of them, by position.
    rows: BTreeMap<u64, Row>,
    n_bytes: u64,
    is_closing: bool,
    /// The reason for the end of the rounds.
    ended: Option<String>,
    /// True if a row had to be read from storage because of that.
    was_missed: bool,
}

struct Row {
    n_bytes: u64,
    sample: Sample,
}

enum Sample {
    Asked,
    /// Boxed, because rows are moved within the map.
    Here(Box<Fetched>),
    Missing,
}

/// The steps of an epoch for which samples are requested.
pub(super) struct Session {
    number: u64,
    pub(super) epoch: Arc<Epoch>,
    pub(super) cursor: Cursor,
    pub(super) standing: Standing,
    /// Number of steps of the epoch requested since it began here.
    pub(super) n_asked: u64,
}

/// State of a rank in the rounds.
pub(super) struct Part {
    pub(super) session: Option<Session>,
    pub(super) standing: Standing,
    pub(super) others: Vec<Head>,
    pause: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Request the samples of the next step.
    Ask,
    /// Answer only.
    Answer,
    /// Announce that this rank leaves.
    Leave,
}

impl Board {
    pub(super) fn new(n_ahead: u64, max_bytes: u64) -> Self {
        let (state, changed) = Default::default();
        Self { state, changed, n_ahead, max_bytes, process: process::id() }
    }

    /// Returns true if the thread belongs to another process, from which this one was forked: the
    /// thread may have held the lock.
    pub(crate) fn is_foreign(&self) -> bool {
        self.process != process::id()
    }

    /// Begins the steps of the cursor: their rows will be made.
    pub(crate) fn begin(&self, epoch: Arc<Epoch>, cursor: Cursor) {
        let mut state = self.lock();
        state.forget_rows();
        state.number += 1;
        state.planned = 0;
        state.n_delivered = 0;
        state.is_running = true;
        state.begun = Some((epoch, cursor));
        self.changed.notify_all();
    }

    /// Ends the epoch: no more of its rows will be made.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.forget_rows();
        state.is_running = false;
        state.begun = None;
        self.changed.notify_all();
    }

    /// Records a delivered batch, that of step number `step` of the epoch: all positions below
    /// `consumed` are finished.
    pub(crate) fn delivered(&self, epoch: u64, step: u64, consumed: u64) {
        let mut state = self.lock();
        state.n_delivered += 1;
        state.delivered = Standing { epoch, n_steps: step.saturating_add(1) };
        // Rows that found their sample elsewhere in the end.
        let rest = state.rows.split_off(&consumed);
        let done = std::mem::replace(&mut state.rows, rest);
        let n_bytes = done.values().map(|row| row.n_bytes).sum();
        state.n_bytes = state.n_bytes.saturating_sub(n_bytes);
        self.changed.notify_all();
    }

    /// Returns the sample of a moved row at a position from its owner when it arrives; `None` if it
    /// does not come.
    ///
    /// # Errors
    /// `Cancelled` if the row is no longer needed.
    pub(crate) fn take(&self, position: u64) -> Result<Option<Fetched>> {
        let mut state = self.lock();
        loop {
            if !state.is_running {
                return Err(Error::Cancelled);
            }
            let is_ended = state.ended.is_some();
            match state.rows.get(&position).map(|row| &row.sample) {
                Some(Sample::Here(_) | Sample::Missing) => return Ok(state.take(position)),
                // There was no room for it.
                None if position < state.planned => return Ok(None),
                Some(Sample::Asked) | None if is_ended => {
                    state.was_missed = true;
                    return Ok(None);
                }
                Some(Sample::Asked) | None => {}
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns true if samples of moved rows are still requested.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().ended.is_none()
    }

    /// Returns the reason if rows were read from storage instead of received from their owners: the
    /// failure that ended the exchange, if it cost a row.
    pub(crate) fn failure(&self) -> Option<String> {
        let state = self.lock();
        state.ended.clone().filter(|_| state.was_missed)
    }

    /// Lets this rank leave once no other rank needs it for steps that are done here.
    pub(crate) fn close(&self) {
        self.end();
        self.lock().is_closing = true;
        self.changed.notify_all();
    }

    /// Waits at most `patience` for the end of the rounds; returns whether they have ended.
    pub(crate) fn wait_for_end(&self, patience: Duration) -> bool {
        let is_going_on = |state: &mut State| state.ended.is_none();
        let waited = self.changed.wait_timeout_while(self.lock(), patience, is_going_on);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended.is_some()
    }

    /// Waits for the action of the next round.
    pub(super) fn turn(&self, part: &mut Part) -> Turn {
        let begin = Instant::now();
        let Part { session, standing, others, pause } = part;
        let mut state = self.lock();
        loop {
            if let Some((epoch, cursor)) = state.begun.take() {
                *session = Some(Session::new(state.number, epoch, cursor));
            } else if !state.is_running {
                *session = None;
            }
            // A rank that makes no rows has no use for samples requested ahead of them.
            *standing = session.as_ref().map_or(state.delivered, |session| session.standing);
            // A rank that leaves also waits for those that have not begun the epoch.
            let is_awaited = |head: &&Head| head.is_active || state.is_closing;
            if others.iter().filter(is_awaited).any(|head| head.standing < *standing) {
                return Turn::Answer;
            }
            let mut patience = *pause;
            match session {
                Some(session) if session.is_active() => {
                    *pause = FIRST_PAUSE;
                    let n_asked = session.n_asked.saturating_add(N_STEPS);
                    if n_asked <= state.n_delivered.saturating_add(self.n_ahead) {
                        return Turn::Ask;
                    }
                    // A batch will be taken first, and until then no rank waits for this one.
                    patience = LONGEST_PAUSE;
                }
                _ if state.is_closing => return Turn::Leave,
                _ if others.iter().any(|head| head.is_active) => {
                    *pause = FIRST_PAUSE;
                    return Turn::Answer;
                }
                _ => {}
            }
            let left = patience.saturating_sub(begin.elapsed());
            if left.is_zero() {
                *pause = LONGEST_PAUSE.min(*pause * 2);
                return Turn::Answer;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Records the requests for the samples of these rows, given with their bytes, and that there
    /// are no others at positions below `end`. Returns for each whether there is room.
    pub(super) fn ask(&self, session: &Session, rows: &[(u64, u64)], end: u64) -> Vec<bool> {
        let mut state = self.lock();
        if state.number != session.number || !state.is_running {
            return vec![false; rows.len()];
        }
        state.planned = end;
        let mut ask = |&(position, n_bytes): &(u64, u64)| {
            let all = state.n_bytes.saturating_add(n_bytes);
            let has_room = all <= self.max_bytes;
            if has_room {
                state.n_bytes = all;
                state.rows.insert(position, Row { n_bytes, sample: Sample::Asked });
            }
            has_room
        };
        let asked = rows.iter().map(&mut ask).collect();
        self.changed.notify_all();
        asked
    }

    /// Records the answer for the row at a position.
    pub(super) fn answered(&self, session: &Session, position: u64, fetched: Option<Fetched>) {
        let mut state = self.lock();
        if state.number != session.number {
            return;
        }
        if let Some(row) = state.rows.get_mut(&position) {
            row.sample = fetched.map_or(Sample::Missing, |it| Sample::Here(Box::new(it)));
            self.changed.notify_all();
        }
    }

    /// Ends the rounds.
    pub(super) fn finish(&self, why: String) {
        self.lock().ended = Some(why);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Part {
    fn default() -> Self {
        let (session, standing, others) = Default::default();
        Self { session, standing, others, pause: FIRST_PAUSE }
    }
}

impl State {
    fn forget_rows(&mut self) {
        self.rows.clear();
        self.n_bytes = 0;
    }

    fn take(&mut self, position: u64) -> Option<Fetched> {
        let row = self.rows.remove(&position)?;
        self.n_bytes = self.n_bytes.saturating_sub(row.n_bytes);
        match row.sample {
            Sample::Here(fetched) => Some(*fetched),
            Sample::Asked | Sample::Missing => None,
        }
    }
}

impl Session {
    fn new(number: u64, epoch: Arc<Epoch>, cursor: Cursor) -> Self {
        let standing = Standing { epoch: epoch.number, n_steps: cursor.index() };
        Self { number, epoch, cursor, standing, n_asked: 0 }
    }

    /// Returns true if there are steps without requests.
    pub(super) fn is_active(&self) -> bool {
        self.cursor.remaining() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Board, Head, Part, Standing, Turn};
    use std::time::Duration;

    fn other(n_steps: u64, is_active: bool) -> Head {
        let standing = Standing { epoch: 2, n_steps };
        Head { identity: 7, standing, is_active, leaves: false }
    }

    /// Returns the turn of a rank with a loader closed after four steps of an epoch.
    fn last_turn(others: &[Head]) -> Turn {
        let board = Board::new(3, 100);
        (0..4).for_each(|step| board.delivered(2, step, 10 * step));
        board.close();
        board.turn(&mut Part { others: others.to_vec(), ..Part::default() })
    }

    #[test]
    fn a_rank_leaves_once_all_have_come_as_far() {
        assert_eq!(last_turn(&[]), Turn::Leave);
        assert_eq!(last_turn(&[other(4, false), other(4, true), other(9, true)]), Turn::Leave);
        assert_eq!(last_turn(&[other(4, false), other(3, true)]), Turn::Answer);
        assert_eq!(last_turn(&[other(3, false), other(4, false)]), Turn::Answer);
    }

    #[test]
    fn who_waits_for_a_row_is_told_that_there_are_no_rounds() {
        let board = Board::new(3, 100);
        assert!(board.is_open() && !board.wait_for_end(Duration::ZERO));
        // No rows are being made.
        assert!(board.take(0).is_err());
        board.finish("rank 1 is gone".into());
        assert!(board.wait_for_end(Duration::MAX) && !board.is_open());
        // The end cost no row.
        assert_eq!(board.failure(), None);
    }
}
