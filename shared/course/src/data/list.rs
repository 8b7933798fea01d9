//! `cargo course data list`.

use lab::number;
use lab::term::Tone;

use crate::data::{Manifest, Models};
use crate::page::Page;
use crate::tools::Course;

/// Tracked files with size, licence and origin, then the optional models and whether they are here.
pub fn render(course: &Course, manifest: &Manifest, models: &Models, page: &Page) -> String {
    let mut out = page.paint(Tone::Strong, "Tracked files\n");
    for file in &manifest.files {
        out += &format!(
            "data/{}  {}\n",
            file.path,
            page.paint(Tone::Dim, &number::bytes(file.bytes))
        );
        out += &page.indented(&format!("{}; {}", file.licence, file.origin), 4);
    }
    let total: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    out += &format!(
        "In all {}. Check them: cargo course data verify\n\n",
        number::bytes(total)
    );
    out += &page.paint(Tone::Strong, "Optional models\n");
    for model in &models.models {
        let state = if model.is_here(course) {
            format!("here, in data/models/{}", model.name)
        } else {
            "not here".to_owned()
        };
        out += &format!("{}  {}\n", model.name, page.paint(Tone::Dim, &state));
        out += &page.indented(&format!("{}; {}; {}", model.title, model.licence, model.origin), 4);
        let sizes = format!(
            "{} to fetch, {} on the disk",
            number::bytes(model.download_bytes),
            number::bytes(model.gguf_bytes + model.folder_bytes),
        );
        out += &page.indented(&sizes, 4);
        out += &format!("    cargo course data get {}\n", model.name);
    }
    out
}
