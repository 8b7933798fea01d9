//! Programs that `cargo course` starts and waits for. Each has a limit of time and of output, and none outlives
//! `cargo course`: Ctrl-C, a closed terminal or a request to end (SIGTERM) ends the running programs first.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Largest output of a program with learner's code, in bytes.
pub const MOST_OUTPUT: usize = 1 << 20;

/// The programs that run now: process id, and whether it leads a process group of its own.
static RUNNING: Mutex<BTreeMap<u32, bool>> = Mutex::new(BTreeMap::new());
static STOPPED: AtomicBool = AtomicBool::new(false);

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// By itself.
    Exited(ExitStatus),
    /// It was ended at its limit of time.
    Late,
    /// It was ended because it printed more than [`MOST_OUTPUT`].
    TooMuchOutput,
}

/// A program that ended, and what it printed.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// How it ended.
    pub how: How,
}

/// Ends the running programs when `cargo course` is asked to end. With `goes_on` the process itself goes on, and
/// [`is_stopped`] says that it was asked.
pub fn end_with_us(goes_on: bool) {
    static GOES_ON: AtomicBool = AtomicBool::new(false);
    GOES_ON.store(goes_on, Ordering::SeqCst);
    // A second call changes the flag only. Where no handler can be set, a signal ends this process alone.
    let _ = ctrlc::set_handler(|| {
        STOPPED.store(true, Ordering::SeqCst);
        // Held until the end, so that no program starts in between.
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        for (&id, &is_group) in running.iter() {
            end(id, is_group);
        }
        if !GOES_ON.load(Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
}

/// Whether `cargo course` was asked to end.
pub fn is_stopped() -> bool {
    STOPPED.load(Ordering::SeqCst)
}

/// A group is ended at once, with all programs that its leader started; a program that shares the terminal may tidy up.
#[cfg(unix)]
fn end(id: u32, is_group: bool) {
    use nix::sys::signal::{Signal, kill, killpg};
    let id = nix::unistd::Pid::from_raw(i32::try_from(id).unwrap_or(i32::MAX));
    let _ = if is_group {
        killpg(id, Signal::SIGKILL)
    } else {
        kill(id, Signal::SIGTERM)
    };
}

#[cfg(not(unix))]
fn end(_: u32, _: bool) {}

fn start(command: &mut Command, is_group: bool) -> io::Result<Child> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if is_stopped() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    #[cfg(unix)]
    if is_group {
        std::os::unix::process::CommandExt::process_group(command, 0);
    }
    let child = command.spawn()?;
    running.insert(child.id(), is_group);
    Ok(child)
}

fn forget(child: &Child) {
    RUNNING
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(&child.id());
}

/// Waits, at most until `limit`. `None`: the limit came first, and the program was ended.
fn wait(child: &mut Child, limit: Option<Duration>, is_enough: impl Fn() -> bool) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if limit.is_some_and(|limit| began.elapsed() > limit) || is_enough() {
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Runs a program with learner's code: without input, in a process group of its own, with its output kept.
///
/// # Errors
/// When it can not be started, or `cargo course` was asked to end.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Ended> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = start(command, true)?;
    let size = Arc::new(AtomicUsize::new(0));
    let (stdout, stderr) = (collect(child.stdout.take(), &size), collect(child.stderr.take(), &size));
    let is_too_much = || size.load(Ordering::Relaxed) > MOST_OUTPUT;
    // A program whose output is not read would wait for ever.
    let is_unread = stdout.is_err() || stderr.is_err();
    let status = wait(&mut child, Some(limit), || is_unread || is_too_much());
    // Also after an end of its own: what it started and left behind would hold the pipes open.
    end(child.id(), true);
    let _ = child.kill();
    let _ = child.wait();
    forget(&child);
    if is_stopped() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let (stdout, stderr) = (stdout?, stderr?);
    let how = match status? {
        // Also for one that ended before this was seen.
        _ if is_too_much() => How::TooMuchOutput,
        Some(status) => How::Exited(status),
        None => How::Late,
    };
    let text = |reader: JoinHandle<String>| reader.join().unwrap_or_default();
    Ok(Ended {
        stdout: text(stdout),
        stderr: text(stderr),
        how,
    })
}

/// Runs a program on the reader's terminal. `None`: it did not end within `limit`.
pub fn run_shown(command: &mut Command, limit: Option<Duration>) -> io::Result<Option<ExitStatus>> {
    let mut child = start(command, false)?;
    let status = wait(&mut child, limit, || false);
    if !matches!(status, Ok(Some(_))) {
        let _ = child.kill();
        let _ = child.wait();
    }
    forget(&child);
    status
}

/// Runs cargo, whose standard output is kept; standard error goes where `command` says.
pub fn output(command: &mut Command) -> io::Result<std::process::Output> {
    let child = start(command.stdin(Stdio::null()).stdout(Stdio::piped()), false)?;
    let id = child.id();
    let output = child.wait_with_output();
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    output
}

/// Reads until the end, and keeps what is within the limit.
///
/// # Errors
/// When the system refuses the thread that reads.
fn collect(from: Option<impl Read + Send + 'static>, size: &Arc<AtomicUsize>) -> io::Result<JoinHandle<String>> {
    let size = Arc::clone(size);
    thread::Builder::new().spawn(move || {
        let mut kept = Vec::new();
        let mut bytes = [0; 8192];
        let Some(mut from) = from else { return String::new() };
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            if size.fetch_add(length, Ordering::Relaxed) <= MOST_OUTPUT {
                kept.extend_from_slice(&bytes[..length]);
            }
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}
