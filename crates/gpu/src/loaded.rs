//! Functions of a library that is loaded at run time.

/// Declares a structure of functions, as a C header does, and a function that finds them.
macro_rules! functions {
    (
        $(#[$about:meta])*
        extern $convention:literal in $header:literal:
        $($name:ident($($argument:ty),*);)+
    ) => {
        $(#[$about])*
        #[allow(non_snake_case, reason = "the names are the library's")]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern $convention fn($($argument),*) -> std::ffi::c_int,)+
            _library: std::mem::ManuallyDrop<libloading::Library>,
        }

        impl Functions {
            /// Finds the functions, or returns the name of a missing one.
            ///
            /// # Safety
            #[doc = concat!("The library's functions of these names are those of `", $header, "`.")]
            pub(crate) unsafe fn find(library: libloading::Library) -> Result<Self, &'static str> {
                let library = std::mem::ManuallyDrop::new(library);
                Ok(Self {
                    $($name: {
                        let name = concat!(stringify!($name), "\0");
                        // SAFETY: the type is that of the declaration in the header; the function
                        // stays loaded.
                        let found = unsafe { library.get(name.as_bytes()) };
                        *found.map_err(|_| stringify!($name))?
                    },)+
                    _library: library,
                })
            }
        }
    };
}

pub(crate) use functions;
