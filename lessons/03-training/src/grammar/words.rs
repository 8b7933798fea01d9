//! The words that stories are about, and the slots that hold them.
//!
//! A *slot* is a role in a story (`hero`, `thing`, `place`, …). A slot is filled once, uniformly from its word list,
//! and keeps its word until the story ends: that is what makes "does the colour stay the same?" a question with an
//! answer. Two slots over one list (`hero` and `friend`) never hold the same word.
//!
//! A slot is written in one of several *forms*: `{animal.a}` is "an owl", `{hero.he}` is "she", `{place.at}` is
//! "by the pond". Forms are computed from the word, so a form never adds a choice.

/// A word list that one or more slots draw from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Names; the first half is "she", the second half "he".
    Name,
    /// Kinds of animals.
    Animal,
    /// Traits of character.
    Trait,
    /// Things that can be owned, lost and found.
    Thing,
    /// Colours.
    Colour,
    /// Places, as "preposition noun".
    Place,
    /// Numbers from two to nine.
    Count,
    /// Small things that lie about in the open, in the plural.
    Item,
    /// Things to eat, in the plural.
    Food,
}

/// The slots of a story: name and word list. The index of a slot in this table is its id.
pub const SLOTS: [(&str, Domain); 14] = [
    ("hero", Domain::Name),
    ("animal", Domain::Animal),
    ("trait", Domain::Trait),
    ("friend", Domain::Name),
    ("pal", Domain::Animal),
    ("third", Domain::Name),
    ("other", Domain::Animal),
    ("thing", Domain::Thing),
    ("colour", Domain::Colour),
    ("place", Domain::Place),
    ("place2", Domain::Place),
    ("count", Domain::Count),
    ("items", Domain::Item),
    ("food", Domain::Food),
];

/// Number of slots.
pub const NUM_SLOTS: usize = SLOTS.len();

const NAMES: &str = "Mia Lily Anna Rosa Nora Ella Ruby Ivy Molly Daisy Clara Emma Lucy Hazel Maya Zoe \
                     Tom Max Ben Sam Leo Finn Oscar Hugo Jack Toby Felix Milo Theo Otto Gus Oliver";
const ANIMALS: &str = "fox owl rabbit bear mouse frog duck cat dog pig goat lamb pony squirrel hedgehog badger otter beaver \
                       mole deer turtle goose donkey hen";
const TRAITS: &str = "kind brave clever shy cheerful gentle curious funny quiet careful";
const THINGS: &str = "kite ball hat scarf boat drum bell lantern basket blanket cup ribbon umbrella wagon bucket whistle book \
                      balloon key bag box cart pillow teapot";
const COLOURS: &str = "red blue green yellow orange purple pink white black brown silver golden";
const PLACES: &str = "in|forest by|pond on|hill in|garden by|river in|meadow on|farm on|beach in|barn under|bridge \
                      under|oak_tree in|market in|valley by|lake near|mill in|orchard by|well near|cave behind|church near|tower";
const COUNTS: &str = "two three four five six seven eight nine";
const ITEMS: &str = "apples pears plums berries nuts shells stones feathers acorns flowers leaves cherries mushrooms chestnuts \
                     daisies pebbles";
const FOODS: &str = "cakes buns cookies pies tarts biscuits pancakes muffins waffles rolls";

/// The words of a domain, as they stand in the lists above.
pub fn words(domain: Domain) -> Vec<&'static str> {
    let list = match domain {
        Domain::Name => NAMES,
        Domain::Animal => ANIMALS,
        Domain::Trait => TRAITS,
        Domain::Thing => THINGS,
        Domain::Colour => COLOURS,
        Domain::Place => PLACES,
        Domain::Count => COUNTS,
        Domain::Item => ITEMS,
        Domain::Food => FOODS,
    };
    list.split_whitespace().collect()
}

/// The id of the slot called `name`.
pub fn slot_id(name: &str) -> Option<usize> {
    SLOTS.iter().position(|(slot, _)| *slot == name)
}

/// "a fox", "an owl".
fn with_article(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {word}")
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// One word of `domain` in the form called `form` (`""` is the plain form), or `None` for a form that the domain
/// does not have. A form with a capital first letter (`He`, `At`) begins a sentence.
pub fn render(domain: Domain, index: usize, form: &str) -> Option<String> {
    let list = words(domain);
    let word = list[index];
    if form.starts_with(char::is_uppercase) {
        return render(domain, index, &form.to_lowercase()).map(|text| capitalized(&text));
    }
    let text = match (domain, form) {
        (Domain::Place, form) => {
            let (preposition, noun) = word.split_once('|')?;
            let noun = noun.replace('_', " ");
            match form {
                "" => noun,
                "at" => format!("{preposition} the {noun}"),
                "the" => format!("the {noun}"),
                _ => return None,
            }
        }
        (_, "" | "cap") => word.to_string(),
        (Domain::Name, "he") => (if index < list.len() / 2 { "she" } else { "he" }).to_string(),
        (Domain::Name, "him") => (if index < list.len() / 2 { "her" } else { "him" }).to_string(),
        (Domain::Name, "his") => (if index < list.len() / 2 { "her" } else { "his" }).to_string(),
        (Domain::Animal | Domain::Thing | Domain::Colour | Domain::Trait, "a") => with_article(word),
        (Domain::Animal | Domain::Thing, "the") => format!("the {word}"),
        _ => return None,
    };
    Some(text)
}
