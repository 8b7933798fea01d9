//! A real kit: packed, unpacked elsewhere, and built there with no registry at all (an empty `CARGO_HOME`). Run by the
//! gate: `cargo test -p course --test kit`. It compiles the course once more, so it is no part of a plain `cargo test`.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use course::pack;
use course::tools::Course;
use flate2::read::GzDecoder;

fn main() {
    let course = Course::from_env();
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| course.root.join("target"), PathBuf::from);
    let archive = target.join("kit/kit.tar.gz");
    let _ = fs::remove_file(&archive);
    let kit = pack::pack(&course, &archive, false, &mut |line| println!("{line}"));
    let kit = kit.unwrap_or_else(|error| panic!("{error}"));
    println!("{}", pack::told(&course, &kit));

    // Outside of the repository: no configuration above it may help.
    let elsewhere = tempfile::tempdir().unwrap();
    let packed = GzDecoder::new(File::open(&archive).unwrap());
    tar::Archive::new(packed).unpack(elsewhere.path()).unwrap();
    let room = Room {
        root: elsewhere.path().join(pack::NAME),
        cargo_home: elsewhere.path().join("no-registry"),
        target: target.join("kit/target"),
    };
    fs::create_dir(&room.cargo_home).unwrap();

    room.cargo("run --quiet --offline --frozen -p course -- list");
    room.cargo("run --quiet --offline --frozen -p course -- start 05");
    // Every crate of the book's builder and of the learner's workspace is there, in the version that is asked for.
    room.cargo("metadata --quiet --offline --frozen --format-version 1 --manifest-path book/builder/Cargo.toml");
    room.cargo("metadata --quiet --offline --format-version 1 --manifest-path work/Cargo.toml");
    println!("the kit builds without a registry");
}

/// A machine in a room without a network.
struct Room {
    root: PathBuf,
    cargo_home: PathBuf,
    target: PathBuf,
}

impl Room {
    fn cargo(&self, words: &str) {
        println!("$ cargo {words}");
        let mut command = Command::new("cargo");
        command.args(words.split(' ')).current_dir(&self.root);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CARGO") {
                command.env_remove(name);
            }
        }
        // Not optimised: it is built to see that it builds.
        command
            .env("CARGO_HOME", &self.cargo_home)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
        let output = command.stdin(Stdio::null()).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo {words}: {errors}");
    }
}
