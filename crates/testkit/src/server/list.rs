//! S3's list of objects, version 2, in pages.
use super::http::{Request, Response, modified};
use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

const PAGE: usize = 1000;

pub(super) fn list(root: &Path, request: &Request) -> Response {
    let bucket = root.join(request.path.trim_end_matches('/'));
    if !bucket.is_dir() {
        return Response::plain(404, "NoSuchBucket");
    }
    let get = |name: &str| request.query.get(name).map_or("", String::as_str);
    let (prefix, delimiter) = (get("prefix"), get("delimiter"));
    let after = match get("continuation-token") {
        "" => get("start-after"),
        token => token,
    };
    let page = get("max-keys").parse().unwrap_or(PAGE);
    let mut keys = Vec::new();
    collect(&bucket, &bucket, &mut keys);
    keys.sort_by(|a, b| a.key.cmp(&b.key));
    let (mut text, mut folders, mut n_names) = (String::new(), BTreeSet::new(), 0);
    let (mut next, mut is_cut) = (String::new(), false);
    for Listed { key, len, modified } in &keys {
        let Some(rest) = key.strip_prefix(prefix) else { continue };
        let folder = rest.split_once('/').filter(|_| delimiter == "/");
        let folder = folder.map(|(folder, _)| format!("{prefix}{folder}/"));
        let name = folder.as_ref().unwrap_or(key);
        if name.as_str() <= after || folders.contains(name) {
            continue;
        }
        if n_names == page {
            is_cut = true;
            break;
        }
        n_names += 1;
        next.clone_from(name);
        if let Some(folder) = folder {
            folders.insert(folder);
            continue;
        }
        let key = escape(key);
        let _ = write!(
            text,
            "<Contents><Key>{key}</Key><LastModified>{modified}</LastModified>\
             <ETag>\"x\"</ETag><Size>{len}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        );
    }
    for folder in &folders {
        let _ =
            write!(text, "<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", escape(folder));
    }
    let more = if is_cut {
        format!(
            "<IsTruncated>true</IsTruncated><NextContinuationToken>{}</NextContinuationToken>",
            escape(&next)
        )
    } else {
        "<IsTruncated>false</IsTruncated>".into()
    };
    Response::xml(200, &format!("<ListBucketResult>{more}{text}</ListBucketResult>"))
}

/// An object of a bucket.
struct Listed {
    key: String,
    len: u64,
    modified: String,
}

fn collect(bucket: &Path, folder: &Path, found: &mut Vec<Listed>) {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in entries.collect::<Vec<PathBuf>>() {
        // Another request may have deleted it.
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if metadata.is_dir() {
            collect(bucket, &path, found);
        } else {
            let key = path.strip_prefix(bucket).unwrap().to_str().unwrap().to_owned();
            let modified = modified(&metadata).format("%Y-%m-%dT%H:%M:%S.000Z").to_string();
            found.push(Listed { key, len: metadata.len(), modified });
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
