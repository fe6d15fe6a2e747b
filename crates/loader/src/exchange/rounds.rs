//! The thread that takes part in rounds.
use super::{
    board::{Board, Part, Session, Turn},
    message::{self, Head},
};
use crate::{
    dataset::Fetched,
    engine::{Reading, Setup},
    order::{Place, Step, World},
    supply::Supply,
    transport::Exchange,
};
use fdconvert_core::{Error, Result};
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::AtomicBool},
    thread,
};

/// Number of samples that an owner reads at a time, if it has not kept them yet.
const N_READERS: usize = 8;

/// Steps that share a round, counted from the start of the epoch.
pub(super) const N_STEPS: u64 = 4;

/// Number of steps requested beyond those of the batches in the making.
const N_AHEAD: u64 = N_STEPS + 2;

/// One rank's side of the exchange.
struct Rounds {
    setup: Arc<Setup>,
    supply: Arc<Supply>,
    options: ExchangeOptions,
    board: Arc<Board>,
    part: Part,
    /// Reason for this rank to leave with the next round.
    leaving: Option<String>,
}

/// A sample to request from its owner.
struct Wanted {
    position: u64,
    place: Place,
    rank: u32,
}

pub(crate) struct ExchangeOptions {
    pub(crate) exchange: Arc<dyn Exchange>,
    pub(crate) world: World,
    /// Limit on the bytes requested ahead, and on those that a rank sends in a round.
    pub(crate) ahead_bytes: u64,
    /// Number of batches made ahead.
    pub(crate) n_buffers: usize,
}

/// Starts the thread.
///
/// # Errors
/// `Io` if the system has no thread left.
pub(crate) fn start(
    setup: &Arc<Setup>,
    supply: &Arc<Supply>,
    options: ExchangeOptions,
) -> Result<Arc<Board>> {
    let n_ahead = N_AHEAD.saturating_add(options.n_buffers as u64);
    let board = Arc::new(Board::new(n_ahead, options.ahead_bytes));
    let rounds = Rounds {
        setup: setup.clone(),
        supply: supply.clone(),
        options,
        board: board.clone(),
        part: Part::default(),
        leaving: None,
    };
    // The thread is detached: other ranks decide when it ends.
    thread::Builder::new()
        .name("exchange".into())
        .spawn(move || rounds.run())
        .map_err(Error::io("start", "a thread of the loader"))?;
    Ok(board)
}

impl Rounds {
    fn run(mut self) {
        let board = self.board.clone();
        let rounds = move || {
            loop {
                if let Err(why) = self.round() {
                    return self.leaving.unwrap_or(why);
                }
            }
        };
        // A panic of the transport: no row may wait for a thread that is gone.
        let ended = catch_unwind(AssertUnwindSafe(rounds));
        board.finish(ended.unwrap_or_else(|_| "the transport panicked".into()));
    }

    /// Takes part in a round.
    ///
    /// # Errors
    /// The reason if there are no more rounds.
    fn round(&mut self) -> Result<(), String> {
        let turn = match &self.leaving {
            None => self.board.turn(&mut self.part),
            Some(_) => Turn::Leave,
        };
        let wanted = if turn == Turn::Ask { self.plan() } else { Vec::new() };
        let head = Head {
            identity: self.supply.identity(),
            standing: self.part.standing,
            is_active: self.part.session.as_ref().is_some_and(Session::is_active),
            leaves: turn == Turn::Leave,
        };
        let of_rank = |rank| wanted.iter().filter(move |wanted| wanted.rank == rank);
        let size = self.options.world.size;
        let asks = (0..size).map(|rank| head.asking_for(of_rank(rank).map(|it| it.place)));
        let asked = self.heard(self.all_to_all(asks.collect())?)?;
        let answers = self.all_to_all(self.answers(&asked))?;
        for (rank, answer) in (0..).zip(answers) {
            let places: Vec<Place> = of_rank(rank).map(|wanted| wanted.place).collect();
            for (wanted, fetched) in of_rank(rank).zip(message::samples(answer, &places)) {
                let Some(session) = &self.part.session else { continue };
                let fetched = fetched.filter(|it| session.epoch.is_as_stored(wanted.place, it));
                self.board.answered(session, wanted.position, fetched);
            }
        }
        Ok(())
    }

