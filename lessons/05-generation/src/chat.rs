//! A conversation to text, with the model's own chat template.
//!
//! An instruction-tuned model was trained on conversations in one form and answers well only in that form. The form is
//! a Jinja template in the model's folder; `minijinja` runs it. This module adds the environment that Hugging Face
//! gives to such templates: blocks that remove the newline after them, Python's string methods, and `raise_exception`.

use crate::error::GenerateError;
use minijinja::{Environment, Error, ErrorKind, context};
use serde::Serialize;

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
    /// Text of the begin-of-text token; empty where there is none.
    pub bos_token: &'a str,
    /// Text of the end-of-text token; empty where there is none.
    pub eos_token: &'a str,
}

impl ChatTemplate<'_> {
    /// Writes the conversation in the model's form, up to the beginning of the assistant's next turn.
    ///
    /// The text already holds the special tokens of the form, so the tokenizer must not add any.
    ///
    /// # Errors
    /// [`GenerateError::ChatTemplate`]: the template is broken, or refuses these messages.
    pub fn render(&self, messages: &[Message]) -> Result<String, GenerateError> {
        self.try_render(messages).map_err(|error| GenerateError::ChatTemplate {
            model: self.model.to_owned(),
            // The detail is the argument of `raise_exception`; the error's kind does not say it.
            reason: error.detail().map_or_else(|| error.to_string(), str::to_owned),
        })
    }

    fn try_render(&self, messages: &[Message]) -> Result<String, Error> {
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |message: String| -> Result<String, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        });
        environment.add_template("chat", self.source)?;
        environment.get_template("chat")?.render(context! {
            messages => messages,
            bos_token => self.bos_token,
            eos_token => self.eos_token,
            add_generation_prompt => true,
        })
    }
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
            bos_token: "<s>",
            eos_token: "</s>",
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
}
