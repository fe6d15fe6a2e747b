//! Writes a `.beton` again: `repack IN OUT [compact|compat=ffcv|page-size=N ...]`.
//!
//! Good for giving a file of FFCV checksums, or for comparing with FFCV.
use fdconvert_beton::Beton;
use fdconvert_core::{Create, Format, OptionValues, Provenance, Result, Shard};
use std::{collections::BTreeMap, path::Path};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, options @ ..] = &arguments[..] else {
        return Err(fdconvert_core::Error::usage("usage", "repack IN OUT [OPTION[=VALUE] ...]"));
    };
    let options = options.iter().map(|option| option.split_once('=').unwrap_or((option, "")));
    let options: BTreeMap<_, _> =
        options.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let format = Beton::default().with_options(&OptionValues(options))?;
    let reader = format.open(Path::new(from))?;
    let n_samples = reader.len();
    let provenance =
        Provenance { tool: "repack".into(), source: reader.name(), ..Provenance::default() };
    let mut writer = format.create(&Create {
        out: Path::new(to),
        schema: reader.schema(),
        shard: &Shard { number: 0, of: 1, samples: 0..n_samples },
        provenance: &provenance,
        fingerprint: reader.fingerprint(),
        overwrite: true,
    })?;
    for i in writer.resumed()..n_samples {
        writer.write(&reader.get(i)?)?;
    }
    writer.finish()?;
    Ok(())
}
