//! The commands besides the story.

use anyhow::{Context, bail};
use lab::args::CommonArgs;
use loading::Dtype;
use loading::bytes::LoadPlan;
use loading::manifest::{FileRecord, Manifest, folder_of};
use serde_json::json;
use std::path::{Path, PathBuf};

/// A plain type by its name on the command line.
pub fn parse_dtype(name: &str) -> Result<Dtype, String> {
    match name {
        "f32" => Ok(Dtype::F32),
        "f16" => Ok(Dtype::F16),
        "bf16" => Ok(Dtype::BF16),
        _ => Err("expected f32, f16 or bf16".into()),
    }
}

/// A plan of loading by its name on the command line.
pub fn parse_plan(name: &str) -> Result<LoadPlan, String> {
    (LoadPlan::ALL.into_iter())
        .find(|plan| plan.name() == name)
        .ok_or_else(|| "expected `whole file`, `one by one` or `mapped`".into())
}

/// `convert`: shows progress on stderr and prints one line (or one JSON document) on stdout.
pub fn convert(args: &CommonArgs, from: &str, folder: &Path, dtype: Option<Dtype>) -> anyhow::Result<()> {
    let start = std::time::Instant::now();
    let model = loading::open(from)?;
    let bar = indicatif::ProgressBar::new(model.weights.names().len() as u64);
    let done = loading::convert::convert(&model, folder, dtype, &mut |tensors, _| {
        bar.set_position(tensors as u64);
    })?;
    bar.finish_and_clear();
    let seconds = start.elapsed().as_secs_f64();
    if args.json {
        let json = json!({
            "from": from, "folder": folder, "dtype": done.dtype, "tensors": done.num_tensors,
            "stored_bytes": done.stored_bytes, "written_bytes": done.written_bytes, "seconds": seconds,
        });
        lab::outln!("{json:#}");
    } else {
        lab::outln!(
            "{}: {} tensors, {} MB stored, {} MB written as {} in {seconds:.1} s",
            folder.display(),
            done.num_tensors,
            done.stored_bytes / 1_000_000,
            done.written_bytes / 1_000_000,
            done.dtype,
        );
    }
    Ok(())
}

/// `verify FILE --sha256 HEX`: compares one file with a digest.
pub fn verify_file(args: &CommonArgs, file: &Path, sha256: &str) -> anyhow::Result<()> {
    let result = loading::manifest::verify_file(file, sha256);
    if args.json {
        let error = result.as_ref().err().map(ToString::to_string);
        lab::outln!("{:#}", json!({"file": file, "ok": error.is_none(), "error": error}));
    } else if result.is_ok() {
        lab::outln!("{}: sha256 as expected", file.display());
    }
    Ok(result?)
}

/// `verify`: prints the result for every file of the manifest, then the verdict.
pub fn verify(args: &CommonArgs, manifest: Option<PathBuf>) -> anyhow::Result<()> {
    let path = manifest.unwrap_or_else(default_manifest);
    let manifest = Manifest::read(&path)?;
    let folder = folder_of(&path);
    let mut bad = 0;
    let mut rows = Vec::new();
    for record in &manifest.files {
        let error = Manifest::verify(record, &folder).err().map(|error| error.to_string());
        bad += usize::from(error.is_some());
        if !args.json {
            match &error {
                None => lab::outln!("ok   {} ({} bytes)", record.path, record.bytes),
                Some(error) => lab::outln!("BAD  {error}"),
            }
        }
        rows.push(json!({"path": record.path, "ok": error.is_none(), "error": error}));
    }
    let num_files = manifest.files.len();
    if args.json {
        lab::outln!("{:#}", json!({"schema": 1, "files": rows, "bad": bad}));
    }
    if bad > 0 {
        bail!("{bad} of {num_files} files are not as recorded; see above what to do about each");
    }
    if !args.json {
        lab::outln!("{num_files} files, all as recorded in {}", path.display());
    }
    Ok(())
}

/// A file to add to the manifest.
pub struct Addition {
    /// Path relative to the manifest's folder.
    pub path: String,
    /// SPDX name of the licence.
    pub licence: String,
    /// Source of the file.
    pub origin: String,
}

/// `manifest`: prints the manifest, adds a file, or records all files anew.
pub fn manifest(
    args: &CommonArgs,
    manifest: Option<PathBuf>,
    write: bool,
    addition: Option<Addition>,
) -> anyhow::Result<()> {
    let path = manifest.unwrap_or_else(default_manifest);
    let mut manifest = Manifest::read(&path)?;
    let adds = addition.is_some();
    if let Some(Addition { path, licence, origin }) = addition {
        manifest.files.retain(|record| record.path != path);
        manifest.files.push(FileRecord {
            path,
            bytes: 0,
            sha256: String::new(),
            licence,
            origin,
        });
        manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
    }
    if write || adds {
        manifest.refresh(&folder_of(&path))?;
        manifest.write(&path)?;
    }
    if args.json {
        let json = serde_json::to_string_pretty(&manifest).context("manifest as JSON")?;
        lab::outln!("{json}");
        return Ok(());
    }
    for FileRecord {
        path,
        bytes,
        sha256,
        licence,
        origin,
    } in &manifest.files
    {
        lab::outln!("{path}\n    {bytes} bytes, sha256 {sha256}\n    {licence}; {origin}");
    }
    Ok(())
}

fn default_manifest() -> PathBuf {
    lab::paths::data_dir().join("manifest.json")
}
