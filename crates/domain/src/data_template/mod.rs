//! data_template
