//! Records of DBN version 3: the files of Databento, which its readers read.

mod definition;
mod file;
mod ids;
mod layout;
mod metadata;
mod records;
mod reference;
mod schema;

pub use metadata::Dataset;
pub use records::{Dbn, Options};
pub use schema::Schema;
