//! The page: four embedded files, so that the program is one file and needs no other server.
use crate::answer::{Answer, Content, Failure};
use xxhash_rust::xxh3::xxh3_64;

const INDEX: &[u8] = include_bytes!("../web/dist/index.html");
const SCRIPT: &[u8] = include_bytes!("../web/dist/app.js");
const STYLE: &[u8] = include_bytes!("../web/dist/app.css");
const ICON: &[u8] = include_bytes!("../web/dist/icon.svg");

pub(crate) fn index() -> Result<Answer, Failure> {
    Ok(embedded(Content::Html, INDEX))
}

pub(crate) fn script() -> Result<Answer, Failure> {
    Ok(embedded(Content::Script, SCRIPT))
}

pub(crate) fn style() -> Result<Answer, Failure> {
    Ok(embedded(Content::Style, STYLE))
}

pub(crate) fn icon() -> Result<Answer, Failure> {
    Ok(embedded(Content::Icon, ICON))
}

fn embedded(content: Content, bytes: &'static [u8]) -> Answer {
    let tag = format!("\"{:016x}\"", xxh3_64(bytes));
    Answer::new(content, bytes).tagged(tag)
}
