//! Building a chart that compares: bars, groups, stacks, and the result of a race.

use super::{Body, Chart};
use crate::race::{Better, RaceEntry, RaceResult};

impl Chart {
    /// One bar.
    #[track_caller]
    pub fn bar(self, name: &str, value: f64) -> Self {
        self.push_group(name, &[("value", value)], false)
    }

    /// Bars side by side under one name: (series, value).
    #[track_caller]
    pub fn group(self, name: &str, values: &[(&str, f64)]) -> Self {
        self.push_group(name, values, false)
    }

    /// One bar made of parts: (part, value).
    #[track_caller]
    pub fn stack(self, name: &str, parts: &[(&str, f64)]) -> Self {
        self.push_group(name, parts, true)
    }

    /// The bar (or, of bars side by side, the part) that the others are compared with: their ratio to it is written
    /// behind their value. Call it when the bars are added.
    #[track_caller]
    pub fn baseline(mut self, name: &str) -> Self {
        let Body::Bars(bars) = &mut self.body else {
            panic!("only bars have a baseline; use rule")
        };
        let (group, part) = (format!("group.{name}"), format!("part.{name}"));
        let key = if bars.groups.iter().any(|(key, _)| *key == group) {
            group
        } else {
            part
        };
        assert!(
            key.starts_with("group") || bars.parts.contains(&key),
            "{name:?} is a bar of this chart"
        );
        bars.baseline = Some(key);
        let compared = if bars.less_is_better {
            format!("compared with {name}")
        } else {
            format!("×: times {name}")
        };
        self.label("compared", &compared)
    }

    /// Less is better: behind a bar stands how many times faster or slower (less or more, where the unit is no time) it
    /// is than the baseline. Call it before [`Chart::baseline`].
    #[track_caller]
    pub fn less_is_better(mut self) -> Self {
        let Body::Bars(bars) = &mut self.body else {
            panic!("only bars are compared with a baseline")
        };
        bars.less_is_better = true;
        self
    }

    #[track_caller]
    fn push_group(mut self, name: &str, values: &[(&str, f64)], stacked: bool) -> Self {
        let group = self.key("group", name);
        let keys: Vec<String> = values.iter().map(|(part, _)| self.key("part", part)).collect();
        let Body::Bars(bars) = &mut self.body else {
            panic!("only a chart of bars takes bars")
        };
        bars.stacked = stacked;
        for key in &keys {
            if !bars.parts.contains(key) {
                bars.parts.push(key.clone());
                bars.groups.iter_mut().for_each(|(_, row)| row.push(None));
            }
        }
        let value_of = |part: &String| {
            keys.iter()
                .position(|key| key == part)
                .map(|at| values[at].1)
                .filter(|value| value.is_finite())
        };
        let row = bars.parts.iter().map(value_of).collect();
        bars.groups.push((group, row));
        self
    }

    /// The result of a race: lines where its entries have an x, bars where not. Its baseline is the chart's.
    pub fn from_race(race: &RaceResult) -> Self {
        let better = match race.better {
            Better::Lower => "less is better",
            Better::Higher => "more is better",
        };
        let unit = format!("{}, {better}", race.unit);
        let mut names: Vec<&str> = Vec::new();
        for entry in &race.entries {
            if !names.contains(&entry.name.as_str()) {
                names.push(&entry.name);
            }
        }
        if race.entries.iter().any(|entry| entry.x.is_some()) {
            let chart = Self::lines(&race.id, &race.title).y_label(&unit);
            return names
                .into_iter()
                .fold(chart, |chart, name| chart.series(name, race.line(name)));
        }
        let chart = Self::bars(&race.id, &race.title).y_label(&unit);
        let chart = if race.better == Better::Lower {
            chart.less_is_better()
        } else {
            chart
        };
        let bar = |chart: Self, entry: &RaceEntry| chart.bar(&entry.name, entry.median);
        race.entries.iter().fold(chart, bar).baseline(&race.baseline)
    }
}
