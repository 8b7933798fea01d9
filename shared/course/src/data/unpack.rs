//! One file out of a wheel, which is a zip archive.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};

use crate::error::CourseError;
use crate::tools::Course;

/// Unpacks `member` of `archive` to `out` (by way of a file beside it). Writes at most `bytes`, whatever the archive says.
///
/// # Errors
/// When the archive is damaged, has no such member, or the member has another size; the archive is then removed, so that
/// the next run fetches it anew. Or when `out` can not be written.
pub fn member(course: &Course, archive: &Path, member: &str, bytes: u64, out: &Path) -> Result<(), CourseError> {
    let file = File::open(archive).map_err(CourseError::io(archive, "run this again"))?;
    let damaged = |problem: String| {
        let _ = std::fs::remove_file(archive);
        CourseError::Archive {
            path: course.shown(archive),
            problem,
        }
    };
    let mut zip = zip::ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(error.to_string()))?;
    let entry = zip
        .by_name(member)
        .map_err(|error| damaged(format!("{member}: {error}")))?;
    if entry.size() != bytes {
        return Err(damaged(format!(
            "{member}: expected {bytes} bytes, found {}",
            entry.size()
        )));
    }
    let part = out.with_extension("unpacking");
    let written = copy(entry.take(bytes + 1), &part, bytes);
    match written {
        Ok(found) if found == bytes => {}
        Ok(found) => {
            return Err(damaged(format!("{member}: expected {bytes} bytes, found {found}")));
        }
        Err(CopyError::Read(error)) => return Err(damaged(format!("{member}: {error}"))),
        Err(CopyError::Write(error)) => {
            return Err(CourseError::io(&part, "make room, or check its permissions")(error));
        }
    }
    std::fs::rename(&part, out).map_err(CourseError::io(out, "check its permissions"))
}

enum CopyError {
    Read(std::io::Error),
    Write(std::io::Error),
}

/// Copies with a progress bar (on stderr, on a terminal only); reading and writing fail apart.
fn copy(mut from: impl Read, to: &Path, bytes: u64) -> Result<u64, CopyError> {
    let style = ProgressStyle::with_template("unpacking  {bar:30}  {bytes} of {total_bytes}");
    let bar = ProgressBar::new(bytes).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut file = File::create(to).map_err(CopyError::Write)?;
    let mut buffer = vec![0; 1 << 16];
    let mut total = 0;
    loop {
        let num_bytes = from.read(&mut buffer).map_err(CopyError::Read)?;
        if num_bytes == 0 {
            break;
        }
        file.write_all(&buffer[..num_bytes]).map_err(CopyError::Write)?;
        total += num_bytes as u64;
        bar.set_position(total);
    }
    file.sync_all().map_err(CopyError::Write)?;
    bar.finish_and_clear();
    Ok(total)
}
