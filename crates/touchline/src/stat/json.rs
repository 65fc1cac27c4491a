//! Buses as JSON, one object a line.

use super::counters::points;
use super::{Bus, Row, Shown};
use crate::counted::{self, Freshness};
use serde_json::{Map, Value, json};
use touchline_client::monitor::{
    CountersView, Description, Overview, ProcessView, ReaderView, RegisteredReader,
};

/// One line for each bus.
pub fn list(rows: &[Row]) -> String {
    let line = |row: &Row| match row {
        Ok(overview) => Value::Object(about(overview)),
        Err((bus, error)) => json!({"bus": bus, "error": error.to_string()}),
    };
    rows.iter().map(|row| format!("{}\n", line(row))).collect()
}

/// One line for each process that counts apart from any bus.
pub fn processes(processes: &[ProcessView]) -> String {
    let line = |process: &ProcessView| format!("{}\n", Value::Object(about_process(process)));
    processes.iter().map(line).collect()
}

/// A process that counts apart from any bus.
pub fn process(process: &ProcessView, shown: &Shown) -> String {
    let all = Shown::All;
    let shown = match shown {
        Shown::With(_) => shown,
        Shown::All | Shown::Counted => &all,
    };
    let file = process.counters_file.as_ref().ok().and_then(Option::as_ref);
    let mut object = about_process(process);
    let counters = file.map_or(Value::Null, |file| by_counter(file.counters(), shown));
    object.insert("counters".to_owned(), counters);
    let histograms = file.map_or(Value::Null, |file| histograms(file, shown));
    object.insert("histograms".to_owned(), histograms);
    format!("{}\n", Value::Object(object))
}

/// A process, and how old its counters are.
fn about_process(process: &ProcessView) -> Map<String, Value> {
    let file = process.counters_file.as_ref();
    let age = file
        .ok()
        .and_then(Option::as_ref)
        .and_then(CountersView::age);
    let object = json!({
        "process": process.name,
        "pid": process.process.as_ref().map(|process| process.pid),
        "age_ms": age.map(|age| age.as_millis() as u64),
        "stale": file.is_err() || !Freshness::of_process(process).is_fresh(),
        "error": file.err().map(ToString::to_string),
    });
    match object {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// All fields of one bus; counters and histograms that match the filter, else all.
pub fn bus(bus: &Bus, shown: &Shown) -> String {
    let all = Shown::All;
    let shown = match shown {
        Shown::With(_) => shown,
        Shown::All | Shown::Counted => &all,
    };
    let mut object = about(&bus.overview);
    let named = bus.readers.iter().map(by_name).collect();
    object.insert("readers_by_name".to_owned(), Value::Array(named));
    let counters_file = bus.counters_file.as_ref();
    object.insert(
        "counted_by".to_owned(),
        counters_file.map_or(Value::Null, |counters_file| {
            origin(counters_file, &bus.overview)
        }),
    );
    let counters = counters_file
        .map(|counters_file| by_counter(counted::of_bus(counters_file, &bus.overview), shown));
    object.insert("counters".to_owned(), counters.unwrap_or(Value::Null));
    object.insert(
        "histograms".to_owned(),
        counters_file.map_or(Value::Null, |file| histograms(file, shown)),
    );
    format!("{}\n", Value::Object(object))
}

fn about(overview: &Overview) -> Map<String, Value> {
    let publisher = overview.publisher.as_ref().map(|holder| {
        json!({
            "pid": holder.pid,
            "command": holder.command,
            "since_unix_s": holder.since_unix_s,
        })
    });
    let build = overview.build.as_ref().map(|build| {
        json!({
            "version": build.version,
            "commit": build.commit,
            "profile": build.profile,
        })
    });
    let readers = overview
        .readers
        .as_ref()
        .map(|readers| readers.iter().map(reader).collect::<Vec<_>>());
    let object = json!({
        "bus": overview.bus,
        "publisher": publisher,
        "build": build,
        "stalled": overview.publisher.is_some() && overview.is_stalled(),
        "publisher_age_ms": overview.liveness.map(|liveness| liveness.age.as_millis() as u64),
        "generation": overview.generation,
        "instruments": overview.definitions,
        "books": overview.books,
        "messages": overview.messages,
        "position": overview.position,
        "ring_bytes": overview.ring_bytes,
        "message_bytes_max": overview.message_bytes_max,
        "memory_bytes": overview.memory_bytes,
        "readers": readers,
    });
    match object {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn reader(reader: &RegisteredReader) -> Value {
    json!({
        "place": reader.place,
        "alive": reader.is_alive,
        "behind_bytes": reader.lag_bytes,
    })
}

fn by_name(reader: &ReaderView) -> Value {
    let counters_file = reader.counters_file.as_ref();
    json!({
        "name": reader.name,
        "pid": reader.process.as_ref().map(|process| process.pid),
        "behind_bytes": counters_file.ok().map(|_| reader.lag_bytes),
        "counters": counters_file.map_or(Value::Null, counters),
        "histograms": counters_file.map_or(Value::Null, |file| histograms(file, &Shown::All)),
        "error": counters_file.err().map(ToString::to_string),
    })
}

fn origin(counters_file: &CountersView, overview: &Overview) -> Value {
    let origin = counters_file.origin();
    let age_ms = counters_file.age().map(|age| age.as_millis() as u64);
    json!({
        "pid": origin.pid,
        "since_unix_ns": origin.start_unix_ns.to_string(),
        "ns_per_tick": origin.ns_per_tick,
        "age_ms": age_ms,
        "stale": !Freshness::of_bus(counters_file, overview).is_fresh(),
    })
}

fn counters(counters_file: &CountersView) -> Value {
    by_counter(counters_file.counters(), &Shown::All)
}

fn by_counter<'a>(values: impl Iterator<Item = (&'a Description, u64)>, shown: &Shown) -> Value {
    let values = values.filter(|(what, value)| shown.has(what, *value));
    let values = values.map(|(what, value)| (what.name.clone(), value.into()));
    Value::Object(values.collect())
}

fn histograms(counters_file: &CountersView, shown: &Shown) -> Value {
    let views = counters_file.histograms();
    let views = views.filter(|(what, view)| shown.has(what, view.count()));
    let views = views.map(|(what, view)| {
        let [p50, p99, p99_9, max] = points(&view);
        let view = json!({
            "unit": what.unit,
            "count": view.count(),
            "p50": p50,
            "p99": p99,
            "p99_9": p99_9,
            "max": max,
        });
        (what.name.clone(), view)
    });
    Value::Object(views.collect())
}
