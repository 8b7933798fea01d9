//! A built page, read for what it links and loads.

use std::cell::RefCell;
use std::collections::BTreeSet;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};

/// A page as the check sees it.
#[derive(Debug, Default)]
pub struct Page {
    /// Ids.
    pub ids: BTreeSet<String>,
    /// Ids that came again.
    pub twice: BTreeSet<String>,
    /// Element and target of what can be followed.
    pub links: Vec<(String, String)>,
    /// Element and address of what the browser loads by itself.
    pub loads: Vec<(String, String)>,
}

/// Reads a page.
pub fn read(html: &str) -> Page {
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(html));
    let tokenizer = Tokenizer::new(Collector::default(), TokenizerOpts::default());
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    tokenizer.sink.0.into_inner()
}

#[derive(Default)]
struct Collector(RefCell<Page>);

impl TokenSink for Collector {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let Token::TagToken(tag) = token else {
            return TokenSinkResult::Continue;
        };
        if tag.kind == TagKind::EndTag {
            return TokenSinkResult::Continue;
        }
        let name = tag.name.to_string();
        let page = &mut *self.0.borrow_mut();
        for attribute in &tag.attrs {
            let value = attribute.value.to_string();
            match (&*attribute.name.local, name.as_str()) {
                ("id", _) if !page.ids.insert(value.clone()) => {
                    page.twice.insert(value);
                }
                ("href", "a" | "area") => page.links.push((name.clone(), value)),
                ("href" | "xlink:href", "use" | "image" | "lineargradient" | "pattern") => {
                    page.loads.push((name.clone(), value))
                }
                ("href", "link" | "base") | ("src" | "poster" | "data", _) => page.loads.push((name.clone(), value)),
                ("srcset", _) => page.loads.extend(
                    value
                        .split(',')
                        .filter_map(|part| Some((name.clone(), part.split_whitespace().next()?.to_owned()))),
                ),
                ("style", _) if value.contains("url(") && !value.contains("url(#") => {
                    page.loads.push((name.clone(), value))
                }
                _ => {}
            }
        }
        match name.as_str() {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "style" => TokenSinkResult::RawData(RawKind::Rawtext),
            _ => TokenSinkResult::Continue,
        }
    }
}
