//! Files of the expected books, and logs of all book states.

use super::arguments::Arguments;
use crate::output::{Failure, Output};
use crate::sim::expected_log::ExpectedLog;
use std::path::PathBuf;
use touchline_lab::cme::live::Live;
use touchline_lab::picture::Picture;

/// Outputs of the expected books.
#[derive(Debug)]
pub struct ExpectedBooks {
    books: Option<PathBuf>,
    orders: Option<PathBuf>,
    log: Option<ExpectedLog>,
    order_log: Option<ExpectedLog>,
}

impl ExpectedBooks {
    /// Checks that every output is writable before the market opens.
    pub fn open(arguments: &Arguments) -> Result<ExpectedBooks, Failure> {
        for path in [&arguments.truth_books, &arguments.truth_orders]
            .into_iter()
            .flatten()
        {
            // Creates no file; an existing one stays.
            drop(Output::open(path)?);
        }
        let log = |path: &Option<PathBuf>| path.as_deref().map(ExpectedLog::create).transpose();
        Ok(ExpectedBooks {
            books: arguments.truth_books.clone(),
            orders: arguments.truth_orders.clone(),
            log: log(&arguments.truth_log)?,
            order_log: log(&arguments.truth_order_log)?,
        })
    }

    /// Makes the simulator record the requested states.
    pub fn keep_states(&self, live: &mut Live) {
        if self.log.is_some() {
            live.keep_states();
        }
        if self.order_log.is_some() {
            live.keep_order_states();
        }
    }

    /// Whether files of books or orders are requested.
    pub fn has_files(&self) -> bool {
        self.books.is_some() || self.orders.is_some()
    }

    /// Appends the states since the last call to the logs.
    pub fn write_states(&mut self, live: &mut Live) -> Result<(), Failure> {
        if let Some(log) = &mut self.log {
            log.write(live.states())?;
        }
        match &mut self.order_log {
            Some(log) => log.write(live.order_states()),
            None => Ok(()),
        }
    }

    /// Writes books and orders, each complete or not at all.
    pub fn write(&self, expected_books: &Picture) -> Result<(), Failure> {
        let books = self
            .books
            .as_ref()
            .map(|path| (path, expected_books.books_jsonl()));
        let orders = self
            .orders
            .as_ref()
            .map(|path| (path, expected_books.orders_jsonl()));
        for (path, text) in books.into_iter().chain(orders) {
            let mut output = Output::open(path)?;
            output.text(&text)?;
            output.finish()?;
        }
        Ok(())
    }
}
