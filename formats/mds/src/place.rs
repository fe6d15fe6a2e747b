//! Where the files of a shard lie, and which of them are whose.
use crate::{layout::INDEX, manifest, record::Record};
use fdconvert_core::{Create, Error, Result, Shard};
use fdconvert_storage::Scratch;
use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

/// The folder of done-records and claims.
pub(crate) const STATE: &str = ".fdconvert";

/// The names of one shard.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) out: PathBuf,
    /// The folder of the split.
    pub(crate) folder: PathBuf,
    stem: String,
}

/// What is there of a shard already.
pub(crate) enum Found {
    /// Nothing, or what an interrupted run of the same fingerprint left.
    Nothing,
    /// This run has finished it.
    Finished(Box<Record>),
    /// Something that is not to be touched without being told to.
    Foreign(String),
}

impl Place {
    pub(crate) fn new(out: &Path, shard: &Shard) -> Result<Self> {
        let stem = format!("shard.{:05}", shard.number);
        Ok(Self { out: out.to_path_buf(), folder: split_folder(out, &shard.split)?, stem })
    }

    pub(crate) fn raw_name(&self) -> String {
        format!("{}.mds", self.stem)
    }

    pub(crate) fn zip_name(&self) -> String {
        format!("{}.mds.zstd", self.stem)
    }

    pub(crate) fn record(&self) -> PathBuf {
        record_path(&self.folder, &self.stem)
    }

    fn claim(&self) -> PathBuf {
        self.folder.join(STATE).join(format!("{}.claim", self.stem))
    }

    /// What is there, for a run of that fingerprint.
    pub(crate) fn look(&self, fingerprint: [u8; 16]) -> Result<Found> {
        let path = self.record();
        if let Some(record) = Record::read_if_there(&path)? {
            if !record.is_of(fingerprint) {
                let what = format!("{} was written by another run", path.display());
                return Ok(Found::Foreign(what));
            }
            let is_whole = [self.raw_name(), self.zip_name()].contains(&record.file)
                && file_len(&self.folder.join(&record.file)) == Some(record.bytes);
            return Ok(if is_whole { Found::Finished(record.into()) } else { Found::Nothing });
        }
        let claim = fs::read(self.claim()).ok();
        let is_ours = claim.is_some_and(|claim| claim == fingerprint);
        for name in [self.raw_name(), self.zip_name()] {
            let path = self.folder.join(name);
            if !is_ours && fs::symlink_metadata(&path).is_ok() {
                let what = format!("{} exists and has no record of ours", path.display());
                return Ok(Found::Foreign(what));
            }
        }
        Ok(Found::Nothing)
    }

    /// Refuses to write over what this run did not make, if not told to.
    pub(crate) fn check_free(&self, request: &Create<'_>) -> Result<()> {
        if request.overwrite {
            return Ok(());
        }
        let refuse = |what: String| {
            let what = format!("{what}; move it away, name another folder, or use --overwrite");
            Err(Error::usage("output", what))
        };
        match self.look(request.fingerprint)? {
            Found::Nothing => {}
            Found::Finished(_) => {
                let what = format!("{} is finished already", self.record().display());
                return refuse(what);
            }
            Found::Foreign(what) => return refuse(what),
        }
        let index = self.folder.join(INDEX);
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        let is_complete = is_there(&index) || is_there(&self.out.join(manifest::NAME));
        // A finished dataset of this run that has lost a shard may be mended.
        if is_complete && !manifest::is_of(&self.out, request.fingerprint) {
            return refuse(format!("{} holds a dataset", self.folder.display()));
        }
        Ok(())
    }

    /// Takes the shard for this run: makes the folders and holds the claim.
    pub(crate) fn claim_for(&self, request: &Create<'_>) -> Result<Claim> {
        let path = self.claim();
        let mut tries = 3;
        let held = loop {
            let made = Made::folders([&self.out, &self.folder, &self.folder.join(STATE)])?;
            match Scratch::open(&path) {
                Ok(claim) => break Claim { claim, _made: made },
                // Another writer has removed the folders it had made, now empty.
                Err(Error::Io { source, .. })
                    if source.kind() == io::ErrorKind::NotFound && tries > 0 =>
                {
                    tries -= 1;
                }
                Err(error) => return Err(error),
            }
        };
        let mut found = [0; 16];
        let claim = &held.claim;
        let is_whole = claim.existing() >= 16;
        if is_whole {
            claim.read_exact_at(&mut found, 0)?;
        }
        if is_whole && found != request.fingerprint && !request.overwrite {
            held.claim.leave();
            let what = format!(
                "{} is an unfinished shard of a run with another source or other options; finish \
                 that run, or replace it with --overwrite",
                path.display()
            );
            return Err(Error::usage("output", what));
        }
        claim.set_len(0)?;
        claim.write_all_at(&request.fingerprint, 0)?;
        Ok(held)
    }

    /// Removes what says that there is a finished shard or dataset, before that stops being true.
    pub(crate) fn withdraw(&self) -> Result<()> {
        remove_if_there(&self.out.join(manifest::NAME))?;
        remove_if_there(&self.folder.join(INDEX))?;
        remove_if_there(&self.record())
    }
}

/// A shard that this process may write.
#[derive(Debug)]
pub(crate) struct Claim {
    claim: Scratch,
    // After what lies in them.
    _made: Made,
}

/// Folders that this process has made; those that are empty go with it.
#[derive(Debug)]
struct Made(Vec<PathBuf>);

impl Made {
    fn folders<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Self> {
        let mut made = Self(Vec::new());
        for path in paths {
            match fs::create_dir(path) {
                Ok(()) => made.0.push(path.clone()),
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
                Err(cause) => return Err(Error::io("create the folder", path)(cause)),
            }
        }
        Ok(made)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            // Fails where there is something in it, as it should.
            let _ = fs::remove_dir(path);
        }
    }
}

/// The folder of a split.
pub(crate) fn split_folder(out: &Path, split: &str) -> Result<PathBuf> {
    if split == Shard::DEFAULT_SPLIT {
        return Ok(out.to_path_buf());
    }
    let mut parts = Path::new(split).components();
    let is_name = matches!(parts.next(), Some(Component::Normal(name)) if name == split)
        && !split.starts_with('.');
    if !is_name {
        return Err(Error::usage("split", format!("`{split}` is no name for a folder")));
    }
    Ok(out.join(split))
}

pub(crate) fn record_path(folder: &Path, stem: &str) -> PathBuf {
    folder.join(STATE).join(format!("{stem}.json"))
}

pub(crate) fn file_len(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
}

pub(crate) fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(cause))
        }
        _ => Ok(()),
    }
}
