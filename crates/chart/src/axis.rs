//! Scale of an axis.

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Whole decades; values must be positive.
    Log,
    /// From zero, or around it.
    Linear,
}

/// An axis: its values, and its place in the view box.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    scale: Scale,
    /// First mark.
    pub least: f64,
    /// Last mark.
    pub most: f64,
    from: f64,
    to: f64,
    step: f64,
}

/// Steps between marks of a linear axis at most.
const STEPS: f64 = 8.0;

impl Axis {
    /// Whole decades or whole steps around the values.
    pub fn of(scale: Scale, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        match scale {
            Scale::Log => Axis::log(values, from, to),
            Scale::Linear => Axis::linear(values, from, to),
        }
    }

    fn log(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| *value > 0.0 && value.is_finite()) {
            least = least.min(value);
            most = most.max(value);
        }
        if most == 0.0 {
            (least, most) = (1.0, 10.0);
        }
        let least = 10_f64.powf(least.log10().floor());
        let most = 10_f64.powf(most.log10().ceil()).max(least * 10.0);
        Axis {
            scale: Scale::Log,
            least,
            most,
            from,
            to,
            step: 10.0,
        }
    }

    fn linear(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let (mut least, mut most) = (0.0_f64, 0.0_f64);
        for value in values.filter(|value| value.is_finite()) {
            least = least.min(value);
            most = most.max(value);
        }
        if least == most {
            most = 1.0;
        }
        let decade = 10_f64.powf(((most - least) / STEPS).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
        let fits = |step: &f64| (most / step).ceil() - (least / step).floor() <= STEPS;
        let step = steps.into_iter().find(fits).unwrap_or(20.0 * decade);
        Axis {
            scale: Scale::Linear,
            least: (least / step).floor() * step,
            most: (most / step).ceil() * step,
            from,
            to,
            step,
        }
    }

    /// Place of a value.
    pub fn at(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Log => {
                (value.max(self.least) / self.least).log10() / (self.most / self.least).log10()
            }
            Scale::Linear => (value - self.least) / (self.most - self.least),
        };
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Values with a mark.
    pub fn marks(&self) -> impl Iterator<Item = f64> {
        let Axis {
            scale,
            least,
            most,
            step,
            ..
        } = *self;
        (0..)
            .map(move |number| match scale {
                Scale::Log => least * 10_f64.powi(number),
                // Without the error of a sum.
                Scale::Linear => ((least / step).round() + f64::from(number)) * step,
            })
            .take_while(move |value| *value <= most + step.min(most.abs()) * 0.001)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_covers_whole_decades() {
        let axis = Axis::of(Scale::Log, [350.0, 12_000.0].into_iter(), 0.0, 300.0);
        assert_eq!((axis.least, axis.most), (100.0, 100_000.0));
        assert_eq!(axis.at(100.0), 0.0);
        assert!((axis.at(1_000.0) - 100.0).abs() < 1e-6);
        assert_eq!(axis.marks().count(), 4);
        // An empty chart does not divide by zero.
        for scale in [Scale::Log, Scale::Linear] {
            let empty = Axis::of(scale, [].into_iter(), 0.0, 1.0);
            assert!(empty.at(0.0).is_finite());
        }
    }

    #[test]
    fn a_linear_axis_has_zero_and_whole_steps() {
        let axis = Axis::of(Scale::Linear, [-1.83, 0.4].into_iter(), 0.0, 300.0);
        assert_eq!((axis.least, axis.most), (-2.0, 0.5));
        let marks: Vec<f64> = axis.marks().collect();
        assert_eq!(marks, [-2.0, -1.5, -1.0, -0.5, 0.0, 0.5]);
        assert!((axis.at(-2.0), axis.at(0.5)) == (0.0, 300.0));
    }
}
