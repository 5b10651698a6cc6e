//! What differs between two texts, line by line.

/// Lines around a change that are shown with it.
const CONTEXT: usize = 3;
/// Texts that differ in more than this are shown as one removed and one added.
const CELLS_MAX: usize = 4_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineChange {
    Same,
    Added,
    Removed,
    /// Lines without a change are left out here.
    Gap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DiffLine<'a> {
    pub(super) change: LineChange,
    pub(super) text: &'a str,
}

/// The changes with the lines around them; nothing where the texts are the same.
pub(super) fn diff<'a>(before: &'a str, after: &'a str) -> Vec<DiffLine<'a>> {
    let all = compare(&before.lines().collect::<Vec<_>>(), &after.lines().collect::<Vec<_>>());
    let is_near = |index: usize| {
        let around = index.saturating_sub(CONTEXT)..all.len().min(index + CONTEXT + 1);
        all[around].iter().any(|line| line.change != LineChange::Same)
    };
    let mut shown: Vec<DiffLine<'a>> = Vec::new();
    for (index, line) in all.iter().enumerate() {
        if is_near(index) {
            shown.push(*line);
        } else if shown.last().is_none_or(|last| last.change != LineChange::Gap) {
            shown.push(DiffLine { change: LineChange::Gap, text: "" });
        }
    }
    if shown.iter().all(|line| line.change == LineChange::Gap) { Vec::new() } else { shown }
}

fn compare<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<DiffLine<'a>> {
    let line = |change, text: &&'a str| DiffLine { change, text };
    let head = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let (old, new) = (&before[head..], &after[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (middle_old, middle_new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let mut lines: Vec<DiffLine<'a>> =
        before[..head].iter().map(|text| line(LineChange::Same, text)).collect();
    lines.extend(longest(middle_old, middle_new));
    lines.extend(old[old.len() - tail..].iter().map(|text| line(LineChange::Same, text)));
    lines
}

/// By the longest common subsequence.
fn longest<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    let line = |change, text: &'a str| DiffLine { change, text };
    if old.len().saturating_mul(new.len()) > CELLS_MAX {
        let removed = old.iter().map(|text| line(LineChange::Removed, text));
        return removed.chain(new.iter().map(|text| line(LineChange::Added, text))).collect();
    }
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for (row, text) in old.iter().enumerate().rev() {
        for (column, other) in new.iter().enumerate().rev() {
            let (here, below) = (row * width + column, (row + 1) * width + column);
            common[here] =
                if text == other { common[below + 1] + 1 } else { common[below].max(common[here + 1]) };
        }
    }
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    while row < old.len() || column < new.len() {
        let both = old.get(row).zip(new.get(column));
        if let Some((text, _)) = both.filter(|(text, other)| text == other) {
            lines.push(line(LineChange::Same, text));
            (row, column) = (row + 1, column + 1);
        } else if row < old.len()
            && (column == new.len() || common[(row + 1) * width + column] >= common[row * width + column + 1])
        {
            lines.push(line(LineChange::Removed, old[row]));
            row += 1;
        } else {
            lines.push(line(LineChange::Added, new[column]));
            column += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(before: &str, after: &str) -> String {
        let sign = |line: &DiffLine<'_>| match line.change {
            LineChange::Same => format!(" {}", line.text),
            LineChange::Added => format!("+{}", line.text),
            LineChange::Removed => format!("-{}", line.text),
            LineChange::Gap => "~".to_owned(),
        };
        diff(before, after).iter().map(sign).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn changed_lines_stand_between_those_around_them() {
        assert_eq!(written("a\nb\nc", "a\nx\nc"), " a|-b|+x| c");
        assert_eq!(written("a", "a\nb"), " a|+b");
        assert_eq!(written("a\nb", "b"), "-a| b");
        assert_eq!(written("a\nb\nc\nd", "a\nc\nx\nd"), " a|-b| c|+x| d");
        assert_eq!(written("a\nb", "a\nb"), "");
        assert_eq!(written("", "a"), "+a");
    }

    #[test]
    fn lines_far_from_a_change_are_left_out() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9";
        assert_eq!(written(before, &before.replace('5', "x")), "~| 2| 3| 4|-5|+x| 6| 7| 8|~");
    }

    #[test]
    fn a_text_that_is_too_large_is_shown_as_a_whole() {
        let text = |word: &str| (0..3000).map(|line| format!("{word}{line}")).collect::<Vec<_>>().join("\n");
        assert_eq!(diff(&text("a"), &text("b")).len(), 6000);
    }
}
