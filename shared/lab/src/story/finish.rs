//! What a story measures and records: races, claims, charts, the document.

use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Claim, Story, Verdict, head};
use crate::chart::Chart;
use crate::race::{Disturbance, Race, RaceResult, WallClock};
use crate::record::{ClaimRecord, Measured};
use crate::term;

impl Story {
    /// Runs a race under a progress bar, shows its table with bars, and records it.
    pub fn race<O>(&mut self, race: Race<'_, O>) -> anyhow::Result<RaceResult> {
        // Drawn between the calls only: a bar that ticks by itself would take time from what is measured.
        let bar = still_bar(race.num_calls() as u64, race.title());
        let result = race.run_with(&mut WallClock::default(), &mut |done, name| {
            bar.set_position(done as u64);
            bar.set_message(name.to_string());
        });
        bar.finish_and_clear();
        let result = result?;
        self.race_result(&result);
        Ok(result)
    }

    /// Shows and records the result of a race that ran elsewhere.
    pub fn race_result(&mut self, result: &RaceResult) {
        self.screen.line("");
        for line in result.lines_painted(&|tone, text| self.screen.paint(tone, text)) {
            self.screen.line(&format!("{}{line}", head::INDENT));
        }
        self.screen.line("");
        self.document.races.push(result.clone());
    }

    /// Records a claim and shows its verdict.
    pub fn claim(&mut self, claim: Claim<'_>) {
        let record = ClaimRecord {
            id: claim.id.into(),
            claimed: claim.claimed.into(),
            measured: Measured {
                value: claim.value.is_finite().then_some(claim.value),
                unit: claim.unit.into(),
            },
            verdict: claim.verdict,
            note: claim.note.into(),
        };
        self.screen.line("");
        head::claim(&mut self.screen, &record);
        self.document.claims.push(record);
    }

    /// [`Story::claim`], unless a sign says that other work disturbed the measurement. Then the story asks the reader
    /// to run it again, and the claim is recorded as not measured.
    pub fn claim_if_quiet(&mut self, claim: Claim<'_>, signs: impl IntoIterator<Item = Option<Disturbance>>) {
        let signs: Vec<String> = signs.into_iter().flatten().map(|sign| sign.to_string()).collect();
        if signs.is_empty() {
            return self.claim(claim);
        }
        let note = format!("This machine is busy ({}); run again.", signs.join("; "));
        self.claim(Claim {
            value: f64::NAN,
            verdict: Verdict::NotMeasured,
            note: &note,
            ..claim
        });
    }

    /// Says that other work disturbs this machine if a sign says so; returns whether one does. For figures without a
    /// claim: a story draws no conclusion from them then.
    pub fn is_busy(&mut self, signs: impl IntoIterator<Item = Option<Disturbance>>) -> bool {
        let Some(sign) = signs.into_iter().flatten().next() else {
            return false;
        };
        self.say(format!(
            "This machine is busy ({sign}): these figures say little. Run the story again."
        ));
        true
    }

    /// Draws a chart (`ID.svg`, and its data as `ID.chart.json`), says where it lies and returns the path of the SVG.
    pub fn chart(&mut self, chart: &Chart) -> anyhow::Result<PathBuf> {
        let path = chart.write(&self.out_dir())?;
        let shown = crate::paths::shown(&path);
        head::value(&mut self.screen, "chart", &shown);
        self.document.charts.push(shown);
        Ok(path)
    }

    /// A progress bar on stderr; hidden where stderr is not a terminal. Finish it with `finish_and_clear` before the
    /// story goes on. Its message (`set_message`) stands at its end, as much of it as fits.
    pub fn progress(&self, len: u64, label: &str) -> ProgressBar {
        let bar = still_bar(len, label);
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        bar
    }

    /// Ends the story: the claims, where the charts and figures lie, and the document for machines.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let figures = self.document.write(&self.out_dir())?;
        self.screen.line("");
        head::rule(&mut self.screen, "━");
        if !self.document.claims.is_empty() {
            let said = |claim: &ClaimRecord| format!("{} {}", claim.id, head::verdict(claim.verdict).0);
            let claims = self.document.claims.iter().map(said).collect::<Vec<_>>().join(", ");
            head::value(&mut self.screen, "claims", &claims);
        }
        if !self.document.charts.is_empty() {
            head::value(&mut self.screen, "charts", &self.document.charts.join("\n"));
        }
        let machine = self.document.machine.summary();
        head::value(&mut self.screen, "machine", &machine);
        head::value(&mut self.screen, "figures", &crate::paths::shown(&figures));
        head::value(
            &mut self.screen,
            "read on",
            &format!("lessons/{}/README.md", self.info.folder),
        );
        if self.args.json {
            crate::outln!("{}", serde_json::to_string_pretty(&self.document)?);
        }
        match self.screen.failure() {
            None => Ok(()),
            Some(failure) => Err(anyhow::anyhow!("{failure}")),
        }
    }
}

/// A bar that does not move by itself.
fn still_bar(len: u64, label: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr_with_hz(10));
    let template = "   {prefix} {bar:16} {pos}/{len} {elapsed} (left {eta}) {wide_msg}";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
    bar.set_prefix(term::cut(label, 30));
    bar
}