    /// Plans the requests for the next steps: samples of rows that other ranks own.
    fn plan(&mut self) -> Vec<Wanted> {
        let Some(session) = &mut self.part.session else { return Vec::new() };
        let mut wanted = Vec::new();
        while let Some(step) = session.cursor.next() {
            session.n_asked += 1;
            session.standing.n_steps = step.index.saturating_add(1);
            wanted.extend(of_step(&self.board, session, &step));
            if session.standing.n_steps.is_multiple_of(N_STEPS) {
                break;
            }
        }
        self.part.standing = session.standing;
        wanted
    }
    /// Parses the requests to this rank: the places, by requesting rank.
    fn heard(&mut self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<Place>>, String> {
        self.part.others.clear();
        let mut asked = Vec::with_capacity(messages.len());
        for (rank, message) in (0_u32..).zip(&messages) {
            let Some((head, places)) = Head::read(message) else {
                // The others do not know, so that this rank takes part once more to announce that
                // it leaves.
                self.leaving = Some(format!("rank {rank} sent something else than a request"));
                asked.push(Vec::new());
                continue;
            };
            if head.leaves {
                return Err(format!("rank {rank} has closed its loader"));
            }
            if head.identity != self.supply.identity() {
                return Err(format!(
                    "rank {rank} loads other datasets, or with another seed, label or `cache_bytes`"
                ));
            }
            if rank != self.options.world.rank {
                self.part.others.push(head);
            }
            asked.push(places);
        }
        Ok(asked)
    }

    /// Returns the samples that the ranks requested from this one.
    fn answers(&self, asked: &[Vec<Place>]) -> Vec<Vec<u8>> {
        let all: Vec<Place> = asked.concat();
        let n_new = all.iter().filter(|place| !self.supply.has(**place)).count();
        let own = |places: &[Place]| -> Vec<Option<Fetched>> {
            places.iter().map(|place| self.own(*place)).collect()
        };
        let fetched: Vec<Option<Fetched>> = if n_new < 2 {
            own(&all)
        } else {
            let each = all.len().div_ceil(N_READERS);
            thread::scope(|scope| {
                let chunks = all.chunks(each);
                let readers: Vec<_> =
                    chunks.map(|places| (places.len(), scope.spawn(move || own(places)))).collect();
                let samples = readers.into_iter().flat_map(|(n, reader)| {
                    // The reader catches panics of a sample; any other panic costs these samples.
                    reader.join().unwrap_or_else(|_| vec![None; n])
                });
                samples.collect()
            })
        };
        let mut left = self.options.ahead_bytes;
        let mut fetched = fetched.into_iter().map(|fetched| {
            let n_bytes = fetched.as_ref()?.image.bytes.len() as u64;
            left = left.checked_sub(n_bytes)?;
            fetched
        });
        let mut samples = |places: &Vec<Place>| {
            let samples: Vec<_> =
                places.iter().map(|place| (*place, fetched.next().flatten())).collect();
            message::with_samples(&samples)
        };
        asked.iter().map(&mut samples).collect()
    }

    /// Returns a sample that this rank owns, from memory or, once, from storage. An unreadable one
    /// is left to the requesting rank: the row fails there.
    fn own(&self, place: Place) -> Option<Fetched> {
        let Self { setup, supply, .. } = self;
        let stopped = AtomicBool::new(false);
        let reading =
            Reading { setup, store: &supply.store, datasets: &setup.datasets, stopped: &stopped };
        supply.own(place, &setup.counters, &|place| reading.read(place))?.ok()
    }

    fn all_to_all(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, String> {
        let n_ranks = messages.len();
        match self.options.exchange.all_to_all(messages) {
            Ok(messages) if messages.len() == n_ranks => Ok(messages),
            Ok(messages) => Err(format!("{} messages of {n_ranks} ranks", messages.len())),
            Err(error) => Err(said(&error)),
        }
    }
}

/// Returns the samples to request for a step, and records them on the board.
fn of_step(board: &Board, session: &Session, step: &Step) -> Vec<Wanted> {
    let moved = step.rows.iter().filter(|row| row.valid).filter_map(|row| {
        let (place, rank, n_bytes) = session.epoch.to_ask(row.position)?;
        Some((Wanted { position: row.position, place, rank }, (row.position, n_bytes)))
    });
    let (mut wanted, rows): (Vec<_>, Vec<_>) = moved.unzip();
    let mut asked = board.ask(session, &rows, step.state.consumed).into_iter();
    wanted.retain(|_| asked.next() == Some(true));
    wanted
}

/// Formats the error of the transport on one line.
fn said(error: &io::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
