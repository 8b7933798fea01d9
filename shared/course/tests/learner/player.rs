//! The learner at the keyboard: two clones, one of them "upstream", and what a command printed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The learner's clone, and the repository that it pulls from.
pub struct Player {
    /// The repository of the course's authors.
    pub upstream: PathBuf,
    /// The learner's clone.
    pub home: PathBuf,
    target: PathBuf,
}

/// What a command did.
pub struct Ran {
    /// Its exit status.
    pub status: i32,
    /// What it printed, errors first.
    pub text: String,
    /// Whether it is for people, and so fits 80 columns.
    is_page: bool,
}

impl Player {
    /// Clones twice, always to the same folder, so that a second run leaves no second copy in the target folder. The
    /// clone has a target folder of its own: cargo names what it builds by a package's place *within* its workspace, so
    /// two clones that share one would take each other's programs for their own, and this clone's are changed on
    /// purpose.
    pub fn new() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let target = std::env::var_os("CARGO_TARGET_DIR");
        let target = target.map_or_else(|| root.join("target"), PathBuf::from);
        let folder = target.join("learner");
        fs::create_dir_all(&folder).unwrap();
        let player = Self {
            upstream: folder.join("upstream"),
            home: folder.join("home"),
            target: folder.join("target"),
        };
        clone(root, &player.upstream);
        clone(&player.upstream, &player.home);
        player
    }

    /// `cargo course …` in the learner's clone, on a pipe.
    pub fn course(&self, words: &str) -> Ran {
        self.course_in("", words)
    }

    /// The same in a folder of the clone.
    pub fn course_in(&self, folder: &str, words: &str) -> Ran {
        println!("{folder}$ cargo course {words}");
        let mut command = Command::new("cargo");
        command
            .arg("course")
            .args(words.split(' '))
            .current_dir(self.home.join(folder));
        self.clean(&mut command);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = [output.stderr, output.stdout]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .concat();
        Ran {
            status: output.status.code().unwrap_or(-1),
            text,
            is_page: !words.contains("--json") && !words.starts_with("report"),
        }
    }

    /// What `cargo test` sets for this very program is not for the commands that a learner types.
    pub fn clean(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("CARGO") && name != "CARGO_HOME" || name.starts_with("INSTA") {
                command.env_remove(name);
            }
        }
        command
            .env("CARGO_TARGET_DIR", &self.target)
            // Half the time to build. The time that is printed for a check is therefore less than a learner waits.
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
            .env("CARGO_TERM_COLOR", "never");
    }

    /// The text of a file in the learner's clone.
    pub fn read(&self, path: &str) -> String {
        let path = self.home.join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Replaces `old`, which must stand there once, in a file of the learner's clone.
    pub fn edit(&self, path: &str, old: &str, new: &str) {
        replace(&self.home.join(path), old, new);
    }

    /// The authors change a file, and the learner updates.
    pub fn update(&self, changes: &[(&str, &str, &str)], message: &str) {
        for (path, old, new) in changes {
            replace(&self.upstream.join(path), old, new);
        }
        let author = ["-c", "user.name=Author", "-c", "user.email=author@example.org"];
        git(
            &self.upstream,
            &[&author[..], &["commit", "--quiet", "-a", "-m", message]].concat(),
        );
        git(&self.home, &["pull", "--quiet", "--ff-only", "origin", "course"]);
    }

    /// What git says of the learner's clone: nothing, as long as all work is in `work`.
    pub fn git_status(&self) -> String {
        git(&self.home, &["status", "--porcelain"])
    }
}

impl Ran {
    /// The status, and words that must be there wherever the lines break.
    #[track_caller]
    pub fn expect(&self, status: i32, words: &[&str]) -> &Self {
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = flat(&self.text);
        assert_eq!(self.status, status, "status; it printed:\n{}", self.text);
        for word in words {
            assert!(text.contains(&flat(word)), "{word:?} is not in:\n{}", self.text);
        }
        assert!(!self.text.contains('\x1b'), "colours on a pipe:\n{}", self.text);
        // What the compiler draws keeps its own columns.
        let is_drawn = |line: &str| {
            line.trim_start()
                .starts_with(|c: char| "|=-.".contains(c) || c.is_ascii_digit())
        };
        let ours = |line: &&str| self.is_page && !is_of_cargo(line) && !is_drawn(line);
        for line in self.text.lines().filter(ours) {
            assert!(lab::term::width(line) <= 80, "wider than 80 columns: {line}");
        }
        self
    }

    /// Words that must not be there.
    #[track_caller]
    pub fn without(&self, words: &[&str]) -> &Self {
        for word in words {
            assert!(!self.text.contains(word), "{word:?} is in:\n{}", self.text);
        }
        self
    }
}

/// A clone of the last commit of `from`, with nothing else in it. One that an earlier run left is made equal to a new
/// one; files that are the same keep their times, and what was built from them is not built again.
fn clone(from: &Path, to: &Path) {
    let from = from.display().to_string();
    if !to.join(".git").is_dir() {
        let folder = to.parent().unwrap();
        git(folder, &["clone", "--quiet", &from, &to.display().to_string()]);
        git(to, &["checkout", "--quiet", "-B", "course", "--track", "origin/HEAD"]);
        return;
    }
    git(to, &["fetch", "--quiet", "origin", "HEAD"]);
    git(to, &["checkout", "--quiet", "--force", "-B", "course", "FETCH_HEAD"]);
    git(to, &["clean", "--quiet", "-ffdx"]);
}

fn replace(path: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text.matches(old).count(), 1, "{old:?} in {}:\n{text}", path.display());
    fs::write(path, text.replace(old, new)).unwrap();
}

fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git").current_dir(folder).args(words).output().unwrap();
    assert!(
        output.status.success(),
        "git {words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether cargo says how far its build is: as wide as the folder's path, which is not ours.
fn is_of_cargo(line: &str) -> bool {
    let verb = line.split_whitespace().next().unwrap_or_default();
    line.starts_with("   ") && matches!(verb, "Compiling" | "Blocking" | "Finished" | "Locking" | "Adding")
}
