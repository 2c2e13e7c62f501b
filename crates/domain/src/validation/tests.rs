//! Tables over whole objects.
