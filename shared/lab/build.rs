//! Keeps the compiler's version for the recorded results: a figure without it can not be compared.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    println!(
        "cargo::rustc-env=LAB_RUSTC={}",
        version.as_deref().map_or("unknown", str::trim)
    );
}
