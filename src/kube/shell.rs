//! A shell's script, as far as it can be read without being run (POSIX 2.3, 2.9).

use std::iter::Peekable;
use std::str::Chars;

/// A word, its quotes taken off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// What is written; `$NAME` as it stands.
    pub text: String,
    /// Whether the shell expands it before the command has it.
    pub is_expanded: bool,
}

/// A simple command, without its redirections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Its words, from the first assignment or reserved word on.
    pub words: Vec<Word>,
    /// Whether another process of the shell runs it: in a pipeline, in the background, in parentheses.
    pub is_apart: bool,
}

impl Command {
    /// Whether the shell is gone once this begins: `exec program`.
    pub fn replaces_the_shell(&self) -> bool {
        let mut words = self.words.iter().map(|word| word.text.as_str());
        words.find(|word| !is_before_a_command(word)) == Some("exec") && !self.is_apart
    }

    /// The words in front of the word at `index`, without what only the shell reads.
    pub fn before(&self, index: usize) -> Vec<&str> {
        let words = self.words[..index].iter().map(|word| word.text.as_str());
        words
            .skip_while(|word| is_before_a_command(word))
            .skip_while(|word| *word == "exec")
            .collect()
    }
}

/// A reserved word that a command can follow, or an assignment.
fn is_before_a_command(word: &str) -> bool {
    matches!(
        word,
        "{" | "!" | "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "time"
    ) || is_assignment(word)
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// The name of the program that a word calls, without its path.
pub fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The script of `sh -c SCRIPT`; none for a shell that reads a file.
pub fn script(line: &[String]) -> Option<&str> {
    let (shell, rest) = line.split_first()?;
    let mut words = rest.iter();
    let mut shell = program(shell);
    if shell == "busybox" {
        shell = words.next()?;
    }
    if !matches!(shell, "sh" | "bash" | "dash" | "ash" | "zsh" | "ksh") {
        return None;
    }
    let mut is_inline = false;
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix(['-', '+']) else {
            return is_inline.then_some(word.as_str());
        };
        if word.starts_with("--") {
            continue;
        }
        is_inline |= word.starts_with('-') && letters.contains('c');
        // `-o pipefail`: the option's name is a word of its own.
        if letters.ends_with(['o', 'O']) {
            words.next();
        }
    }
    None
}

/// The simple commands of a script, in the order they are written.
pub fn commands(script: &str) -> Vec<Command> {
    let mut reader = Reader {
        letters: script.chars().peekable(),
        commands: Vec::new(),
        command: Command::default(),
        word: None,
        depth: 0,
        is_redirection: false,
    };
    reader.read();
    reader.commands
}

