//! A store on this machine: a folder served like buckets of S3, with realistic latency.

use std::{io::BufRead as _, path::PathBuf, time::Duration};

use fdconvert_testkit::server::{Fault, Faults, Server};

use crate::{
    failure::{Failure, Result},
    servers,
};

/// Serve the folders in a folder as buckets of S3, on the loopback interface, until a line or the
/// end of standard input; then print the requests.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Each folder in it is a bucket.
    root: PathBuf,
    /// Milliseconds before every answer.
    #[arg(long, default_value_t = 65)]
    latency: u64,
    /// Share of responses with a fault: truncated bodies, 503, resets, stalls.
    #[arg(long, default_value_t = 0.0)]
    faults: f64,
    /// Seed of the faults.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Also serve the folder by s3s-fs, another implementation, which checks signatures; it is
    /// installed first, which takes minutes.
    #[arg(long)]
    s3s_fs: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if !options.root.is_dir() {
        let what =
            format!("{} is not a folder; make it, and a bucket in it", options.root.display());
        return Err(Failure::new(what));
    }
    let stall = Fault::Stall(Duration::from_millis(200));
    let kinds = [Fault::Cut(1.0), Fault::Status(503), Fault::Reset, stall];
    let shares = kinds.map(|kind| (options.faults / kinds.len() as f64, kind)).to_vec();
    let latency = Duration::from_millis(options.latency);
    let server = Server::with_faults(&options.root, Faults { seed: options.seed, latency, shares });
    for (name, value) in server.variables() {
        println!("export {name}={value}");
    }
    let other = options.s3s_fs.then(|| servers::s3_on(&options.root)).transpose()?;
    if let Some((url, _)) = &other {
        println!(
            "# s3s-fs at {url}, for others: AWS_ENDPOINT_URL={url} AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=secret"
        );
    }
    println!("# {} serves {}; a line ends it", server.url(), options.root.display());
    for line in std::io::stdin().lock().lines() {
        match line.as_deref() {
            // Prints the requests since the start, without ending.
            Ok("?") => println!("{:?}", server.served()),
            _ => break,
        }
    }
    println!("{:?}", server.served());
    Ok(())
}
