//! Events of links as lines of the log.

use crate::log::{Field, LogThread, events as event};
use touchline_relay::link::{CarrierEvent, SendEvent};
use touchline_relay::run::RunEvent;

/// Writes one event.
pub fn report(link: &str, what: RunEvent, log: &mut LogThread) {
    let mut fields: Vec<Field> = vec![("link", link.into())];
    let line = match what {
        RunEvent::Waiting { reason } => {
            fields.push(("reason", reason.into()));
            &event::RELAY_WAITING
        }
        RunEvent::Sending { epoch } => {
            fields.push(("epoch", epoch.0.into()));
            &event::RELAY_SENDING
        }
        RunEvent::SourceState { is_live } => match is_live {
            true => &event::RELAY_SOURCE_BACK,
            false => &event::RELAY_SOURCE_DOWN,
        },
        RunEvent::Overrun { messages } => {
            fields.push(("messages", messages.into()));
            &event::RELAY_OVERRUN
        }
        RunEvent::BackPressure { lag_bytes } => {
            fields.push(("lag_bytes", lag_bytes.into()));
            &event::RELAY_BACK_PRESSURE
        }
        RunEvent::Carrier(CarrierEvent::Warning(warning)) => {
            fields.push(("warning", warning.into()));
            &event::RELAY_AERON_WARNING
        }
        RunEvent::Carrier(CarrierEvent::Error(reason)) => {
            fields.push(("reason", reason.into()));
            &event::RELAY_AERON_ERROR
        }
        RunEvent::Receiver(receiver) => return report_receiver(fields, receiver, log),
        RunEvent::Link { is_up: true, .. } => &event::RELAY_UP,
        RunEvent::Link {
            is_up: false,
            reason,
        } => {
            fields.extend(reason.map(|reason| ("reason", reason.into_owned().into())));
            &event::RELAY_DOWN
        }
        RunEvent::Stream { source, epoch } => {
            fields.push(("source", source.to_string().into()));
            fields.push(("epoch", epoch.0.into()));
            &event::RELAY_STREAM
        }
        RunEvent::Gap { messages } => {
            fields.push(("messages", messages.into()));
            &event::RELAY_GAP
        }
        RunEvent::ClockStep { step_ns } => {
            fields.push(("step_ms", (step_ns / 1_000_000).to_string().into()));
            &event::RELAY_CLOCK_STEP
        }
        RunEvent::Recovered => &event::RELAY_RECOVERED,
        RunEvent::Refused { batches, reason } => {
            fields.push(("batches", batches.into()));
            fields.push(("reason", reason.into()));
            &event::RELAY_REFUSED
        }
    };
    log.write(line, fields);
}

fn report_receiver(mut fields: Vec<Field>, receiver: SendEvent, log: &mut LogThread) {
    let (line, address) = match receiver {
        SendEvent::Connected { address } => (&event::RELAY_RECEIVER_CONNECTED, address),
        SendEvent::Disconnected { address, reason } => {
            fields.push(("reason", reason.to_string().into()));
            (&event::RELAY_RECEIVER_GONE, address)
        }
        SendEvent::TooSlow {
            address,
            queued_bytes,
        } => {
            fields.push(("queued_bytes", (queued_bytes as u64).into()));
            (&event::RELAY_RECEIVER_SLOW, address)
        }
        SendEvent::Held { address, queued_ns } => {
            fields.push(("queued_ms", (queued_ns / 1_000_000).into()));
            (&event::RELAY_RECEIVER_HELD, address)
        }
        SendEvent::Behind { address, messages } => {
            fields.push(("behind_messages", messages.into()));
            (&event::RELAY_RECEIVER_SLOW, address)
        }
        SendEvent::Refused { address, reason } => {
            fields.push(("reason", reason.to_string().into()));
            (&event::RELAY_RECEIVER_REFUSED, address)
        }
    };
    fields.push(("receiver", address.to_string().into()));
    log.write(line, fields);
}
