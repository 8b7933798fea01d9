//! Running a race: warm-up and check first, then round after round.

use std::time::Duration;

use super::{Clock, Race, RaceEntry, RaceError, RaceResult, WallClock, stats};

impl<'a, O> Race<'a, O> {
    /// Runs the race on the machine's clock.
    pub fn run(self) -> Result<RaceResult, RaceError> {
        self.run_with(&mut WallClock::default(), &mut |_, _| {})
    }

    /// The title that it was made with.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Calls that [`Race::run_with`] reports progress for: entries times (rounds + 1).
    pub fn num_calls(&self) -> usize {
        self.entries.len() * (self.rounds + 1)
    }

    /// Runs the race on any clock; `progress(done, name)` is called before each call.
    pub fn run_with(
        mut self,
        clock: &mut dyn Clock,
        progress: &mut dyn FnMut(usize, &str),
    ) -> Result<RaceResult, RaceError> {
        let baseline = self.baseline_name()?;
        let mut done = 0;
        let mut outputs = Vec::with_capacity(self.entries.len());
        let mut repeats = Vec::with_capacity(self.entries.len());
        for entry in &mut self.entries {
            progress(done, &entry.name);
            let (output, time) = (entry.run)(clock);
            outputs.push(output);
            repeats.push(stats::repeats(self.at_least, time));
            done += 1;
        }
        self.compare(&baseline, &outputs)?;
        drop(outputs);
        let mut times = vec![Vec::with_capacity(self.rounds); self.entries.len()];
        for _ in 0..self.rounds {
            for (index, entry) in self.entries.iter_mut().enumerate() {
                progress(done, &entry.name);
                let mut total = Duration::ZERO;
                for _ in 0..repeats[index] {
                    total += (entry.run)(clock).1;
                }
                times[index].push(total.as_secs_f64() / repeats[index] as f64);
                done += 1;
            }
        }
        let entries = self.entries.iter().zip(times).map(|(entry, seconds)| {
            let work = entry.work.or(self.work);
            let samples: Vec<f64> = seconds
                .into_iter()
                .map(|s| stats::in_unit(s, work, &self.unit))
                .collect();
            RaceEntry::from_samples(&entry.name, entry.x, samples)
        });
        let entries = entries.collect();
        Ok(RaceResult {
            id: self.id,
            title: self.title,
            unit: self.unit,
            better: self.better,
            baseline,
            entries,
        })
    }

    fn baseline_name(&self) -> Result<String, RaceError> {
        let wanted = self
            .baseline
            .clone()
            .or_else(|| self.entries.first().map(|entry| entry.name.clone()));
        let wanted = wanted.unwrap_or_default();
        if self.entries.iter().any(|entry| entry.name == wanted) {
            Ok(wanted)
        } else {
            Err(RaceError::NoBaseline {
                race: self.id.clone(),
                baseline: wanted,
            })
        }
    }

    fn compare(&mut self, baseline: &str, outputs: &[O]) -> Result<(), RaceError> {
        let Some(check) = &mut self.check else {
            return Ok(());
        };
        for (entry, output) in self.entries.iter().zip(outputs) {
            let reference = self
                .entries
                .iter()
                .position(|other| other.name == baseline && other.x == entry.x);
            let Some(reference) = reference else { continue };
            check(&outputs[reference], output).map_err(|why| RaceError::Disagree {
                race: self.id.clone(),
                entry: entry.name.clone(),
                baseline: baseline.into(),
                why,
            })?;
        }
        Ok(())
    }
}
