//! Reads numbers and strings from a slice, one after the other, never beyond its end.

use crate::error::Result;
use crate::header::Refuse;

/// A position in a file.
pub struct Cursor<'a> {
    file: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// The beginning of `bytes`; `file` names it in errors.
    pub fn new(file: &'a str, bytes: &'a [u8]) -> Self {
        Self { file, bytes, at: 0 }
    }

    /// A later position in the same bytes.
    pub fn at(file: &'a str, bytes: &'a [u8], at: usize) -> Self {
        Self { file, bytes, at }
    }

    /// Bytes read so far, counted from the start of the slice.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The errors of this file.
    pub fn refuse(&self) -> Refuse<'a> {
        Refuse { file: self.file }
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// The file has fewer bytes left.
    pub fn take(&mut self, count: u64) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        if count > rest.len() as u64 {
            let expected = (self.at as u64).saturating_add(count);
            return Err(self.refuse().cut_off(expected, self.bytes.len() as u64));
        }
        self.at += count as usize;
        Ok(&rest[..count as usize])
    }

    /// The next `N` bytes: a number, little endian, for its `from_le_bytes`.
    ///
    /// # Errors
    /// The file has fewer bytes left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    /// The next four bytes as a number.
    ///
    /// # Errors
    /// The file has fewer bytes left.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// The next eight bytes as a number.
    ///
    /// # Errors
    /// The file has fewer bytes left.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// The next string: a length, then the bytes in UTF-8.
    ///
    /// # Errors
    /// The file has fewer bytes left, or the bytes are not UTF-8.
    pub fn str(&mut self) -> Result<&'a str> {
        let begin = self.at;
        let count = self.u64()?;
        let bytes = self.take(count)?;
        let bad = |error| self.refuse().bad(&format!("string at byte {begin}"), "UTF-8", error);
        std::str::from_utf8(bytes).map_err(bad)
    }

    /// Checks a number of elements that take at least `least_bytes` each. It must fit the rest of the file, so that a
    /// caller may reserve memory for it.
    ///
    /// # Errors
    /// The rest of the file can not hold them.
    pub fn check_count(&self, what: &str, count: u64, least_bytes: u64) -> Result<usize> {
        let rest = (self.bytes.len() - self.at) as u64;
        match count.checked_mul(least_bytes) {
            Some(needed) if needed <= rest => Ok(count as usize),
            _ => {
                let expected = format!("as many as fit the {rest} bytes that are left");
                Err(self.refuse().bad(what, &expected, count))
            }
        }
    }
}
