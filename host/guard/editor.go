package guard

import (
	"html"
	"strings"
)

// editorText reads the HTML that a rich editor has made of text typed into it: one
// paragraph at most, line breaks, character references, and nothing else that
// starts a tag. A line feed beside a tag is the editor's own formatting, and so is
// an empty paragraph at the end. It reports whether the HTML is of that form.
func editorText(v string) (text string, ok bool) {
	for trimmed := true; trimmed; {
		v, trimmed = strings.CutSuffix(strings.TrimSpace(v), "<p>&nbsp;</p>")
	}
	if rest, found := strings.CutPrefix(v, "<p>"); found {
		if v, ok = strings.CutSuffix(rest, "</p>"); !ok {
			return "", false
		}
	}
	v = strings.ReplaceAll(v, "<br />", "<br>")
	rows := strings.Split(v, "<br>")
	for i, row := range rows {
		row = strings.Trim(row, "\n")
		if strings.ContainsAny(row, "<>\n") {
			return "", false
		}
		if rows[i] = html.UnescapeString(row); strings.ContainsAny(rows[i], "\r\n") {
			return "", false
		}
	}
	return typed(strings.Join(rows, "\n")), true
}

// typed is text as an editor keeps it: it has no-break spaces where HTML would
// lose a space, and nothing behind or before the text.
func typed(s string) string {
	return strings.Trim(strings.ReplaceAll(s, "\u00a0", " "), " \n")
}
