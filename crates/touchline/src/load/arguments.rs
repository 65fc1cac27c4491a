//! Values of the arguments.

/// Shape of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shape {
    /// Single messages at equal intervals.
    Steady,
    /// Bursts of 100 messages back to back, at equal intervals.
    Bursts,
    /// 100 messages a second.
    Sparse,
}

/// How processes wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Waiting {
    /// Poll again at once; processes that share a processor yield.
    Spin,
    /// Sleep for 20 µs.
    Sleep,
}

/// A rate: a number, or one with k or M.
pub fn rate(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1e3),
        None => text
            .strip_suffix('M')
            .map_or((text, 1.0), |number| (number, 1e6)),
    };
    let rate = number.parse::<f64>().ok().map(|number| number * unit);
    let rate = rate.filter(|rate| (1.0..=1e9).contains(rate));
    rate.map(|rate| rate as u64)
        .ok_or_else(|| "give messages a second, such as 10k or 1.5M".to_owned())
}

/// Seconds.
pub fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text
        .parse::<f64>()
        .ok()
        .filter(|seconds| (0.0..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "give seconds, at most 3600".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_units() {
        assert_eq!(
            ["300", "10k", "1.5M"].map(rate),
            [Ok(300), Ok(10_000), Ok(1_500_000)]
        );
        assert!(
            ["", "k", "-1", "0", "1e99", "nan"]
                .iter()
                .all(|text| rate(text).is_err())
        );
        assert!(seconds("-1").is_err() && seconds("0.5").is_ok());
    }
}
