//! Splits a page of a list into its objects while it arrives, so that no more than one of them is in memory.
//!
//! Takes chunks of the body as they come; gives each element of `items` as text, and at the end the rest of the page
//! without them. It finds only where elements begin and end: whether they are JSON is for the one who reads them.

use super::{
    ApiError, Page, PageMeta, decode,
    limits::{Limits, bytes_within},
};

/// Buffers that were larger than this are given back after use.
const SMALL: usize = 64 * 1024;

/// A page on its way.
#[derive(Debug)]
pub(super) struct Items {
    limits: Limits,
    /// Everything but the elements.
    head: Vec<u8>,
    /// What has come of the current element.
    item: Vec<u8>,
    /// How many brackets are open.
    depth: usize,
    in_items: bool,
    in_string: bool,
    escaped: bool,
}

impl Items {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            head: Vec::new(),
            item: Vec::new(),
            depth: 0,
            in_items: false,
            in_string: false,
            escaped: false,
        }
    }

    /// How many bytes are held at present.
    pub(super) fn held(&self) -> usize {
        self.head.len() + self.item.len()
    }

    /// Takes a chunk and shows each element that ends in it.
    pub(super) fn feed(
        &mut self,
        chunk: &[u8],
        take: &mut (impl FnMut(&[u8]) -> Result<(), ApiError> + ?Sized),
    ) -> Result<(), ApiError> {
        let mut rest = chunk;
        while let Some((byte, after)) = rest.split_first() {
            // Most of a page is inside of strings.
            let run = if self.in_string && !self.escaped { plain(rest) } else { 0 };
            if let Some((text, after)) = rest.split_at_checked(run).filter(|_| run > 0) {
                self.push(text)?;
                rest = after;
                continue;
            }
            rest = after;
            self.step(*byte, take)?;
        }
        Ok(())
    }

    /// Version and continuation, once the body has ended.
    pub(super) fn finish(self) -> Result<PageMeta, ApiError> {
        Ok(decode::<Page<serde::de::IgnoredAny>>(&self.head)?.metadata)
    }

    fn step(
        &mut self,
        byte: u8,
        take: &mut (impl FnMut(&[u8]) -> Result<(), ApiError> + ?Sized),
    ) -> Result<(), ApiError> {
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return self.push(&[byte]);
        }
        let between = self.in_items && self.depth == 2;
        match byte {
            b',' if between => return self.end_item(take),
            b']' if between => {
                if !self.item.is_empty() {
                    self.end_item(take)?;
                }
                self.in_items = false;
                self.depth = 1;
            }
            b' ' | b'\t' | b'\r' | b'\n' if between => return Ok(()),
            b'[' if !self.in_items && self.depth == 1 && ends_with_items(&self.head) => {
                self.push(&[byte])?;
                self.in_items = true;
                self.depth = 2;
                return Ok(());
            }
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            // What closes more than is open is no JSON; the reader of the element or the head will say so.
            b'}' | b']' => self.depth = self.depth.saturating_sub(1).max(if self.in_items { 2 } else { 0 }),
            _ => {}
        }
        self.push(&[byte])
    }

    fn push(&mut self, text: &[u8]) -> Result<(), ApiError> {
        let (buffer, what, limit) = if self.in_items {
            (&mut self.item, "one object of the list", self.limits.item)
        } else {
            (&mut self.head, "a page of the list, without its objects,", self.limits.head)
        };
        bytes_within(what, buffer.len() + text.len(), limit)?;
        buffer.extend_from_slice(text);
        Ok(())
    }

    fn end_item(
        &mut self,
        take: &mut (impl FnMut(&[u8]) -> Result<(), ApiError> + ?Sized),
    ) -> Result<(), ApiError> {
        take(&self.item)?;
        if self.item.capacity() > SMALL {
            self.item = Vec::new();
        }
        self.item.clear();
        Ok(())
    }
}

/// How many bytes of a string's text come before its end or an escape.
fn plain(text: &[u8]) -> usize {
    text.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(text.len())
}

/// Whether the list of objects follows.
fn ends_with_items(head: &[u8]) -> bool {
    let before = head.trim_ascii_end().strip_suffix(b":");
    before.is_some_and(|before| before.trim_ascii_end().ends_with(b"\"items\""))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Splits a text that comes in chunks of that size.
    fn split(text: &str, chunk: usize, limits: Limits) -> Result<(Vec<Value>, PageMeta), ApiError> {
        let (mut items, mut found) = (Items::new(limits), Vec::new());
        for chunk in text.as_bytes().chunks(chunk) {
            items.feed(chunk, &mut |item| {
                found.push(decode(item)?);
                Ok(())
            })?;
        }
        Ok((found, items.finish()?))
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z\"\\\\\\[\\]{},: \u{e9}]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("items|[a-z\"\\]]{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// However a page is cut into chunks and whatever is in it, its elements are those that a parser finds.
        #[test]
        fn it_finds_what_a_parser_finds(
            items in prop::collection::vec(any_json(), 0..5),
            other in any_json(),
            chunk in 1..40_usize,
            pretty in any::<bool>(),
            items_first in any::<bool>(),
        ) {
            let metadata = json!({"resourceVersion": "7", "continue": "a\"],}"});
            let page = if items_first {
                json!({"items": items, "other": other, "metadata": metadata})
            } else {
                json!({"kind": "List", "metadata": metadata, "other": other, "items": items})
            };
            let text = if pretty { serde_json::to_string_pretty(&page).unwrap() } else { page.to_string() };
            let (found, meta) = split(&text, chunk, Limits::WORKLOAD).unwrap();
            prop_assert_eq!(found, items);
            prop_assert_eq!(meta.resource_version.as_deref(), Some("7"));
            prop_assert_eq!(meta.continue_.as_deref(), Some("a\"],}"));
        }

        /// Whatever comes, it ends with an answer or an error and holds no more than the limits.
        #[test]
        fn it_never_holds_more_than_its_limits(text in "[\\[\\]{}\",:\\\\a ]{0,200}", prefix in any::<bool>()) {
            let limits = Limits { item: 20, head: 30, ..Limits::WORKLOAD };
            let mut items = Items::new(limits);
            if prefix {
                items.feed(br#"{"items": ["#, &mut |_| Ok(())).unwrap();
            }
            let fed = items.feed(text.as_bytes(), &mut |item| {
                assert!(item.len() <= 20);
                Ok(())
            });
            prop_assert!(items.held() <= 50);
            prop_assert!(matches!(fed, Ok(()) | Err(ApiError::LimitExceeded(_))));
        }
    }

    #[test]
    fn a_page_without_items_is_empty_however_the_server_writes_it() {
        for items in ["", r#", "items": null"#, r#", "items": []"#, r#", "items" : [ ]"#] {
            let (found, _) = split(&format!(r#"{{"metadata": {{}}{items}}}"#), 5, Limits::WORKLOAD).unwrap();
            assert!(found.is_empty(), "{items}");
        }
    }

    #[test]
    fn an_object_or_a_head_that_is_too_large_is_cut() {
        let limits = Limits { item: 10, head: 60, ..Limits::WORKLOAD };
        let page = |item: &str, token: &str| {
            format!(r#"{{"items": [{item}], "metadata": {{"continue": "{token}"}}}}"#)
        };
        assert!(split(&page("\"12345678\"", ""), 3, limits).is_ok());
        for (text, what) in [
            (page("\"123456789\"", ""), "one object of the list has more than 10 bytes"),
            (page("1", &"x".repeat(30)), "without its objects, has more than 60 bytes"),
        ] {
            let error = split(&text, 3, limits).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
