package abi

// A Request describes HTTP requests that a tool may cause, whoever sends them:
// the connector by navigate or fetch, a click on a link or form, or the page's
// own scripts. Whatever matches no entry is refused before it is sent.
//
// A read entry may match any number of requests. A write entry matches at most
// Max requests in one call, each of them with exactly the fields listed.
type Request struct {
	Method   string   `json:"method"`             // upper case
	Path     string   `json:"path"`               // template: literal text and {param}, each a whole or part of one segment
	Origin   string   `json:"origin,omitempty"`   // "{setting}" or an origin; default the base URL's
	Params   []Param  `json:"params,omitempty"`   // one for each {param} in Path
	Query    []Param  `json:"query,omitempty"`    // a parameter that is not listed refuses the request
	Encoding Encoding `json:"encoding,omitempty"` // of the body; default none
	Fields   []Param  `json:"fields,omitempty"`   // of the body, a closed set
	Max      int      `json:"max,omitempty"`      // writes only; default 1
	Dialog   Dialog   `json:"dialog,omitempty"`   // what to answer a confirm() that this request's click raises
}

// An Encoding says how a body carries its fields.
type Encoding string

// The encodings. With JSON a field's name is a path of member names joined by
// dots, and its value a string, number or boolean.
const (
	EncodingNone       Encoding = "none"
	EncodingURLEncoded Encoding = "urlencoded"
	EncodingMultipart  Encoding = "multipart"
	EncodingJSON       Encoding = "json"
)

// A Dialog is an answer to confirm, prompt or beforeunload.
type Dialog string

// The answers; the default is to cancel and to report it.
const (
	DialogCancel Dialog = "cancel"
	DialogAccept Dialog = "accept"
)

// A Param constrains one path parameter, query parameter or body field. Exactly
// one of Arg, Const, Empty, Token and Any is given.
//
// The name of a body field may hold {#} once: digits that nobody knows before,
// as applications number their custom fields. Such a field is optional, and
// either empty or constant, so that the number is all that is left open.
type Param struct {
	Name      string    `json:"name"`                // as on the wire; may contain {argument}, a field's {#}
	Arg       string    `json:"arg,omitempty"`       // equal to this argument of the call, by Transform
	Transform Transform `json:"transform,omitempty"` // default exact
	Const     *string   `json:"const,omitempty"`     // equal to this
	Empty     bool      `json:"empty,omitempty"`     // present and empty
	Token     bool      `json:"token,omitempty"`     // a value that the page itself holds, such as a form token
	Any       ValueType `json:"any,omitempty"`       // any value of this type
	MaxLen    int       `json:"max_len,omitempty"`   // bytes, with Any; default 256
	Optional  bool      `json:"optional,omitempty"`  // may be absent
}

// AnyNumber stands for digits in the name of a field: see [Param].
const AnyNumber = "{#}"

// A ValueType is one of a closed set of syntaxes.
type ValueType string

// The value types.
const (
	ValueInt  ValueType = "int"  // 0, or a digit 1 to 9 and up to 17 more
	ValueSlug ValueType = "slug" // [A-Za-z0-9_-]+, and single dots between them
	ValueHex  ValueType = "hex"  // [0-9a-f]+
	ValueText ValueType = "text" // anything
)

// A Transform says how an argument becomes the value on the wire.
type Transform string

// The transforms. Line ends compare equal whether LF or CRLF in all of them,
// because form submission changes them.
const (
	TransformExact   Transform = "exact"
	TransformTrimmed Transform = "trimmed" // surrounding white space removed
	TransformHTML    Transform = "html"    // &, <, > and quotes escaped
	// TransformEditor is the HTML that a rich editor makes of text typed into it: one
	// paragraph at most, line breaks, and no other element. White space at the
	// ends of the text counts for nothing, and a no-break space equals a space.
	TransformEditor Transform = "editor"
)
