//! Intervals and one test, in floating point: they are about how sure a number is, not the number.

/// Normal quantile of a two-sided interval of 95 %.
const Z95: f64 = 1.959_963_985;
/// Normal quantile of a power of 80 %.
const Z80: f64 = 0.841_621_234;

/// Two ends of an interval.
pub type Interval = [f64; 2];

/// Wilson's interval of a rate, 95 %: `count` of `of`.
pub fn wilson(count: u64, of: u64) -> Option<Interval> {
    if of == 0 {
        return None;
    }
    let (n, p) = (of as f64, count as f64 / of as f64);
    let z2 = Z95 * Z95;
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z95 * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt() / (1.0 + z2 / n);
    // The formula reaches the ends only up to rounding.
    let low = if count == 0 { 0.0 } else { middle - half };
    let high = if count == of { 1.0 } else { middle + half };
    Some([low, high])
}

/// Values of a sample.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample {
    /// Number.
    pub count: u64,
    mean: f64,
    /// Sum of squared distances from the mean.
    spread: f64,
}

impl Sample {
    /// Adds a value, by Welford's rule.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.spread += before * (value - self.mean);
    }

    /// Mean.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Student's interval of the mean, 95 %; none of fewer than two values, or of equal ones, which do not say how sure they are.
    pub fn interval(&self) -> Option<Interval> {
        let freedom = self.count.checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
        let half = t_quantile(0.975, freedom) * self.squared_error().sqrt();
        (half > 0.0).then_some([self.mean - half, self.mean + half])
    }

    /// Squared standard error of the mean.
    fn squared_error(&self) -> f64 {
        let count = self.count as f64;
        self.spread / (count - 1.0) / count
    }
}

/// Ratio of two sums, with an interval by the residuals of its parts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ratio {
    /// Number of parts.
    pub parts: u64,
    /// Sums: of the weights and of the values.
    pub sums: [f64; 2],
    /// Sums of squares: weight squared, weight times value, value squared.
    pub squares: [f64; 3],
}

impl Ratio {
    /// Adds a part.
    pub fn add(&mut self, weight: f64, value: f64) {
        self.parts += 1;
        self.sums[0] += weight;
        self.sums[1] += value;
        let squares = [weight * weight, weight * value, value * value];
        for (sum, square) in self.squares.iter_mut().zip(squares) {
            *sum += square;
        }
    }

    /// Interval of the ratio, 95 %, by Student with one degree of freedom fewer than there are parts.
    pub fn interval(&self) -> Option<Interval> {
        let freedom = self.parts.checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
        let [weight, value] = self.sums;
        if weight <= 0.0 {
            return None;
        }
        let ratio = value / weight;
        let [ww, wv, vv] = self.squares;
        let residual = (vv - 2.0 * ratio * wv + ratio * ratio * ww).max(0.0);
        let parts = self.parts as f64;
        let error = (residual * parts / freedom).sqrt() / weight;
        let half = t_quantile(0.975, freedom) * error;
        // Parts of one ratio do not say how sure they are; their residual is zero up to rounding.
        let is_spread = residual > 1e-12 * (vv + ratio * ratio * ww);
        is_spread.then_some([ratio - half, ratio + half])
    }
}

/// Result of Welch's test, one-sided: whether the mean of `one` is above that of `other`.
#[derive(Debug, Clone, Copy)]
pub struct Welch {
    /// Probability of such a difference or a larger one between samples of one mean.
    pub p: f64,
    /// Difference that the test finds in 8 of 10 cases.
    pub found_in_8_of_10: f64,
}

/// Welch's test at the rate `alpha`. None without a spread in any of the samples.
pub fn welch(one: &Sample, other: &Sample, alpha: f64) -> Option<Welch> {
    if one.count < 2 || other.count < 2 {
        return None;
    }
    let (a, b) = (one.squared_error(), other.squared_error());
    let error = (a + b).sqrt();
    if error <= 0.0 {
        return None;
    }
    let freedom =
        (a + b).powi(2) / (a * a / (one.count - 1) as f64 + b * b / (other.count - 1) as f64);
    let t = (one.mean - other.mean) / error;
    Some(Welch {
        p: t_above(t, freedom),
        found_in_8_of_10: (t_quantile(1.0 - alpha, freedom) + Z80) * error,
    })
}

/// Probability that Student's t is above a value.
fn t_above(t: f64, freedom: f64) -> f64 {
    let tail = beta(freedom / (freedom + t * t), freedom / 2.0, 0.5) / 2.0;
    if t >= 0.0 { tail } else { 1.0 - tail }
}

/// Value that Student's t is below with this probability, of more than a half.
fn t_quantile(probability: f64, freedom: f64) -> f64 {
    let above = 1.0 - probability;
    let (mut low, mut high) = (0.0, 2.0);
    while t_above(high, freedom) > above {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        match t_above(middle, freedom) > above {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// Regularised incomplete beta function, by its continued fraction (Lentz).
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    match x < (a + 1.0) / (a + b + 2.0) {
        true => front * fraction(x, a, b) / a,
        false => 1.0 - front * fraction(1.0 - x, b, a) / b,
    }
}

fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let held = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut c, mut d) = (1.0, 1.0 / held(1.0 - (a + b) * x / (a + 1.0)));
    let mut product = d;
    for step in 1..500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for part in [even, odd] {
            d = 1.0 / held(1.0 + part * d);
            c = held(1.0 + part / c);
            product *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    product
}

/// Logarithm of the gamma function of a positive number (Lanczos).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.120_865_097_386_617_9e-2,
        -0.539_523_938_495_3e-5,
    ];
    let base = x + 5.5;
    let series = TERMS.iter().zip(1_u8..);
    let series = series.fold(1.000_000_000_190_015, |sum, (term, place)| {
        sum + term / (x + f64::from(place))
    });
    (x + 0.5) * base.ln() - base + (2.506_628_274_631_000_5 * series / x).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of tables.
    #[test]
    fn quantiles_are_those_of_tables() {
        for (probability, freedom, expected) in [
            (0.975, 1.0, 12.706_2),
            (0.975, 10.0, 2.228_1),
            (0.995, 30.0, 2.750_0),
            (0.95, 5.0, 2.015_0),
            (0.975, 1e6, 1.960_0),
        ] {
            let found = t_quantile(probability, freedom);
            assert!(
                (found - expected).abs() < 1e-3,
                "{probability} {freedom}: {found}"
            );
        }
        let [low, high] = wilson(8, 10).expect("a rate");
        assert!(
            (low - 0.490_2).abs() < 1e-3 && (high - 0.943_3).abs() < 1e-3,
            "{low} {high}"
        );
        assert_eq!(wilson(0, 7).map(|[low, _]| low), Some(0.0));
        assert_eq!(wilson(7, 7).map(|[_, high]| high), Some(1.0));
        assert_eq!(wilson(0, 0), None);
    }

    /// Two samples with t 2.852955 at 27.887304 degrees: the tail was integrated by another program.
    #[test]
    fn a_test_is_that_of_another_program() {
        let sample = |values: &[f64]| {
            let mut sample = Sample::default();
            values.iter().for_each(|value| sample.add(*value));
            sample
        };
        let one = sample(&[
            27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7,
            21.4,
        ]);
        let other = sample(&[
            27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5,
            24.4,
        ]);
        let found = welch(&other, &one, 0.005).expect("a spread");
        assert!((found.p - 0.004_035_969).abs() < 1e-6, "{}", found.p);
        let same = sample(&[1.0, 1.0, 1.0]);
        assert!(welch(&same, &same, 0.005).is_none());
    }
}
