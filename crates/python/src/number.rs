//! Prices, quantities and times as Python's numbers: floating point, or exact integers on request.

use pyo3::prelude::*;
use touchline_client::{Price, Quantity};
use zerocopy::{Immutable, IntoBytes};

/// Units of a price in one.
const PRICE_UNITS: f64 = 1e9;
/// Integer for an absent value.
const NONE: i64 = i64::MAX;

/// A number of a row: bits of a float, or an integer.
#[derive(Debug, Clone, Copy, IntoBytes, Immutable)]
#[repr(transparent)]
pub struct Number(u64);

/// A time of a row: nanoseconds since 1970; absent is the smallest number, which is numpy's `NaT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoBytes, Immutable)]
#[repr(transparent)]
pub struct Time(i64);

impl Time {
    /// Makes a time from one of the client, which is 0 if absent.
    #[inline]
    pub fn new(ns: u64) -> Time {
        match ns {
            0 => Time(i64::MIN),
            ns => Time(ns as i64),
        }
    }
}

/// Form in which prices and quantities are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Floating point; absent is NaN.
    Float,
    /// Prices in 1e-9, mantissas of quantities; absent is the largest.
    Raw,
}

impl Form {
    /// A price of a row.
    #[inline]
    pub fn price(self, price: Price) -> Number {
        match self {
            Form::Raw => Number(price.0 as u64),
            Form::Float => Number(price_float(price).unwrap_or(f64::NAN).to_bits()),
        }
    }

    /// A quantity of a row.
    #[inline]
    pub fn quantity(self, quantity: Quantity) -> Number {
        match self {
            Form::Raw => Number(quantity.mantissa() as u64),
            Form::Float => Number(quantity_float(quantity).unwrap_or(f64::NAN).to_bits()),
        }
    }

    /// The absent number.
    #[inline]
    pub fn none(self) -> Number {
        match self {
            Form::Raw => Number(NONE as u64),
            Form::Float => Number(f64::NAN.to_bits()),
        }
    }

    /// Format of a column of numbers, in numpy's words.
    pub fn format(self) -> &'static str {
        match self {
            Form::Raw => "<i8",
            Form::Float => "<f8",
        }
    }

    /// A price as an object.
    pub fn price_object<'py>(self, py: Python<'py>, price: Price) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Form::Float => Ok(price_float(price).into_pyobject(py)?),
            Form::Raw => Ok((!price.is_null()).then_some(price.0).into_pyobject(py)?),
        }
    }

    /// A quantity as an object.
    pub fn quantity_object<'py>(
        self,
        py: Python<'py>,
        quantity: Quantity,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Form::Float => Ok(quantity_float(quantity).into_pyobject(py)?),
            Form::Raw => {
                let mantissa = (!quantity.is_null()).then_some(quantity.mantissa());
                Ok(mantissa.into_pyobject(py)?)
            }
        }
    }
}

/// The nearest floating-point number.
#[inline]
fn price_float(price: Price) -> Option<f64> {
    // One rounding for prices below 2^53 units (9 million), two above.
    (!price.is_null()).then(|| price.0 as f64 / PRICE_UNITS)
}

#[inline]
fn quantity_float(quantity: Quantity) -> Option<f64> {
    (!quantity.is_null()).then(|| quantity.to_f64())
}
