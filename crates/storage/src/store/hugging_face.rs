//! Datasets of Hugging Face: reads files by plain HTTP, and lists them by its API
//! (<https://huggingface.co/docs/hub/api>).
use crate::os;
use crate::place::Kind;
use crate::store::{
    client::Client,
    count,
    location::{Base, Location},
};
use fdconvert_core::{Error, Result};
use futures_util::TryFutureExt as _;
use http::{HeaderMap, HeaderValue, header};
use object_store::ClientOptions;
use serde::Deserialize;
use std::{env, fs, io, path::PathBuf};

/// Address of Hugging Face, unless `HF_ENDPOINT` is set.
const ENDPOINT: &str = "https://huggingface.co";
/// Maximum number of pages of a list, with a thousand names each.
const MAX_PAGES: usize = 10_000;

#[derive(Deserialize)]
struct Listed {
    r#type: String,
    path: String,
}

pub(crate) fn endpoint() -> String {
    let set = env::var("HF_ENDPOINT").ok().filter(|url| !url.is_empty());
    set.map_or_else(|| ENDPOINT.to_owned(), |url| url.trim_end_matches('/').to_owned())
}

/// The base URL of a repository's files.
pub(crate) fn files(base: &Base) -> String {
    let Base::Repository { name, revision } = base else { return String::new() };
    format!("{}/datasets/{name}/resolve/{}", endpoint(), revision.replace('/', "%2F"))
}

/// Adds the user's token to the client options, if there is one.
pub(crate) fn authorised(client: ClientOptions) -> ClientOptions {
    match headers() {
        Some(headers) => client.with_default_headers(headers),
        None => client,
    }
}

fn headers() -> Option<HeaderMap> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token()?)).ok()?;
    value.set_sensitive(true);
    Some(HeaderMap::from_iter([(header::AUTHORIZATION, value)]))
}

/// Finds the token like Hugging Face's own library.
fn token() -> Option<String> {
    let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let file = || {
        let home = || Some(PathBuf::from(variable(os::HOME)?).join(".cache/huggingface"));
        let path = match variable("HF_TOKEN_PATH") {
            Some(path) => path.into(),
            None => variable("HF_HOME").map(PathBuf::from).or_else(home)?.join("token"),
        };
        fs::read_to_string(path).ok()
    };
    variable("HF_TOKEN").or_else(file).map(|token| token.trim().to_owned())
}

/// Lists a folder of a repository; empty if it is missing.
pub(crate) fn list(location: &Location) -> Result<Vec<(PathBuf, Kind)>> {
    let Base::Repository { name, revision } = &location.base else { return Ok(Vec::new()) };
    let revision = revision.replace('/', "%2F");
    let first = format!("{}/api/datasets/{name}/tree/{revision}/{}", endpoint(), location.key);
    let client = Client::of(location)?;
    let failed = |cause: io::Error| Error::io("list", &location.path)(cause);
    let requests = reqwest::Client::builder()
        .default_headers(headers().unwrap_or_default())
        .build()
        .map_err(|cause| failed(io::Error::other(cause)))?;
    let (mut entries, mut next) = (Vec::new(), Some(first));
    for _ in 0..MAX_PAGES {
        let Some(url) = next.take() else { break };
        count::request();
        let answer = async {
            let answer = requests.get(&url).send().await?;
            if answer.status() == http::StatusCode::NOT_FOUND {
                return Ok(None);
            }
            let answer = answer.error_for_status()?;
            let following = following(answer.headers());
            Ok(Some((following, answer.bytes().await?)))
        };
        let answer = answer.map_err(|cause: reqwest::Error| failed(io::Error::other(cause)));
        let answer = client.open(location, answer)?;
        let Some((following, text)) = answer else { break };
        let listed: Vec<Listed> =
            serde_json::from_slice(&text).map_err(|cause| failed(io::Error::other(cause)))?;
        entries.extend(listed.into_iter().filter_map(|listed| entry(location, listed)));
        next = following;
    }
    Ok(entries)
}

fn entry(location: &Location, listed: Listed) -> Option<(PathBuf, Kind)> {
    let name = listed.path.rsplit('/').next().filter(|name| !name.is_empty())?;
    let found = match listed.r#type.as_str() {
        "directory" => Kind::Folder,
        _ => Kind::File,
    };
    Some((location.path.join(name), found))
}

/// The URL of the next page, from the header `Link`.
fn following(headers: &HeaderMap) -> Option<String> {
    let link = headers.get(header::LINK)?.to_str().ok()?;
    let part = link.split(',').find(|part| part.contains("rel=\"next\""))?;
    let (_, url) = part.split_once('<')?;
    Some(url.split_once('>')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found() {
        let link = |text: &'static str| {
            following(&HeaderMap::from_iter([(header::LINK, HeaderValue::from_static(text))]))
        };
        assert_eq!(link("<https://h/a?cursor=b>; rel=\"next\"").unwrap(), "https://h/a?cursor=b");
        assert_eq!(link("<https://h/a>; rel=\"prev\""), None);
    }
}
