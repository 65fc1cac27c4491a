//! Columns of tables: name, type and meaning, stated once for every format.

/// Value of a cell that is absent, in a column whose [`Kind`] has absent values.
pub const NULL: i64 = i64::MAX;
/// Value of a cell that is absent, in a column of [`Kind::OptionalU64`].
pub const NULL_U64: i64 = u64::MAX as i64;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name in files.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Meaning, one sentence.
    pub about: &'static str,
}

/// Type of a column. A cell of any type is an `i64`; [`Kind::absent`] is an absent value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole number of 64 bits without sign, never absent.
    U64,
    /// Whole number of 64 bits without sign.
    OptionalU64,
    /// Whole number of 64 bits.
    I64,
    /// Whole number of 32 bits.
    I32,
    /// Whole number of 32 bits without sign.
    U32,
    /// Whole number of 16 bits without sign.
    U16,
    /// Truth, never absent.
    Bool,
    /// Nanoseconds since the Unix epoch, UTC.
    Time,
    /// Price in units of 1e-9.
    Price,
    /// One of these words, by its index.
    Word(&'static [&'static str]),
    /// Text, by its index in [`Texts`].
    Text,
}

impl Kind {
    /// Cell of an absent value; `None` of a type that has none.
    pub const fn absent(self) -> Option<i64> {
        match self {
            Kind::U64 | Kind::Bool => None,
            Kind::OptionalU64 => Some(NULL_U64),
            _ => Some(NULL),
        }
    }
}

/// Texts of cells: each one once.
#[derive(Debug, Default)]
pub struct Texts {
    texts: Vec<String>,
    places: std::collections::HashMap<String, i64>,
}

impl Texts {
    /// Cell of a text; an empty one is absent.
    pub fn cell(&mut self, text: &str) -> i64 {
        if text.is_empty() {
            return NULL;
        }
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.texts.len() as i64;
        self.texts.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }

    /// All texts, by cell.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// The text of a cell; `None` if it is absent.
    pub fn text(&self, cell: i64) -> Option<&str> {
        let place = usize::try_from(cell).ok()?;
        self.texts.get(place).map(String::as_str)
    }
}

/// Declares a row and the columns of its table, in the order of the fields.
macro_rules! columns {
    ($(#[$about:meta])* $visibility:vis struct $row:ident {
        $(#[doc = $first:literal] $field:ident: $kind:expr,)+
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility struct $row {
            $(#[doc = $first] pub $field: i64,)+
        }

        impl $row {
            /// The columns, in order.
            pub const COLUMNS: &'static [$crate::column::Column] = &[$(
                $crate::column::Column {
                    name: stringify!($field),
                    kind: $kind,
                    about: $first.trim_ascii(),
                },
            )+];

            /// The cells, in the order of the columns.
            pub fn cells(&self) -> [i64; Self::COLUMNS.len()] {
                [$(self.$field),+]
            }
        }
    };
}

pub(crate) use columns;
