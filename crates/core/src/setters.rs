//! Setters of options, named after their fields.

/// Defines a setter for each field with a plain value, or with the value of an option.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($($name:ident: Option<$of:ty>,)*; $($plain:ident: $type:ty,)*) => {
        $(
            #[doc = concat!("Sets [`", stringify!($name), "`](field@Self::", stringify!($name), ").")]
            #[must_use]
            pub fn $name(mut self, value: impl Into<Option<$of>>) -> Self {
                self.$name = value.into();
                self
            }
        )*
        $(
            #[doc = concat!("Sets [`", stringify!($plain), "`](field@Self::", stringify!($plain), ").")]
            #[must_use]
            pub fn $plain(mut self, value: $type) -> Self {
                self.$plain = value;
                self
            }
        )*
    };
}
