package sdk

import (
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Navigate goes to a page by its path under the base URL, as a click on a link
// would, and returns when the manifest's conditions have told what the page is.
func Navigate(path string) abi.Step { return abi.Step{Op: abi.OpNavigate, Path: path} }

// NavigateFor is Navigate that waits until a selector matches, beyond the
// manifest's conditions.
func NavigateFor(path, selector string) abi.Step {
	return abi.Step{Op: abi.OpNavigate, Path: path, Wait: selector}
}

// Wait waits until selector matches.
func Wait(selector string) abi.Step { return abi.Step{Op: abi.OpWait, Selector: selector} }

// WaitState waits until what selector matches is in a state.
func WaitState(selector string, state abi.WaitState) abi.Step {
	return abi.Step{Op: abi.OpWait, Selector: selector, State: state}
}

// Extract reads what schema describes; [Rows] and [Row] decode it under the name as.
func Extract(as string, schema abi.Extraction) abi.Step {
	return abi.Step{Op: abi.OpExtract, As: as, Schema: &schema}
}

// Exists asks whether selector matches; [Result.Exists] decodes it.
func Exists(as, selector string) abi.Step {
	return abi.Step{Op: abi.OpExists, As: as, Selector: selector}
}

// HTML reads the outer HTML of what selector matches, up to limit bytes;
// [Result.HTML] decodes it.
func HTML(as, selector string, limit int) abi.Step {
	return abi.Step{Op: abi.OpHTML, As: as, Selector: selector, Max: limit}
}

// Snapshot reads the page as a reader who can't see it would have it told, up to
// limit bytes; [Result.Snapshot] decodes it.
func Snapshot(as string, limit int) abi.Step {
	return abi.Step{Op: abi.OpSnapshot, As: as, Max: limit}
}

// Shot takes a picture of the one element that selector matches, as far as it
// fits into the window, or of what the window shows if selector is empty;
// [Result.Image] decodes its handle. Only for [Context.Screenshot].
func Shot(as, selector string) abi.Step {
	return abi.Step{Op: abi.OpScreenshot, As: as, Selector: selector}
}

// Click clicks the one element that selector matches.
func Click(selector string) abi.Step { return abi.Step{Op: abi.OpClick, Selector: selector} }

// ClickFor is Click that waits until a selector matches, as after a click that
// loads a page.
func ClickFor(selector, wait string) abi.Step {
	return abi.Step{Op: abi.OpClick, Selector: selector, Wait: wait}
}

// Fill replaces what the one input that selector matches holds.
func Fill(selector, value string) abi.Step {
	return abi.Step{Op: abi.OpFill, Selector: selector, Value: value}
}

// Select chooses the option with a value in the one select that selector matches.
func Select(selector, value string) abi.Step {
	return abi.Step{Op: abi.OpSelect, Selector: selector, Value: value}
}

// Check sets or clears the one checkbox that selector matches.
func Check(selector string, checked bool) abi.Step {
	return abi.Step{Op: abi.OpCheck, Selector: selector, Checked: checked}
}

// Press presses a key, named as KeyboardEvent.key does, in the one element that
// selector matches.
func Press(selector, key string) abi.Step {
	return abi.Step{Op: abi.OpPress, Selector: selector, Key: key}
}

// List is a schema with one row per match of rows.
func List(rows string, cols ...abi.Col) abi.Extraction {
	return abi.Extraction{Rows: rows, Cols: cols}
}

// Fields is a schema with one row, for the page as a whole.
func Fields(cols ...abi.Col) abi.Extraction { return abi.Extraction{Cols: cols} }

// Text is a column with an element's text, white space collapsed.
func Text(name, selector string) abi.Col { return abi.Col{Name: name, Selector: selector} }

// Lines is a column with an element's text, line breaks kept.
func Lines(name, selector string) abi.Col {
	return abi.Col{Name: name, Selector: selector, Kind: abi.KindLines}
}

// Raw is a column with an element's text as it stands in the document, white
// space included.
func Raw(name, selector string) abi.Col {
	return abi.Col{Name: name, Selector: selector, Kind: abi.KindRaw}
}

// Texts is a column with the texts of all matches, which may be none.
func Texts(name, selector string) abi.Col {
	return abi.Col{Name: name, Selector: selector, List: true, Optional: true}
}

// Int is a column with the first whole number in an element's text.
func Int(name, selector string) abi.Col {
	return abi.Col{Name: name, Selector: selector, Type: abi.TypeInt}
}

// Attr is a column with an attribute.
func Attr(name, selector, attr string) abi.Col {
	return abi.Col{Name: name, Selector: selector, Kind: abi.KindAttr, Attr: attr}
}

// IntAttr is a column with the first whole number in an attribute.
func IntAttr(name, selector, attr string) abi.Col {
	return abi.Col{Name: name, Selector: selector, Kind: abi.KindAttr, Attr: attr, Type: abi.TypeInt}
}

// URL is a column with a link's target as an absolute URL.
func URL(name, selector string) abi.Col {
	return abi.Col{Name: name, Selector: selector, Kind: abi.KindURL}
}

// Nested is a column with a table of its own in each row.
func Nested(name string, schema abi.Extraction) abi.Col {
	return abi.Col{Name: name, Kind: abi.KindNested, Nested: &schema}
}

// Optional makes a column null where nothing matches, in place of selector_drift.
func Optional(col abi.Col) abi.Col {
	col.Optional = true
	return col
}

// StepName says which step failed, counted from one for people.
func stepName(steps []abi.Step, i int) string {
	if i < 0 || i >= len(steps) {
		return "host call"
	}
	return "step " + strconv.Itoa(i+1) + " (" + string(steps[i].Op) + ")"
}
