//! The way from the root to a value, linked on the stack: text is built only when something is wrong.

/// A field path.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(crate) fn field(&'a self, name: &'a str) -> Path<'a> {
        Path::Field(self, name)
    }

    pub(crate) fn index(&'a self, index: usize) -> Path<'a> {
        Path::Index(self, index)
    }

    fn write(&self, text: &mut String) {
        match self {
            Path::Root => {}
            Path::Field(parent, name) => {
                parent.write(text);
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Path::Index(parent, index) => {
                parent.write(text);
                text.push('[');
                text.push_str(&index.to_string());
                text.push(']');
            }
        }
    }

    /// `spec.disks[0].size`; the root is empty.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }
}
