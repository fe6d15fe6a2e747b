//! Catches panics of the client inside a request.
//!
//! It panics if a credential, a token or an address makes no valid header or URL. State that the
//! request was changing is dropped with it.
use fdconvert_core::{Error, Result, option};
use object_store::Error as Cause;
use std::io;

const SAID: &str = "no request can be made of what was given for the store; check endpoint, region, \
                    credentials and token for blanks, line breaks and other characters that do not \
                    belong there";

/// Result of a request.
pub(crate) trait Answer {
    fn of_panic() -> Self;
}

impl<T> Answer for Result<T> {
    fn of_panic() -> Self {
        Err(Error::usage(option::STORE_OPTION, SAID))
    }
}

impl<T> Answer for Result<T, Cause> {
    fn of_panic() -> Self {
        Err(Cause::Generic { store: "request", source: SAID.into() })
    }
}

impl<T> Answer for io::Result<T> {
    fn of_panic() -> Self {
        Err(io::Error::other(SAID))
    }
}

impl<A: Answer> Answer for Option<A> {
    fn of_panic() -> Self {
        Some(A::of_panic())
    }
}
