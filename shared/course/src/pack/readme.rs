//! The page that lies in a kit.

/// For the teacher, and for whoever unpacks it.
pub(super) fn text() -> String {
    format!(
        "# A room without a network

This folder is the workbook with the sources of every crate that it needs. Nothing in it asks the network: `.cargo/config.toml` says that crates
come from `vendor/`, and that cargo is offline.

## What each machine needs besides
Rust {version} with a linker. Without a network take the standalone installer of that version for the machine's system
(`rust-{version}-….tar.xz`, `.pkg` or `.msi`, linked from the page \"Other Rust installation methods\" on rust-lang.org) on the same
stick, and on Linux a C compiler from the distribution. rustup works too where that version is installed already.

## Before the class, on one machine
```text
tar xzf {name}.tar.gz
cd {name}
cargo course doctor
cargo run -p lesson05 -- --no-pause
cargo course start 05
cargo course check 05
```
The first build takes some minutes, the next ones seconds. If all machines have the same system, copy the folder with its `target/`
after this, to the same path: then nobody waits.

## In the room
```text
cargo course list
cargo course start 05
cargo course watch 05
```
Each learner's work lies in `work/`. `cargo course report DIR…` makes one table of several such folders. This copy has no
`.git`: to update it, make a new kit and copy `work/` over.
",
        name = super::NAME,
        version = env!("CARGO_PKG_RUST_VERSION"),
    )
}
