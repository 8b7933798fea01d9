//! `cargo course pack`: the workbook with all its dependencies, for a room without a network.
//!
//! The kit holds the files that git tracks, the sources of every crate (`cargo vendor`, for the workbook and for the
//! book's builder), a cargo configuration that looks nowhere else, and a page for the teacher. It is made in a folder
//! and then, unless the folder is what was asked for, packed into one `.tar.gz`.

mod sources;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use lab::number;

use crate::error::CourseError;
use crate::tools::{Course, size_of};

/// The folder that stands in the archive.
pub const NAME: &str = "ai-engineering-from-scratch";

/// The page for the room, at the kit's root.
pub const ROOM: &str = "ROOM.md";

const WRITABLE: &str = "the folder must be writable and the disk not full";

/// A kit that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kit {
    /// The archive or the folder.
    pub path: PathBuf,
    /// Number of files of the workbook in it.
    pub files: usize,
    /// Bytes of the archive, or of everything in the folder.
    pub bytes: u64,
}

/// Makes a kit at `out`: a folder with `as_folder`, else an archive. `say` hears what is going on.
///
/// # Errors
/// When something stands at `out` already, git or cargo fail, or a file can not be written. What was made so far is
/// removed, so that half a kit is never taken for a whole one.
pub fn pack(course: &Course, out: &Path, as_folder: bool, say: &mut dyn FnMut(&str)) -> Result<Kit, CourseError> {
    if out.exists() {
        return Err(CourseError::Exists {
            path: course.shown(out),
            action: "move it away, or name another place with --out",
        });
    }
    let parent = out.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(CourseError::io(parent, WRITABLE))?;
    // Beside the result, so that the last step is a rename on the same disk. Removed with everything in it, whatever
    // happens.
    let unfinished = tempfile::tempdir_in(parent).map_err(CourseError::io(parent, WRITABLE))?;
    let kit = unfinished.path().join(NAME);
    let tracked = sources::tracked(course)?;
    say(&format!("copying {} files of the workbook", tracked.len()));
    for file in &tracked {
        let to = kit.join(file);
        let folder = to.parent().unwrap_or(&kit);
        fs::create_dir_all(folder).map_err(CourseError::io(folder, WRITABLE))?;
        fs::copy(course.root.join(file), &to).map_err(CourseError::io(file, WRITABLE))?;
    }
    say("collecting the sources of all crates (this needs the network once)");
    let configuration = sources::vendor(course, &kit)?;
    sources::configure(&kit, &configuration)?;
    let room = include_str!("ROOM.md").replace("{version}", env!("CARGO_PKG_RUST_VERSION"));
    fs::write(kit.join(ROOM), room).map_err(CourseError::io(ROOM, WRITABLE))?;

    let made = if as_folder {
        kit
    } else {
        say("packing");
        let archive = unfinished.path().join("kit.tar.gz");
        compress(&kit, &archive).map_err(CourseError::io(&archive, WRITABLE))?;
        archive
    };
    let bytes = size_of(&made);
    fs::rename(&made, out).map_err(CourseError::io(out, WRITABLE))?;
    Ok(Kit {
        path: out.to_path_buf(),
        files: tracked.len(),
        bytes,
    })
}

/// Where a kit goes when nothing is said.
pub fn default_place(course: &Course, as_folder: bool) -> PathBuf {
    let end = if as_folder { "" } else { ".tar.gz" };
    course.root.join(format!("target/course/pack/{NAME}{end}"))
}

/// What to say when a kit is made.
pub fn told(course: &Course, kit: &Kit) -> String {
    format!(
        "{}: {} files of the workbook and the sources of its crates, {}. {ROOM} inside says how to use it.",
        course.shown(&kit.path),
        kit.files,
        number::bytes(kit.bytes)
    )
}

/// One archive with the folder's name in front of every path. Modes are kept, owners and times are not.
fn compress(kit: &Path, archive: &Path) -> std::io::Result<()> {
    let gzip = GzEncoder::new(File::create(archive)?, Compression::fast());
    let mut tar = tar::Builder::new(gzip);
    tar.mode(tar::HeaderMode::Deterministic);
    tar.append_dir_all(NAME, kit)?;
    tar.into_inner()?.finish()?.sync_all()
}
