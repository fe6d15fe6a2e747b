//! Checks parts of a store's address before the first request: the client panics on an invalid URL.
use fdconvert_core::{Error, Result, option};
use url::Url;

/// Characters in names of buckets and containers, besides letters and digits: `:` separates tenant
/// and bucket in Ceph, `$` starts the names of containers that Azure makes.
const IN_NAMES: &str = "-_.:$";

/// Returns true if a bucket or container in any store can have this name.
pub(crate) fn is_name(name: &str) -> bool {
    name.chars().all(|char| char.is_ascii_alphanumeric() || IN_NAMES.contains(char))
}

/// Refuses an endpoint that is not the URL of a server.
pub(crate) fn check_endpoint(endpoint: &str) -> Result<()> {
    if is_url(endpoint) {
        return Ok(());
    }
    let cure = match format!("http://{endpoint}") {
        url if !endpoint.contains("://") && is_url(&url) => format!("write {url}, or https://"),
        _ => "it is http:// or https://, a host, and its port if it has one".to_owned(),
    };
    let what = format!("the endpoint of the store, `{endpoint}`, is not a URL: {cure}");
    Err(Error::usage(option::STORE_OPTION, what))
}

/// Refuses a region that cannot be part of a host name.
pub(crate) fn check_region(region: &str) -> Result<()> {
    if region.chars().all(|char| char.is_ascii_alphanumeric() || "-_".contains(char)) {
        return Ok(());
    }
    let what = format!("the region of the store, `{}`, is invalid", region.escape_debug());
    Err(Error::usage(option::STORE_OPTION, what))
}

fn is_url(text: &str) -> bool {
    let has_host = |url: Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    Url::parse(text).is_ok_and(has_host) && text.parse::<http::Uri>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_urls_and_the_cure_is_named() {
        for sound in ["http://127.0.0.1:9000", "https://h/path/", "http://[::1]:9000"] {
            assert!(check_endpoint(sound).is_ok(), "{sound}");
        }
        for (wrong, cure) in [
            ("127.0.0.1:9000", "write http://127.0.0.1:9000, or https://"),
            ("minio.local:9000", "write http://minio.local:9000, or https://"),
            ("http://h:99999", "a host, and its port"),
            ("http://my host", "a host, and its port"),
            ("ftp://h", "a host, and its port"),
            ("", "a host, and its port"),
        ] {
            let said = check_endpoint(wrong).unwrap_err().chain();
            assert!(said.contains(cure), "{wrong}: {said}");
        }
    }
}
