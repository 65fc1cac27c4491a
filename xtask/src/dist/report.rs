//! Report of a release: results, times of its parts, and checks that were left out.

use anyhow::{Context, Result};
use std::time::{Duration, Instant};

/// Results so far.
#[derive(Debug, Default)]
pub struct Report {
    parts: Vec<(String, Duration)>,
    left_out: Vec<String>,
}

impl Report {
    /// Runs a part and keeps its time.
    ///
    /// # Errors
    /// Those of the part, with its name.
    pub fn part<T>(
        &mut self,
        name: impl Into<String>,
        run: impl FnOnce(&mut Report) -> Result<T>,
    ) -> Result<T> {
        let name = name.into();
        println!("dist: === {name}");
        let started = Instant::now();
        let result = run(self).with_context(|| name.clone())?;
        self.parts.push((name, started.elapsed()));
        Ok(result)
    }

    /// Prints a result.
    pub fn seen(&self, what: &str) {
        println!("dist: {what}");
    }

    /// Prints a check that cannot run here, and repeats it once at the end.
    pub fn left_out(&mut self, why: impl Into<String>) {
        let why = why.into();
        println!("dist: left out: {why}");
        if !self.left_out.contains(&why) {
            self.left_out.push(why);
        }
    }

    /// Prints the time of each part, and everything that was left out.
    pub fn print(&self) {
        for (name, time) in &self.parts {
            println!("dist: {:6.1} s  {name}", time.as_secs_f64());
        }
        let all: Duration = self.parts.iter().map(|(_, time)| *time).sum();
        println!("dist: {:6.1} s  all parts", all.as_secs_f64());
        for why in &self.left_out {
            println!("dist: left out: {why}");
        }
        println!("dist: {} checks were left out", self.left_out.len());
    }
}
