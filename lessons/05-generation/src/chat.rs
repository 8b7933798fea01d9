//! A conversation to text, with the model's own chat template.
//!
//! An instruction-tuned model was trained on conversations in one form and answers well only in that form. The form is
//! a Jinja template in the model's folder; `minijinja` runs it in the environment that `transformers` gives to such
//! templates ([`crate::dialect`]). A template comes from outside: it runs under [`lab::guard`], and not without end.

use crate::dialect;
use crate::error::GenerateError;
use jiff::Zoned;
use jiff::civil::DateTime;
use lab::guard::guarded;
use minijinja::{Error, Value};
use serde::Serialize;
use std::collections::BTreeMap;

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// The text of the turn.
    pub content: String,
}

impl Message {
    /// A turn of the user.
    pub fn user(content: impl Into<String>) -> Message {
        Message {
            role: "user".to_owned(),
            content: content.into(),
        }
    }
}

/// A template and the texts that it may use besides the messages.
#[derive(Clone, Copy, Debug)]
pub struct ChatTemplate<'a> {
    /// The Jinja source.
    pub source: &'a str,
    /// The model's name, for error messages.
    pub model: &'a str,
    /// Text of the begin-of-text token; undefined in the template where there is none.
    pub bos_token: Option<&'a str>,
    /// Text of the end-of-text token; undefined in the template where there is none.
    pub eos_token: Option<&'a str>,
}

impl ChatTemplate<'_> {
    /// Writes the conversation in the model's form, up to the beginning of the assistant's next turn.
    ///
    /// The text already holds the special tokens of the form, so the tokenizer must not add any.
    ///
    /// # Errors
    /// [`GenerateError::ChatTemplate`]: the template is broken, or refuses these messages.
    pub fn render(&self, messages: &[Message]) -> Result<String, GenerateError> {
        self.render_at(messages, Zoned::now().datetime())
    }

    /// As [`ChatTemplate::render`], at a local time of the caller's choice: some templates write the date.
    ///
    /// # Errors
    /// As [`ChatTemplate::render`].
    pub fn render_at(&self, messages: &[Message], now: DateTime) -> Result<String, GenerateError> {
        let rendered = guarded(|| self.try_render(messages, now).map_err(|error| reason(&error)));
        let rendered = rendered.unwrap_or_else(|panic| Err(format!("the template engine stops at it: {panic}")));
        rendered.map_err(|reason| GenerateError::ChatTemplate {
            model: self.model.to_owned(),
            reason,
        })
    }

    fn try_render(&self, messages: &[Message], now: DateTime) -> Result<String, Error> {
        let source = dialect::translated(self.source)?;
        let mut environment = dialect::environment(now);
        environment.add_template("chat", &source)?;
        let mut variables = BTreeMap::from([
            ("messages", Value::from_serialize(messages)),
            ("tools", Value::from(())),
            ("documents", Value::from(())),
            ("add_generation_prompt", Value::from(true)),
        ]);
        let tokens = [("bos_token", self.bos_token), ("eos_token", self.eos_token)];
        variables.extend(
            tokens
                .iter()
                .filter_map(|(name, text)| Some((*name, Value::from((*text)?)))),
        );
        environment.get_template("chat")?.render(variables)
    }
}

/// What a template's error says. The detail of one kind is the argument of `raise_exception`.
fn reason(error: &Error) -> String {
    error.detail().map_or_else(|| error.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHATML: &str = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}\
        {% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

    fn render(source: &str) -> Result<String, GenerateError> {
        let template = ChatTemplate {
            source,
            model: "m",
            bos_token: Some("<s>"),
            eos_token: Some("</s>"),
        };
        template.render(&[Message::user(" Hi ")])
    }

    #[test]
    fn a_turn_is_written_in_the_models_own_form() {
        assert_eq!(
            render(CHATML).unwrap(),
            "<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n"
        );
    }

    #[test]
    fn templates_may_call_what_hugging_face_gives_them() {
        let source = "{{ bos_token }}\n{%- for m in messages %}\n    {%- if m.role.startswith('u') and loop.first %}\n[{{ m['content'].strip() | upper }}]\n    {%- endif %}\n{%- endfor %}{{ eos_token }}";
        assert_eq!(render(source).unwrap(), "<s>[HI]</s>");
    }

    #[test]
    fn a_template_that_refuses_is_an_error_in_its_own_words() {
        let error = render("{{ raise_exception('roles must alternate') }}").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the chat template of m failed: roles must alternate; leave --chat out, or mend the template"
        );
        assert!(matches!(render("{% for %}"), Err(GenerateError::ChatTemplate { .. })));
    }

    #[test]
    fn a_template_without_end_is_an_error() {
        let endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% set c = a %}{% endfor %}{% endfor %}";
        let error = render(endless).unwrap_err().to_string();
        assert!(error.starts_with("the chat template of m failed: "), "{error}");
        let nested = format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(render(&nested).is_err());
    }
}
