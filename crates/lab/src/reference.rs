//! Reference models: slow and simple. They follow the venue's rules one by one, with plain lists and maps, so they can
//! be verified by reading; fast code is verified by comparison with them.

pub mod cme;
pub mod keyed_book;
pub mod order_book;
pub mod price_book;
