//! Slow, obvious references. They follow the venue's rules one by one, with plain lists and maps, and are believed
//! because they can be read; whatever is fast is believed because it agrees with them.

pub mod cme;
pub mod keyed_book;
pub mod order_book;
pub mod price_book;
