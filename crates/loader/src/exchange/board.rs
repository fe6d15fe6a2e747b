//! Where the threads that make rows and the one that takes part in rounds meet.
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

/// Time for which a rank that has nothing to ask stays away from others that may have, at most.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The same right after a rank had something to ask: the next epoch may begin soon. Each pause
/// after it is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(4);

/// Which samples of moved rows were asked for, and which are here.
pub(crate) struct Board {
    state: Mutex<State>,
    changed: Condvar,
    /// Steps that are asked for ahead of the last batch that was handed over.
    n_ahead: u64,
    /// Bytes of samples that are asked for, and not taken yet.
    max_bytes: u64,
    process: u32,
}

#[derive(Default)]
struct State {
    /// Counts epochs that were begun; what belongs to another one is of no use any more.
    number: u64,
    /// An epoch that the thread has not seen yet.
    begun: Option<(Arc<Epoch>, Cursor)>,
    /// Rows of it are being made.
    is_running: bool,
    n_delivered: u64,
    delivered: Standing,
    /// All rows that moved at positions below were looked at.
    planned: u64,
    /// Those of them that were asked for, by position.
    rows: BTreeMap<u64, Row>,
    n_bytes: u64,
    is_closing: bool,
    /// Why there are no rounds any more.
    ended: Option<String>,
    /// A row had to be read from storage for that.
    was_missed: bool,
}

struct Row {
    n_bytes: u64,
    sample: Sample,
}

enum Sample {
    Asked,
    /// In a box, because rows are moved within the map.
    Here(Box<Fetched>),
    Missing,
}

/// The steps of an epoch for which samples are asked for.
pub(super) struct Session {
    number: u64,
    pub(super) epoch: Arc<Epoch>,
    pub(super) cursor: Cursor,
    pub(super) standing: Standing,
    /// Steps of the epoch that were asked for since it began here.
    pub(super) n_asked: u64,
}

/// State of a rank in the rounds.
pub(super) struct Part {
    pub(super) session: Option<Session>,
    pub(super) standing: Standing,
    pub(super) others: Vec<Head>,
    pause: Duration,
}

/// Action of a rank in the next round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It asks for the samples of its next step.
    Ask,
    /// It answers only.
    Answer,
    /// It says that it leaves.
    Leave,
}

impl Board {
    pub(super) fn new(n_ahead: u64, max_bytes: u64) -> Self {
        let (state, changed) = Default::default();
        Self { state, changed, n_ahead, max_bytes, process: process::id() }
    }

    /// Returns whether the thread belongs to another process, of which this one was forked off: it
    /// may have held the lock.
    pub(crate) fn is_foreign(&self) -> bool {
        self.process != process::id()
    }

    /// Rows of an epoch are going to be made, those of the steps of the cursor.
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

    /// No more rows of the epoch are going to be made.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.forget_rows();
        state.is_running = false;
        state.begun = None;
        self.changed.notify_all();
    }

    /// A batch was handed over, that of step number `step` of the epoch, and all positions below
    /// `consumed` are done with.
    pub(crate) fn delivered(&self, epoch: u64, step: u64, consumed: u64) {
        let mut state = self.lock();
        state.n_delivered += 1;
        state.delivered = Standing { epoch, n_steps: step.saturating_add(1) };
        // Of rows that found their sample elsewhere in the end.
        let rest = state.rows.split_off(&consumed);
        let done = std::mem::replace(&mut state.rows, rest);
        let n_bytes = done.values().map(|row| row.n_bytes).sum();
        state.n_bytes = state.n_bytes.saturating_sub(n_bytes);
        self.changed.notify_all();
    }

    /// The sample of a moved row at a position, from its owner, as soon as it is here; `None` where
    /// it does not come.
    ///
    /// # Errors
    /// `Cancelled` when no one wants the row any more.
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

    /// Returns whether samples of moved rows are still asked for.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().ended.is_none()
    }

    /// Why rows were read from storage that were to come from their owners: what ended the
    /// exchange, if that cost a row.
    pub(crate) fn failure(&self) -> Option<String> {
        let state = self.lock();
        state.ended.clone().filter(|_| state.was_missed)
    }

    /// This rank leaves, as soon as no other one needs it for steps that are done here.
    pub(crate) fn close(&self) {
        self.end();
        self.lock().is_closing = true;
        self.changed.notify_all();
    }

    /// Waits until there are no rounds any more, up to that time; whether it is so.
    pub(crate) fn wait_for_end(&self, patience: Duration) -> bool {
        let is_going_on = |state: &mut State| state.ended.is_none();
        let waited = self.changed.wait_timeout_while(self.lock(), patience, is_going_on);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended.is_some()
    }

    /// Waits for what is to be done in the next round.
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
            // Who makes no rows has no use for what was asked for ahead of them.
            *standing = session.as_ref().map_or(state.delivered, |session| session.standing);
            // A rank that leaves waits for those that have not begun the epoch, too.
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
                    // A batch is going to be taken, and no one waits for this rank before that.
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

    /// Writes down that the samples of these rows, with their bytes, are asked for, and that no
    /// others are at positions below `end`. Returns which of them there is room for.
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

    /// Records what came of the row at a position that was asked for.
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

    /// There are no more rounds.
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

    /// There are steps that were not asked for.
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

    /// Turn of a rank whose loader was closed after four steps of an epoch.
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
        // No one has missed it.
        assert_eq!(board.failure(), None);
    }
}
