//! `fdconvert pack`.
use crate::{
    Outcome, Session,
    choices::EngineArg,
    common::Common,
    engine, formula,
    listen::Listener,
    output,
    pack_args::PackArgs,
    plan,
    summary::{self, Summary},
};
use fdconvert::{
    Pack, PackOptions, Planned, Prepared,
    plumbing::{Part, Samples},
};
use fdconvert_core::{Error, Kind, OptionValues, Result, Shown};
use std::env;

const UNLOCKED: &str = "files written without a lock, which the file system does not offer: nothing \
                        keeps a second run from writing them at the same time";

pub(crate) fn run(args: &PackArgs, options: &OptionValues, session: &Session) -> Result<Outcome> {
    if args.plan.is_some() {
        refuse_beside_plan(&args.options.to_options(options))?;
    }
    let (out, sources) = match args.paths.split_last() {
        Some((out, [])) if args.plan.is_some() => (out, &[][..]),
        Some((_, [])) => {
            let what = "name what to pack and, last, what to write: fdconvert pack SOURCE... OUT";
            return Err(Error::usage("output", what));
        }
        Some((_, sources)) if args.plan.is_some() && !sources.is_empty() => {
            return Err(Error::usage("--plan", "the plan names the sources; give only OUT"));
        }
        Some((out, sources)) => (out, sources),
        None => return Err(Error::usage("OUT", "missing argument")),
    };
    if let (Some(EngineArg::Ray), Some(plan)) = (args.engine, &args.plan) {
        return engine::run(args, plan, out);
    }
    let listener = Listener::new(session, args.common.quiet || args.common.json);
    let context = listener.context();
    let samples = match &args.plan {
        Some(file) => {
            let mut planned = Planned::load(file, context)?
                .threads(args.threads)
                .buffer(args.buffer.map(|bytes| bytes.0))
                .on_error(args.on_error.into())
                .max_failures(args.max_failures)
                .overwrite(args.overwrite);
            if let Some(part) = args.part {
                let found = part.find(args.parts, |name| env::var(name).ok())?;
                if let (Some(by), false) = (&found.variables, listener.quiet) {
                    let Part { index, of } = found.part;
                    session.say(&format!("note: part {}/{of}, by {by}", index + 1));
                }
                planned = planned.part(found.part.index, found.part.of);
            }
            planned.prepare(out, args.dry_run)?
        }
        None => {
            let pack = Pack::new(sources, out)
                .options(args.options.to_options(options))
                .dry(args.dry_run)
                .threads(args.threads)
                .buffer(args.buffer.map(|bytes| bytes.0))
                .on_error(args.on_error.into())
                .max_failures(args.max_failures)
                .overwrite(args.overwrite);
            match pack.prepare(context)? {
                Prepared::Samples(samples) => *samples,
                Prepared::Formula(formula) => {
                    return formula::run(args, &formula, context, session);
                }
            }
        }
    };
    if args.dry_run {
        return dry_run(&samples, args.common, session);
    }
    let unlocked = fdconvert_storage::unlocked_files();
    let mut report = samples.run(context)?;
    let unlocked = fdconvert_storage::unlocked_files() - unlocked;
    if unlocked > 0 {
        report.notes.push(("unlocked", UNLOCKED, unlocked));
    }
    let summary = Summary { verb: summary::PACKED, samples: &samples, report: &report };
    summary::print(&summary, args.common, session)
}

/// Refuses options that the plan has fixed: they would be ignored.
fn refuse_beside_plan(given: &PackOptions) -> Result<()> {
    let given = given.given()?;
    let Some(name) = given.keys().next() else { return Ok(()) };
    let what = format!(
        "the plan fixes what shapes the output; give {} to `fdconvert plan`, and leave it out here",
        name.replace('_', "-")
    );
    Err(Error::usage("--plan", what))
}

/// Prints the plan of the run. The output is not opened.
fn dry_run(samples: &Samples, common: Common, session: &Session) -> Result<Outcome> {
    let job = samples.job();
    let (source, plan, format) = (&*job.source, &job.plan, &*job.format);
    let schema = source.schema();
    if common.json {
        session.print_document(&samples.plan_document())?;
        return Ok(Outcome::Complete);
    }
    let mut text = format!(
        "would pack {} of {} into {} ({})\n",
        output::counted(plan.len(), "sample"),
        Shown(source.name()),
        summary::places(samples),
        format.about(),
    );
    text.push_str(&plan::shards_text(plan));
    for field in &schema.fields {
        let classes = match (&field.kind, &field.class_names) {
            (Kind::Int, Some(names)) => {
                format!(", {}", output::counted(names.len() as u64, "class"))
            }
            _ => String::new(),
        };
        text.push_str(&format!(
            "  field    {}: {}{classes}\n",
            Shown(&field.name),
            field.kind.name()
        ));
    }
    text.push_str(&format!("  labels   {}\n", Shown(summary::labels(source))));
    let notes = [&samples.split_notes(), samples.choice_notes()].concat();
    let notes = notes.iter().map(output::remark);
    for note in notes.chain(summary::left_out(source, plan, samples.chosen_away())) {
        text.push_str(&format!("  note     {}\n", Shown(note)));
    }
    if let Some(grid_bits) = job.jpeg_index {
        text.push_str(&format!("  jpeg-index entry points every {grid_bits} bits\n"));
    }
    for (name, value) in job.policy.params().iter().chain(&job.params) {
        text.push_str(&format!("  {name:8} {}\n", Shown(value)));
    }
    session.print(&text)?;
    Ok(Outcome::Complete)
}
