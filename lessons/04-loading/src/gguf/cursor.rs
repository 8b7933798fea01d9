//! Reading numbers and strings from a slice, one after the other, never beyond its end.

use super::bad;
use crate::error::{LoadError, Result};

/// A place in a file.
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

    /// A later place in the same bytes.
    pub fn at(file: &'a str, bytes: &'a [u8], at: usize) -> Self {
        Self { file, bytes, at }
    }

    /// Bytes read so far, counted from the start of the slice.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The file's name, for errors.
    pub fn file(&self) -> &'a str {
        self.file
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// [`LoadError::CutOff`] when there are fewer.
    pub fn take(&mut self, count: u64) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        if count > rest.len() as u64 {
            return Err(LoadError::CutOff {
                file: self.file.into(),
                expected_bytes: (self.at as u64).saturating_add(count),
                found_bytes: self.bytes.len() as u64,
            });
        }
        self.at += count as usize;
        Ok(&rest[..count as usize])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    /// One byte.
    ///
    /// # Errors
    /// The file ends here.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes, little endian.
    ///
    /// # Errors
    /// The file ends here.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Four bytes, little endian.
    ///
    /// # Errors
    /// The file ends here.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes, little endian.
    ///
    /// # Errors
    /// The file ends here.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A length and as many bytes of UTF-8.
    ///
    /// # Errors
    /// The file ends here, or the bytes are no UTF-8.
    pub fn str(&mut self) -> Result<&'a str> {
        let begin = self.at;
        let count = self.u64()?;
        let bytes = self.take(count)?;
        std::str::from_utf8(bytes).map_err(|error| bad(self.file, &format!("string at byte {begin}"), "UTF-8", error))
    }

    /// A number of things that take at least `least_bytes` each: refused when the rest of the file can not hold them, so
    /// that nobody reserves memory for a number that somebody made up.
    ///
    /// # Errors
    /// [`LoadError::BadHeader`] then.
    pub fn check_count(&self, what: &str, count: u64, least_bytes: u64) -> Result<usize> {
        let rest = (self.bytes.len() - self.at) as u64;
        match count.checked_mul(least_bytes) {
            Some(needed) if needed <= rest => Ok(count as usize),
            _ => Err(bad(
                self.file,
                what,
                &format!("as many as fit the {rest} bytes that are left"),
                count,
            )),
        }
    }
}