struct Reader<'a> {
    letters: Peekable<Chars<'a>>,
    commands: Vec<Command>,
    command: Command,
    word: Option<Word>,
    /// Open parentheses.
    depth: usize,
    /// Whether the next word is a redirection's.
    is_redirection: bool,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(letter) = self.letters.next() {
            match letter {
                '\\' => match self.letters.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.put(escaped),
                },
                '\'' => {
                    self.word();
                    while let Some(quoted) = self.letters.next().filter(|letter| *letter != '\'') {
                        self.put(quoted);
                    }
                }
                '"' => self.double_quotes(),
                '$' | '`' => self.expansion(letter),
                '#' if self.word.is_none() => {
                    while self.letters.next_if(|letter| *letter != '\n').is_some() {}
                }
                '>' | '<' => self.redirection(),
                '&' if self.letters.peek() == Some(&'>') => self.end_word(),
                ';' | '&' | '|' | '\n' | '(' | ')' => self.operator(letter),
                _ if letter.is_whitespace() => self.end_word(),
                _ => {
                    self.word().is_expanded |= "*?[".contains(letter);
                    self.put(letter);
                }
            }
        }
        self.end_command(false);
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn put(&mut self, letter: char) {
        self.word().text.push(letter);
    }

    fn double_quotes(&mut self) {
        self.word();
        while let Some(letter) = self.letters.next().filter(|letter| *letter != '"') {
            match letter {
                '\\' => match self.letters.next_if(|next| "$`\"\\\n".contains(*next)) {
                    Some('\n') => {}
                    Some(escaped) => self.put(escaped),
                    None => self.put('\\'),
                },
                '$' | '`' => self.expansion(letter),
                _ => self.put(letter),
            }
        }
    }

    /// `$NAME`, `$(command)`, `` `command` ``: kept as it stands.
    fn expansion(&mut self, first: char) {
        self.word().is_expanded = true;
        self.put(first);
        let mut depth = 0_usize;
        let is_command = first == '$' && self.letters.peek() == Some(&'(');
        if first == '$' && !is_command {
            return;
        }
        while let Some(letter) = self.letters.next() {
            self.put(letter);
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if (is_command && depth == 0) || (first == '`' && letter == '`') {
                return;
            }
        }
    }

    fn redirection(&mut self) {
        // The number in front is the descriptor's: `2>`.
        let is_number = |word: &Word| word.text.chars().all(|letter| letter.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        }
        self.end_word();
        while self.letters.next_if(|letter| "<>&|-".contains(*letter)).is_some() {}
        self.is_redirection = true;
    }

    fn operator(&mut self, letter: char) {
        let is_doubled = self.letters.next_if_eq(&letter).is_some();
        match letter {
            '|' if !is_doubled => {
                self.end_command(true);
                self.command.is_apart = true;
            }
            '&' if !is_doubled => self.end_command(true),
            '(' | ')' => {
                self.end_command(false);
                let count = 1 + usize::from(is_doubled);
                self.depth = if letter == '(' {
                    self.depth + count
                } else {
                    self.depth.saturating_sub(count)
                };
            }
            _ => self.end_command(false),
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if !std::mem::take(&mut self.is_redirection) {
            self.command.words.push(word);
        }
    }

    fn end_command(&mut self, is_apart: bool) {
        self.end_word();
        self.is_redirection = false;
        // A line may end after a `|`, which still holds.
        if self.command.words.is_empty() {
            return;
        }
        let mut command = std::mem::take(&mut self.command);
        command.is_apart |= is_apart || self.depth > 0;
        self.commands.push(command);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(script: &str) -> Vec<String> {
        let shown = commands(script).into_iter().map(|command| {
            let words: Vec<String> = command
                .words
                .iter()
                .map(|word| word.text.clone() + if word.is_expanded { "?" } else { "" })
                .collect();
            words.join("|") + if command.is_apart { " apart" } else { "" }
        });
        shown.collect()
    }

    #[test]
    fn words_are_what_the_command_gets() {
        assert_eq!(read(r#"a 'b c' "d"e f\ g "\$h" '$i'"#), [r"a|b c|de|f g|$h|$i"]);
        assert_eq!(read("a \\\n  b\n# c\nd#e # f"), ["a|b", "d#e"]);
        assert_eq!(read("a 2>&1 >/x </y &>z >>w b"), ["a|b"]);
        assert_eq!(
            read(r#"a $B "$C" $(d | e) `f;g` *.h"#),
            ["a|$B?|$C?|$(d | e)?|`f;g`?|*.h?"]
        );
        assert_eq!(read("a 'never ended"), ["a|never ended"]);
        assert_eq!(read("a $("), ["a|$(?"]);
        assert_eq!(read("\\"), [""; 0]);
    }

    #[test]
    fn the_shell_stays_beside_what_runs_apart() {
        assert_eq!(
            read("a | b |& c |\nd"),
            ["a apart", "b apart", "c apart", "d apart"]
        );
        assert_eq!(read("a && b || c; d\ne"), ["a", "b", "c", "d", "e"]);
        assert_eq!(read("a & b"), ["a apart", "b"]);
        assert_eq!(read("(a; (b)); c"), ["a apart", "b apart", "c"]);
    }

    #[test]
    fn exec_replaces_the_shell() {
        let replaces = |script: &str| commands(script).iter().any(Command::replaces_the_shell);
        for script in [
            "exec a",
            "A=1 exec a",
            "set -e\nexec a",
            "if b; then exec a; fi",
            "{ exec a; }",
            "exec a 2>&1",
        ] {
            assert!(replaces(script), "{script}");
        }
        for script in [
            "a",
            "echo exec; a",
            "# exec\na",
            "(exec a)",
            "exec a | tee x",
            "exec a & wait",
            "'exec a'",
        ] {
            assert!(!replaces(script), "{script}");
        }
    }

    #[test]
    fn a_script_is_what_follows_the_options() {
        let of = |line: &str| {
            let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
            script(&line).map(str::to_owned)
        };
        for line in [
            "sh -c x",
            "/bin/bash -lc x",
            "bash -e -o pipefail -c x",
            "bash -ceu x",
            "busybox sh -c x",
            "bash --norc -c x 0",
        ] {
            assert_eq!(of(line).as_deref(), Some("x"), "{line}");
        }
        for line in [
            "sh x",
            "sh",
            "sh -c",
            "busybox httpd -c x",
            "python -c x",
            "bash -e x",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
