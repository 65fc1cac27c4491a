//! Enums whose variants have numbers in the schema of the native format.

/// Declares such an enum with its numbers and both conversions.
macro_rules! coded {
    ($(#[$about:meta])* pub enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $code:literal,)+
    }) => {
        $(#[$about])*
        #[repr(u8)]
        pub enum $name {
            $($(#[$doc])* $variant = $code,)+
        }

        impl $name {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The variant with this number in the schema; the inverse is `as u8`.
            #[inline(always)]
            pub const fn from_code(code: u8) -> Option<$name> {
                Some(match code {
                    $($code => $name::$variant,)+
                    _ => return None,
                })
            }
        }
    };
}
