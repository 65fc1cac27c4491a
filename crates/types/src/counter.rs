//! Counters: one table defines each of them for screens, exporters and documents.

/// Description of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterInfo {
    /// Name, as in output and documents.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Description in one sentence.
    pub help: &'static str,
}

/// Defines a struct of `u64` counters and the table of their descriptions.
///
/// ```
/// touchline_types::counters! {
///     /// Counters of a door.
///     pub struct Door {
///         opened: "times" = "The door was opened.",
///     }
/// }
/// let mut door = Door::default();
/// door.opened += 1;
/// assert_eq!(door.values().next().map(|(info, value)| (info.name, value)), Some(("opened", 1)));
/// ```
#[macro_export]
macro_rules! counters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($counter:ident: $unit:literal = $help:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $(#[doc = concat!($help, " Unit: ", $unit, ".")] pub $counter: u64,)*
        }

        impl $name {
            /// Descriptions, in the order of the fields.
            pub const TABLE: &'static [$crate::CounterInfo] = &[
                $($crate::CounterInfo { name: stringify!($counter), unit: $unit, help: $help },)*
            ];

            /// Each counter, in the order of the table.
            pub fn counts(&self) -> impl Iterator<Item = u64> + use<> {
                [$(self.$counter,)*].into_iter()
            }

            /// Each counter with its description.
            pub fn values(&self) -> impl Iterator<Item = (&'static $crate::CounterInfo, u64)> {
                let values = [$(self.$counter,)*];
                Self::TABLE.iter().zip(values)
            }
        }
    };
}
