//! `fdconvert fractal render`.
use super::{args::RenderArgs, write_picture};
use crate::{Outcome, Session, output};
use fdconvert_codec::{Encoder, JpegOptions};
use fdconvert_core::{Codec, Error, Pixels, Result};
use fdconvert_fractal::{
    Category, ExactSampler, Formula, FractalSource, Frame, MersenneTwister, NO_WEIGHTS, Sampler,
    Shape, weights,
};
use serde_json::{Map, json};

pub(crate) fn run(args: &RenderArgs, session: &Session) -> Result<Outcome> {
    let category = Category::read(&args.category)?;
    let frame = Frame::new(args.size, args.pad, args.points)?;
    let Shape::Ifs(system) = &category.shape else {
        let what = format!(
            "{} is a system of space (13 columns); view it with `fdconvert fractal sheet \
             'fractal:csv?path={}' OUT.png`",
            args.category.display(),
            args.category.display()
        );
        return Err(Error::usage("CATEGORY.csv", what));
    };
    let row = match (args.weight, args.weight_row) {
        (Some(step), Some(row)) => weights(step).get(usize::from(row)).copied(),
        _ => None,
    };
    let weighted = system.weighted(&row.unwrap_or(NO_WEIGHTS));
    let pixels = match args.sampler {
        // The original, including patches: one mask after the other from Python's generator.
        Sampler::FractaldbV1 => {
            let mut masks = MersenneTwister::python(args.seed);
            ExactSampler::new(frame).render(&weighted, args.draw, &mut masks)
        }
        Sampler::MvFractaldbV1 => {
            let what = "mv-fractaldb-v1 draws systems of space, which `fractal sheet` shows";
            return Err(Error::usage("--sampler", what));
        }
        Sampler::Lanes64V1 => {
            let category = Category { name: category.name.clone(), shape: Shape::Ifs(weighted) };
            fast(category, frame, args)?
        }
    };
    let lit = pixels
        .data
        .chunks(usize::from(pixels.channels))
        .filter(|pixel| pixel.iter().any(|value| *value > 0))
        .count();
    let fill = lit as f64 / (f64::from(pixels.width) * f64::from(pixels.height));
    let picture = Encoder::new().encode(
        &args.out.display().to_string(),
        &pixels,
        Codec::Png,
        &JpegOptions::default(),
        None,
    )?;
    write_picture(&args.out, &picture, args.overwrite)?;
    if args.common.json {
        let mut fields = Map::new();
        fields.insert("out".into(), json!(args.out.display().to_string()));
        fields.insert("sampler".into(), json!(args.sampler.name()));
        fields.insert("draw".into(), json!(args.draw.name()));
        fields.insert("size".into(), json!(args.size));
        fields.insert("channels".into(), json!(pixels.channels));
        fields.insert("fill".into(), json!(fill));
        session.print_json("fractal-render", fields)?;
    } else if !args.common.quiet {
        let (size, draw) = (args.size, args.draw.name());
        let what = format!("{size}x{size}, {draw}, {:.2} % lit", fill * 100.0);
        session.print(&format!("wrote {}: {what}\n", output::path(&args.out)))?;
    }
    Ok(Outcome::Complete)
}

/// Returns the image of class 0 and instance 0 of a dataset with only this category.
fn fast(category: Category, frame: Frame, args: &RenderArgs) -> Result<Pixels> {
    let formula = Formula {
        family: "csv".into(),
        categories: vec![category],
        weight: None,
        patches: 1,
        flips: false,
        frame,
        draw: args.draw,
        sampler: args.sampler,
        seed: args.seed.into(),
        min_fill: 0.0,
        turn: 0.0,
        varies: false,
    };
    FractalSource::new(formula, "render")?.pixels(0)
}
