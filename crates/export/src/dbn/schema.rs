//! Schemas of DBN.

/// A schema: the kind of records in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Schema {
    /// Orders.
    Mbo,
    /// Best level of each side.
    Mbp1,
    /// Ten levels of each side.
    Mbp10,
    /// Trades.
    Trades,
    /// Definitions.
    Definition,
    /// Statistics.
    Statistics,
    /// Trading status.
    Status,
}

impl Schema {
    /// All schemas that are written.
    pub const ALL: [Schema; 7] = [
        Schema::Mbo,
        Schema::Mbp1,
        Schema::Mbp10,
        Schema::Trades,
        Schema::Definition,
        Schema::Statistics,
        Schema::Status,
    ];

    /// Name in commands and of files.
    pub const fn name(self) -> &'static str {
        match self {
            Schema::Mbo => "mbo",
            Schema::Mbp1 => "mbp-1",
            Schema::Mbp10 => "mbp-10",
            Schema::Trades => "trades",
            Schema::Definition => "definition",
            Schema::Statistics => "statistics",
            Schema::Status => "status",
        }
    }

    /// Number in the head of a file.
    pub const fn number(self) -> u16 {
        match self {
            Schema::Mbo => 0,
            Schema::Mbp1 => 1,
            Schema::Mbp10 => 2,
            Schema::Trades => 4,
            Schema::Definition => 9,
            Schema::Statistics => 10,
            Schema::Status => 11,
        }
    }
}
