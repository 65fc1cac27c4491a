//! Items of messages.

use crate::publication::Publication;
use touchline_transport::market::{Item, Received};
use touchline_types::Update;
use touchline_types::native::{Flags, Message, TopOfBook};

/// Update of a message; `bytes`: the message of the bus.
pub(super) fn received<'a>(
    message: &Message<'_>,
    update: Update<'a>,
    is_image: bool,
    bytes: Option<&'a [u8]>,
) -> Received<'a> {
    Received {
        sequence: message.sequence(),
        timestamps: message.timestamps(),
        update,
        batch_end: message.flags().has(Flags::END_OF_BATCH),
        is_image,
        bytes,
    }
}

/// A top of a message.
pub(super) fn top_of<'a>(
    message: &Message<'_>,
    top: TopOfBook,
    is_image: bool,
    bytes: &'a [u8],
) -> Item<'a> {
    Item::Top {
        sequence: message.sequence(),
        timestamps: message.timestamps(),
        top,
        is_image,
        bytes: Some(bytes),
    }
}

/// Whether the bus had room for the instrument of an update.
pub(super) fn fits(update: &Update<'_>, open: &Option<(u16, Publication)>) -> bool {
    let room = open
        .as_ref()
        .map_or(0, |(_, publication)| publication.instruments_max);
    let instrument = update.instrument();
    instrument.is_none_or(|instrument| instrument.index() < room)
}
