//! Order books: market by price, market by order, consolidated.
