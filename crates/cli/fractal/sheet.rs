//! `fdconvert fractal sheet`.
use super::{args::SheetArgs, open_any, write_picture};
use crate::{Outcome, Session, output};
use fdconvert_codec::{Encoder, Filter, JpegOptions, Resizer};
use fdconvert_core::{Codec, Pixels, Result, Shown, Source};
use fdconvert_fractal::FractalSource;
use rayon::prelude::*;
use serde_json::{Map, json};

/// Pixels between images, and around all of them.
const GAP: u32 = 4;

/// Colour of the gap: neither the black of fractals nor the white of contours.
const GAP_COLOR: [u8; 3] = [48, 64, 96];

pub(crate) fn run(args: &SheetArgs, session: &Session) -> Result<Outcome> {
    let source = open_any(&args.source, args.common.quiet || args.common.json, session)?;
    let formula = source.formula();
    let (n_classes, n_instances) = (formula.categories.len() as u64, formula.instances());
    let rows = spread(n_classes, args.rows);
    let columns = spread(n_instances, args.columns);
    let indices: Vec<Vec<u64>> = rows
        .iter()
        .map(|class| columns.iter().map(|instance| class * n_instances + instance).collect())
        .collect();
    let tiles: Result<Vec<Vec<Pixels>>> = indices
        .par_iter()
        .map(|row| row.iter().map(|index| tile(&source, *index, args.tile)).collect())
        .collect();
    let sheet = lay_out(&tiles?, args.tile);
    let picture = Encoder::new().encode(
        &args.out.display().to_string(),
        &sheet,
        Codec::Png,
        &JpegOptions::default(),
        None,
    )?;
    write_picture(&args.out, &picture, args.overwrite)?;
    let keys: Vec<_> = indices.iter().flatten().map(|index| source.key(*index)).collect();
    if args.common.json {
        let mut fields = Map::new();
        fields.insert("out".into(), json!(args.out.display().to_string()));
        fields.insert("rows".into(), json!(rows.len()));
        fields.insert("columns".into(), json!(columns.len()));
        fields.insert("images".into(), json!(keys));
        session.print_json("fractal-sheet", fields)?;
    } else if !args.common.quiet {
        let (n_rows, n_columns) = (rows.len(), columns.len());
        let (first, last) = (keys.first(), keys.last());
        let (first, last) = (first.map_or("", String::as_str), last.map_or("", String::as_str));
        let (n_rows, n_columns) =
            (output::counted(n_rows as u64, "class"), output::counted(n_columns as u64, "image"));
        let (first, last) = (Shown(first), Shown(last));
        let what = format!("{n_rows} by {n_columns}, {first} to {last}");
        session.print(&format!("wrote {}: {what}\n", output::path(&args.out)))?;
    }
    Ok(Outcome::Complete)
}

/// Returns up to `wanted` numbers below `n`, evenly spread, including the first and the last.
fn spread(n: u64, wanted: u32) -> Vec<u64> {
    let wanted = u64::from(wanted).min(n).max(1);
    (0..wanted).map(|i| if wanted == 1 { 0 } else { i * (n - 1) / (wanted - 1) }).collect()
}

fn tile(source: &FractalSource, index: u64, side: u32) -> Result<Pixels> {
    let mut data = Vec::new();
    source.rgb_into(index, &mut data)?;
    let size = source.formula().frame.size();
    let pixels = Pixels { width: size, height: size, channels: 3, data };
    if size <= side {
        return Ok(pixels);
    }
    let mut small = Vec::new();
    let key = source.key(index);
    Resizer::new().resize(&key, &pixels, (side, side), Filter::Area, &mut small)?;
    Ok(Pixels { width: side, height: side, channels: 3, data: small })
}

fn lay_out(tiles: &[Vec<Pixels>], side: u32) -> Pixels {
    let n_columns = tiles.first().map_or(0, Vec::len) as u32;
    let width = GAP + n_columns * (side + GAP);
    let height = GAP + tiles.len() as u32 * (side + GAP);
    let mut data = GAP_COLOR.repeat(width as usize * height as usize);
    for (row, tiles) in tiles.iter().enumerate() {
        for (column, tile) in tiles.iter().enumerate() {
            let top = (GAP + row as u32 * (side + GAP)) as usize;
            let left = (GAP + column as u32 * (side + GAP)) as usize;
            let row_bytes = tile.width as usize * 3;
            for (y, line) in tile.data.chunks_exact(row_bytes.max(1)).enumerate() {
                let at = ((top + y) * width as usize + left) * 3;
                if let Some(place) = data.get_mut(at..at + row_bytes) {
                    place.copy_from_slice(line);
                }
            }
        }
    }
    Pixels { width, height, channels: 3, data }
}
