//! Commands of the desk: the terms of an accepted parent, and answers.

use super::names::{lifetime_name, side_name, style_name};
use super::{put, put_decimal, put_id, put_text};
use crate::event::Answer;
use crate::labels::Labels;
use crate::parents::{Lifetime, ParentTerms};
use std::fmt::Write;

/// The terms of a parent, as its command has them.
pub(super) fn parent(out: &mut String, labels: &Labels, terms: &ParentTerms) {
    out.push_str("{\"op\":\"parent\"");
    put_id(out, "id", Some(&terms.id));
    put!(out, ",\"pair\":\"{}\"", labels.pairs[terms.pair].symbol);
    put!(out, ",\"side\":\"{}\"", side_name(terms.side));
    put!(out, ",\"qty\":{}", terms.quantity);
    if let Some(limit) = terms.limit {
        out.push_str(",\"limit\":");
        let precision = u32::from(labels.pairs[terms.pair].precision);
        put_decimal(out, Some(i128::from(limit)), precision);
    }
    put!(out, ",\"tif\":\"{}\"", lifetime_name(terms.lifetime));
    if terms.lifetime == Lifetime::Deadline {
        put!(out, ",\"deadline_ms\":{}", terms.deadline_ms);
    }
    put!(
        out,
        ",\"urgency\":{},\"style\":\"{}\"",
        terms.urgency,
        style_name(terms.style)
    );
    put!(out, ",\"partial\":{}}}", terms.partial);
}

/// The answer to a command. Keys in the order of the alphabet.
pub(super) fn answer(out: &mut String, at_ns: u64, answer: &Answer<'_>) {
    out.push_str("{\"answer\":");
    put_text(out, answer.answer);
    if let Some(cause) = answer.cause {
        out.push_str(",\"cause\":");
        put_text(out, cause);
    }
    out.push_str(",\"client\":");
    put_text(out, answer.client);
    out.push_str(",\"reason\":");
    match answer.reason {
        Some(reason) => put_text(out, reason),
        None => out.push_str("null"),
    }
    put!(out, ",\"request\":{},\"t\":{at_ns}}}", answer.request);
}
