package abi

// An Op names what a step does.
type Op string

// The operations. Read steps may stand in read, act and screenshot; act steps
// only in act.
const (
	OpNavigate Op = "navigate" // Path; Wait
	OpWait     Op = "wait"     // Selector, State, TimeoutMS
	OpExtract  Op = "extract"  // Schema, As
	OpExists   Op = "exists"   // Selector, As: true or false
	OpPage     Op = "page"     // As: PageInfo
	OpHTML     Op = "html"     // Selector, Max, As: {"html","truncated"}
	OpSnapshot Op = "snapshot" // Selector, Max, As: {"text","truncated"}

	// OpScreenshot stands in the host call screenshot alone, beside read steps.
	OpScreenshot Op = "screenshot" // Selector, As: an ImageHandle

	OpClick  Op = "click"  // Selector
	OpFill   Op = "fill"   // Selector, Value: replaces what an input holds; typed into an editor, its lines parted by Shift+Enter
	OpSelect Op = "select" // Selector, Value: an option's value
	OpCheck  Op = "check"  // Selector, Checked
	OpPress  Op = "press"  // Selector, Key: as KeyboardEvent.key names it
)

// Ops lists every operation, read steps first.
func Ops() []Op {
	return []Op{OpNavigate, OpWait, OpExtract, OpExists, OpPage, OpHTML, OpSnapshot, OpScreenshot, OpClick, OpFill, OpSelect, OpCheck, OpPress}
}

// IsAct reports whether the operation changes the page.
func (o Op) IsAct() bool {
	switch o {
	case OpClick, OpFill, OpSelect, OpCheck, OpPress:
		return true
	case OpNavigate, OpWait, OpExtract, OpExists, OpPage, OpHTML, OpSnapshot, OpScreenshot:
		return false
	}
	return false
}

// An ImageHandle names a picture that a screenshot step took. A module never
// gets the bytes: it puts the handle as a string into its result, and the host
// sends the picture along. A handle means nothing after the call that made it.
type ImageHandle string

// A Step is one operation. A selector is CSS and, for act steps, must match
// exactly one element; Within leads to it through frames and shadow roots.
type Step struct {
	Op        Op          `json:"op"`
	As        string      `json:"as,omitempty"` // key in Answer.Data
	Path      string      `json:"path,omitempty"`
	Selector  string      `json:"selector,omitempty"`
	Within    []string    `json:"within,omitempty"` // selectors of frames or shadow hosts, outermost first
	State     WaitState   `json:"state,omitempty"`
	TimeoutMS int         `json:"timeout_ms,omitempty"`
	Value     string      `json:"value,omitempty"`
	Checked   bool        `json:"checked,omitempty"`
	Key       string      `json:"key,omitempty"`
	Max       int         `json:"max,omitempty"` // bytes
	Schema    *Extraction `json:"schema,omitempty"`
	// Wait, for navigate and click: a selector that has to match before the
	// next step, beyond the manifest's conditions.
	Wait string `json:"wait,omitempty"`
}

// A WaitState is what a wait step waits for.
type WaitState string

// The states; the default is attached.
const (
	StateAttached WaitState = "attached"
	StateVisible  WaitState = "visible"
	StateDetached WaitState = "detached"
)

// An Extraction is a declarative schema of what to read from a page, evaluated
// in one message. With Rows it yields one row per match, else one row.
type Extraction struct {
	Within []string `json:"within,omitempty"`
	Rows   string   `json:"rows,omitempty"`
	Cols   []Col    `json:"cols"`
	Limit  int      `json:"limit,omitempty"` // rows; default and at most MaxRows
	// Empty matches an element that stands in the page when there really is
	// nothing. No rows and no such element is selector_drift.
	Empty string  `json:"empty,omitempty"`
	Next  *Follow `json:"next,omitempty"` // top level only
}

// Follow reads further pages through the link that Selector matches.
type Follow struct {
	Selector string `json:"selector"`
	Max      int    `json:"max"` // pages beyond the first, at most MaxFollow
}

// A Col is one column of an extraction.
type Col struct {
	Name     string      `json:"name"`
	Selector string      `json:"selector,omitempty"` // inside the row; default the row itself
	Kind     ColKind     `json:"kind,omitempty"`     // default text
	Attr     string      `json:"attr,omitempty"`     // with kind attr
	Type     ColType     `json:"type,omitempty"`     // default string
	List     bool        `json:"list,omitempty"`     // every match, not the first
	Optional bool        `json:"optional,omitempty"` // absent is null; otherwise selector_drift
	Nested   *Extraction `json:"nested,omitempty"`   // with kind nested: a Table per row
}

// A ColKind says what of an element to read.
type ColKind string

// The kinds.
const (
	KindText    ColKind = "text"    // textContent, white space collapsed and trimmed
	KindRaw     ColKind = "raw"     // textContent as it is
	KindLines   ColKind = "lines"   // innerText: line breaks as rendered
	KindPre     ColKind = "pre"     // textContent as it is, with each br as a line feed
	KindAttr    ColKind = "attr"    // an attribute
	KindURL     ColKind = "url"     // an attribute (default href) as absolute URL
	KindValue   ColKind = "value"   // of a form control; never of a password
	KindExists  ColKind = "exists"  // whether it matches
	KindOwnText ColKind = "owntext" // text of the element's own text nodes, collapsed
	KindNested  ColKind = "nested"
)

// A ColType says what type a column's value has.
type ColType string

// The types. A value that does not parse is selector_drift with the value quoted.
const (
	TypeString ColType = "string"
	TypeInt    ColType = "int" // first run of digits, with an optional sign
	TypeNumber ColType = "number"
	TypeBool   ColType = "bool" // of kind exists
)

// A Table is the result of an extraction: the names once, then rows of values
// in their order.
type Table struct {
	Cols []string `json:"cols"`
	Rows [][]any  `json:"rows"`
}
