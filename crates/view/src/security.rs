//! Access control: only a browser on this machine with the address of this run.
//!
//! Other programs and pages can reach a port of this machine, too. Two checks stop them: the token
//! in every path, which they cannot know, and the host, which differs if the name of a foreign page
//! was redirected to this machine (DNS rebinding). Content of datasets is never trusted: the
//! headers keep a browser from guessing kinds, running scripts, and showing the page in a frame.
use crate::answer::Failure;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use fdconvert_core::{Error, Result};
use std::io;

/// Headers of every response.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'; base-uri 'none'; \
         form-action 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Length of the token, too long to guess.
const TOKEN_BYTES: usize = 16;

/// Token and hosts for checking requests.
#[derive(Debug)]
pub(crate) struct Guard {
    token: String,
    hosts: [String; 2],
}

impl Guard {
    /// Creates a guard with a new token.
    ///
    /// # Errors
    /// `Io` if the system has no random numbers.
    pub(crate) fn new(port: u16) -> Result<Self> {
        let mut bytes = [0_u8; TOKEN_BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|cause| io::Error::other(cause.to_string()))
            .map_err(Error::io("read", "the random numbers of the system"))?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { token, hosts: ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}")) })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn address(&self) -> String {
        let [host, _] = &self.hosts;
        format!("http://{host}/{}/", self.token)
    }

    /// Refuses requests that do not come from the page.
    pub(crate) fn check(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), Failure> {
        let is_here = |host: &str| self.hosts.iter().any(|here| here.eq_ignore_ascii_case(host));
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let is_one = hosts.next().is_none();
        let authority = uri.authority().is_none_or(|authority| is_here(authority.as_str()));
        if !is_one || !authority || !host.is_some_and(is_here) {
            return Err(Failure::forbidden("asked by another name than 127.0.0.1 or localhost"));
        }
        let token = uri.path().split('/').nth(1).unwrap_or_default();
        if !is_same(token.as_bytes(), self.token.as_bytes()) {
            let what = "this address is not the one that the command printed";
            return Err(Failure::forbidden(what));
        }
        if method != Method::GET && method != Method::HEAD {
            return Err(Failure::method());
        }
        Ok(())
    }
}

/// Compares in constant time, which does not reveal the number of correct bytes.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differ = one.iter().zip(other).fold(0, |differ, (one, other)| differ | (one ^ other));
    one.len() == other.len() && differ == 0
}

pub(crate) fn add_headers(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
