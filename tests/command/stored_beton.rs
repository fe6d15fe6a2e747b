//! Betons in stores.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::{
    common,
    stored::{Stage, dynamic, pack},
};
use fdconvert_testkit::{compare, server::Faults};
use std::path::Path;

/// With any data before and after it, and any length.
#[test]
fn every_layout_has_the_bytes_that_it_has_on_a_disk() {
    let stage = Stage::new(Faults::default());
    let photos = stage.path("photos");
    common::ok(&[&"sample", &photos]);
    // Rows of more than one part.
    let many = Path::new("fractal:fractaldb?classes=100&instances=3000&size=13");
    let layouts: [(&Path, &str); 8] = [
        (&photos, "--compact"),
        (&photos, "--page-size 2MiB"),
        (&photos, "--page-size 2MiB --encode raw"),
        (&photos, "--page-size 4MiB --encode raw"),
        (&photos, "--compact --page-size 2MiB --encode raw"),
        (&photos, "--compat ffcv --encode raw"),
        (&photos, "--compat ffcv --encode jpeg --page-size 2MiB"),
        (many, "--encode raw --compact --page-size 2MiB"),
    ];
    for (number, (source, options)) in layouts.into_iter().enumerate() {
        let options: Vec<_> = options.split(' ').collect();
        let here = stage.path(&format!("{number}.beton"));
        common::ok(&dynamic(&pack(source, here.to_str().unwrap(), "beton", &options)));
        let url = format!("s3://bucket/{number}.beton");
        stage.ok(&dynamic(&pack(source, &url, "beton", &options)));
        let there = stage.bucket().join(format!("{number}.beton"));
        assert!(compare::tree(&there) == compare::tree(&here), "{options:?}");
    }
    assert_eq!(stage.server.open_uploads(), [] as [String; 0]);
}
