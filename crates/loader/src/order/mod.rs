//! Which sample comes when.
