//! The records of a PAX header: `LENGTH KEY=VALUE` and a newline, where the length counts the whole
//! record, including its own digits.

/// Yields the records in order, or an error for the first invalid one.
pub(super) struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Records<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn take(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let n_digits = self.rest.iter().take(20).position(|&byte| byte == b' ')?;
        let (digits, _) = self.rest.split_at_checked(n_digits)?;
        let len = usize::try_from(number(digits).ok()?).ok()?;
        let (record, rest) = self.rest.split_at_checked(len)?;
        let record = record.get(n_digits + 1..)?.strip_suffix(b"\n")?;
        let equals = record.iter().position(|&byte| byte == b'=')?;
        let (key, value) = (record.get(..equals)?, record.get(equals + 1..)?);
        self.rest = rest;
        (!key.is_empty()).then_some((key, value))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<(&'a [u8], &'a [u8]), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let record = self.take();
        if record.is_none() {
            self.rest = &[];
        }
        Some(record.ok_or_else(|| "a PAX header with a malformed record".to_owned()))
    }
}

/// Parses decimal digits only.
pub(super) fn number(digits: &[u8]) -> Result<u64, String> {
    let malformed = || format!("a PAX header with the number `{}`", digits.escape_ascii());
    if digits.is_empty() {
        return Err(malformed());
    }
    digits.iter().try_fold(0_u64, |value, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
        digit.and_then(|digit| value.checked_mul(10)?.checked_add(digit)).ok_or_else(malformed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_their_absence() {
        let check = |bytes: &[u8], expected: Option<&[(&[u8], &[u8])]>| {
            let found: Result<Vec<_>, _> = Records::new(bytes).collect();
            assert_eq!(found.ok().as_deref(), expected, "{}", bytes.escape_ascii());
        };
        check(b"", Some(&[]));
        check(b"6 a=b\n9 bc=\n=\n\n", Some(&[(b"a", b"b"), (b"bc", b"\n=\n")]));
        check(b"5 a=\n", Some(&[(b"a", b"")]));
        for malformed in
            [&b"6 a=b"[..], b"7 a=b\n", b"0 a=b\n", b"5 ab\n", b"a=b\n", b" a=b\n", b"4 =\n", b"\0"]
        {
            check(malformed, None);
        }
        check(b"99999999999999999999 a=b\n", None);
        check(b"6 a=b\n\0\0", None);
    }
}
