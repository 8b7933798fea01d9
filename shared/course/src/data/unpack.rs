//! One file out of a wheel, which is a zip archive.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use crate::error::CourseError;
use crate::tools::Course;

/// Unpacks `member` of `archive` to `out` (by way of a file beside it). Reads at most `bytes`, whatever the archive
/// says.
///
/// # Errors
/// When the archive is damaged, has no such member, or the member has another size; the archive is then removed, so
/// that the next run fetches it anew. Or when `out` can not be written.
pub fn member(course: &Course, archive: &Path, member: &str, bytes: u64, out: &Path) -> Result<(), CourseError> {
    let file = File::open(archive).map_err(CourseError::io(archive, "run this again"))?;
    let content = read(BufReader::new(file), member, bytes).map_err(|problem| {
        let _ = std::fs::remove_file(archive);
        CourseError::Archive {
            path: course.shown(archive),
            problem,
        }
    })?;
    let part = out.with_extension("unpacking");
    std::fs::write(&part, content)
        .and_then(|()| std::fs::rename(&part, out))
        .map_err(CourseError::io(&part, "make room, or check its permissions"))
}

fn read(archive: BufReader<File>, member: &str, bytes: u64) -> Result<Vec<u8>, String> {
    let mut zip = zip::ZipArchive::new(archive).map_err(|error| error.to_string())?;
    let entry = zip.by_name(member).map_err(|error| format!("{member}: {error}"))?;
    let wrong = |found: u64| format!("{member}: expected {bytes} bytes, found {found}");
    if entry.size() != bytes {
        return Err(wrong(entry.size()));
    }
    let mut content = Vec::new();
    let read = entry.take(bytes + 1).read_to_end(&mut content);
    match read.map_err(|error| format!("{member}: {error}"))? as u64 {
        found if found == bytes => Ok(content),
        found => Err(wrong(found)),
    }
}
